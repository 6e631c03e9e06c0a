"""Draw an inspection's report for a person: one table per model, then the warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from specwatch_exporters.bench_run import BenchRun
from specwatch_exporters.notices import Notice
from specwatch_exporters.report import Comparison, Fact, ModelReport, Report, State, Window

UNKNOWN = "unknown"
_STYLE = {
    State.ACTIVE: "bold green",
    State.IDLE: "bold cyan",
    State.OFF: "bold white",
    State.STALE: "bold yellow",
    State.UNKNOWN: "bold yellow",
}
_BAR_WIDTH = 24
_SHOWN = frozenset({"completion_tokens", "generation_tokens"})


def print_report(report: Report, source: str, console: Console | None = None) -> None:
    """Print a report to the terminal."""
    console = console or Console()
    kind = report.engine or ("benchmark runs" if report.comparisons or report.runs else "no engine recognised")
    dialect = f" ({report.dialect})" if report.dialect else ""
    console.print(
        f"[bold]{escape(kind)}[/]{escape(dialect)}  {report.source} [dim]{escape(source)}[/]", highlight=False
    )
    if report.resets:
        console.print(f"[bold yellow]{report.resets} restart(s)[/] between the two pages", highlight=False)
    for model in report.models:
        console.print(_model_panel(model))
    if report.windows:
        console.print(_windows_table(report.windows))
    if report.comparisons:
        console.print(_comparisons_table(report.comparisons))
    if report.runs:
        console.print(_runs_table(report.runs))
    for line in _warnings(report.notices):
        console.print(line)


def _model_panel(model: ModelReport) -> RenderableType:
    title = Text.assemble((model.model, "bold"), "  ", (model.state.value, _STYLE[model.state]))
    parts: list[RenderableType] = [_figures(model)]
    if any(value is not None for value in model.tally.per_position):
        parts.append(_positions(model))
    if model.latencies:
        parts.append(_latencies(model))
    more = [f"{name.replace('_', ' ')} {_fact(value)}" for name, value in model.facts.items() if name not in _SHOWN]
    if more:
        parts.append(Text(", ".join(more), style="dim"))
    return Panel(Group(*parts), title=title, title_align="left", expand=False, padding=(0, 1))


def _figures(model: ModelReport) -> Table:
    grid = Table.grid(padding=(0, 2))
    for _ in range(4):
        grid.add_column()
    tally = model.tally
    rows = [
        ("acceptance rate", percent(model.acceptance_rate), "running", number(model.running)),
        ("mean acceptance length", length(model.mean_acceptance_length), "waiting", number(model.waiting)),
        ("drafts", number(tally.drafts), "KV cache in use", percent(model.kv_cache_usage)),
        ("draft tokens", number(tally.draft_tokens), "engines", str(model.engines)),
        ("accepted tokens", number(tally.accepted_tokens), "K, method", _method(model)),
        ("output tokens", _fact(_output_tokens(model)), "definition", model.definition),
    ]
    for left, left_value, right, right_value in rows:
        grid.add_row(f"[dim]{left}[/]", escape(left_value), f"[dim]{right}[/]", escape(right_value))
    return grid


def _output_tokens(model: ModelReport) -> Fact:
    """Pages count generation tokens, responses completion tokens."""
    return model.facts.get("generation_tokens", model.facts.get("completion_tokens"))


def _positions(model: ModelReport) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("position")
    table.add_column("accepted / drafts", justify="left")
    table.add_column("")
    table.add_column("given the one before", justify="right")
    pairs = zip(model.tally.per_position, model.tally.conditional, strict=True)
    for index, (share, conditional) in enumerate(pairs):
        filled = round((share or 0.0) * _BAR_WIDTH)
        bar = f"[green]{'█' * filled}[/][dim]{'░' * (_BAR_WIDTH - filled)}[/]"
        table.add_row(str(index), bar, percent(share), percent(conditional))
    return table


def _latencies(model: ModelReport) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("latency", "mean", "p50", "p99", "samples"):
        table.add_column(heading, justify="left" if heading == "latency" else "right")
    for name, latency in model.latencies.items():
        label = name.removesuffix("_seconds").replace("_", " ")
        p50, p99 = quantile(latency.p50, latency.p50_limits), quantile(latency.p99, latency.p99_limits)
        table.add_row(label, seconds(latency.mean), p50, p99, number(latency.count))
    return table


def _windows_table(windows: Iterable[Window]) -> Table:
    table = Table(title="log windows", title_justify="left", header_style="dim", box=None)
    for heading in ("engine", "seconds", "drafts", "draft tokens", "accepted", "rate", "length", ""):
        table.add_column(heading, justify="right")
    for window in windows:
        tally = window.tally
        table.add_row(
            window.engine or "",
            "" if window.seconds is None else f"{window.seconds:g}",
            number(tally.drafts),
            number(tally.draft_tokens),
            number(tally.accepted_tokens),
            percent(window.rate if tally.acceptance_rate is None else tally.acceptance_rate),
            length(window.length if tally.mean_acceptance_length is None else tally.mean_acceptance_length),
            "cut" if window.partial else "",
        )
    return table


def _comparisons_table(comparisons: Iterable[Comparison]) -> Table:
    table = Table(header_style="dim", box=None)
    for heading in ("load", "configuration", "against", "measure", "change"):
        table.add_column(heading, justify="right" if heading in {"load", "change"} else "left")
    for item in comparisons:
        low, high = item.change_pct
        change = f"{low:+.2f} %" if low == high else f"{low:+.1f} to {high:+.1f} %"
        style = "red" if item.worse else ""
        load = (
            ""
            if item.at is None
            else f"{item.at:g}"
            if item.level == "concurrency"
            else f"{item.at:g} {item.level}"
        )
        row = (load, escape(item.config), escape(item.baseline), item.measure)
        table.add_row(*row, Text(change, style=style))
    return table


def _runs_table(runs: Sequence[BenchRun]) -> Table:
    """Two lines a run: a time is given as p50 over p99, a throughput as stated over counted."""
    table = Table(header_style="dim", box=None, padding=(0, 2, 0, 0))
    table.add_column("run\nconcurrency", overflow="fold")
    headings = ["tokens/s\nby count", "TTFT ms\np50/p99", "TPOT ms\np50/p99", "ITL ms\np50/p99"]
    headings += ["tokens\na chunk", "ITL ms\na token"]
    speculating = any(run.mean_acceptance_length is not None or run.acceptance_rate is not None for run in runs)
    for heading in [*headings, "length\nrate"] if speculating else headings:
        table.add_column(heading, justify="right")
    for run in runs:
        cells = [*_run_figures(run)]
        if speculating:
            cells.append(f"{length(run.mean_acceptance_length)}\n{percent(run.acceptance_rate)}")
        table.add_row(_run_title(run), *cells)
    return table


def _run_title(run: BenchRun) -> Text:
    title = Text.assemble(run.name, "\n", (f"c = {number(run.concurrency)}", "dim"))
    return title.append(f", {run.failed} failed", "bold red") if run.failed else title


def _run_figures(run: BenchRun) -> Iterable[str | Text]:
    yield Text.assemble(decimals(run.output_tok_s), "\n", (decimals(run.counted_tok_s), _check_style(run)))
    for times in (run.ttft, run.tpot, run.itl):
        yield f"{decimals(times.p50)}\n{decimals(times.p99)}"
    tokens = None if run.implied is None else run.implied.tokens
    yield Text(decimals(tokens), "bold yellow" if run.itl_counts == "chunk" else "")
    yield decimals(run.itl_corrected_ms)


def _check_style(run: BenchRun) -> str:
    return {True: "green", False: "bold red", None: ""}[run.throughput_agrees]


def _warnings(notices: Iterable[Notice]) -> list[Text]:
    return [
        Text.assemble(("! ", "bold yellow"), (notice.code, "yellow"), f"  {notice.message}") for notice in notices
    ]


def _method(model: ModelReport) -> str:
    depth = UNKNOWN if model.speculative_tokens is None else str(model.speculative_tokens)
    return f"{depth}, {model.method or UNKNOWN}"


def _fact(value: Fact) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.4g}"
    return number(value) if isinstance(value, int | float) else str(value)


def number(value: float | None) -> str:
    """A count with thousands separated, or the word unknown."""
    return UNKNOWN if value is None else f"{value:,.10g}"


def percent(value: float | None) -> str:
    """A share as a percentage, or the word unknown."""
    return UNKNOWN if value is None else f"{value:.1%}"


def length(value: float | None) -> str:
    """An acceptance length in tokens, or the word unknown."""
    return UNKNOWN if value is None else f"{value:.3f}"


def quantile(value: float | None, limits: tuple[float, float | None] | None) -> str:
    """A quantile, or what the first or last bucket leaves to say about it."""
    if value is not None or limits is None:
        return seconds(value)
    lower, upper = limits
    return f"over {seconds(lower)}" if upper is None else f"at most {seconds(upper)}"


def decimals(value: float | None) -> str:
    """A number with the two decimals that benchmarks print, or the word unknown."""
    return UNKNOWN if value is None else f"{value:,.2f}"


def seconds(value: float | None) -> str:
    """A duration in the unit that reads best, or the word unknown."""
    if value is None:
        return UNKNOWN
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"
