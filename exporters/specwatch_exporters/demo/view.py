"""Draw one moment in the terminal. The only module besides the commands that imports rich."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from specwatch_exporters.demo.moment import Moment
from specwatch_exporters.demo.view_fallback import pools, traffic
from specwatch_exporters.demo.view_verdict import verdict
from specwatch_exporters.report import ModelReport, State

UNKNOWN = "\N{EN DASH}"
_STATE_STYLE = {
    State.ACTIVE: "black on green",
    State.IDLE: "black on cyan",
    State.OFF: "black on white",
    State.STALE: "black on yellow",
    State.UNKNOWN: "black on yellow",
}
_BAR = 30
_SPARKS = "▁▂▃▄▅▆▇█"
_SPARK_WIDTH = 48
_EVENTS = 5
_FEWER_EVENTS = 3


class Part(StrEnum):
    """What a frame can do without, in the order in which a low terminal loses it."""

    HISTORY = "history"
    REQUESTS = "requests"
    DETAILS = "details"
    POOLS = "pools"
    LOAD = "load in full"
    EVENTS = "older events"
    ENDS = "ends of long lines"


def draw(moment: Moment, without: Collection[Part] = ()) -> RenderableType:
    """A frame, about 42 lines high if nothing is left out, and readable from 80 columns on."""
    parts: list[RenderableType] = [_heading(moment)]
    if moment.trouble:
        parts.append(Text(f"The engine cannot be read: {moment.trouble}", style="bold yellow"))
    if moment.report is not None:
        parts += [
            _acceptance(moment, moment.report),
            *verdict(moment.judgement, details=Part.DETAILS not in without, cut=Part.ENDS in without),
        ]
        if moment.fallback is not None:
            parts += traffic(moment.fallback)
            parts += [pools(moment.pools)] if Part.POOLS not in without else []
        parts.append((_load_line if Part.LOAD in without else _load)(moment, moment.report))
        if (moment.classes or moment.batches) and Part.REQUESTS not in without:
            parts.append(_requests(moment))
        parts += [_history(moment)] if Part.HISTORY not in without else []
    else:
        parts.append(Text("waiting for two scrapes ...", style="dim"))
    parts.append(_events(moment, _FEWER_EVENTS if Part.EVENTS in without else _EVENTS, cut=Part.ENDS in without))
    return Panel(Group(*parts), title="[bold]specwatch[/]", title_align="left", padding=(0, 1), width=None)


def fitted(moment: Moment, console: Console) -> RenderableType:
    """A frame of which everything is seen: it leaves out what the terminal's height has no room for."""
    frame, options = draw(moment), console.options.update(height=None)
    for count in range(1, len(Part) + 1):
        if len(console.render_lines(frame, options)) <= console.height:
            break
        frame = draw(moment, list(Part)[:count])
    return frame


def line(moment: Moment) -> str:
    """The same in one line, for output that is no terminal."""
    report = moment.report
    if report is None:
        return f"{moment.elapsed_s:5.0f}s  {moment.trouble or 'waiting for two scrapes'}"
    positions = " ".join(_percent(value) for value in report.tally.per_position) or UNKNOWN
    verdict = "" if moment.judgement is None else f"draft {moment.judgement.state}  "
    verdict += "" if moment.fallback is None else f"traffic {moment.fallback.shares_text}  "
    return (
        f"{moment.elapsed_s:5.0f}s  {report.state.value:7}  {verdict}"
        f"acceptance {_percent(report.acceptance_rate)}  "
        f"length {_number(report.mean_acceptance_length, 2)}  by position {positions}  "
        f"running {_number(report.running)}  waiting {_number(report.waiting)}  "
        f"queue wait {_seconds(_mean(report, 'queue_wait_seconds'))}  "
        f"TTFT {_seconds(_mean(report, 'time_to_first_token_seconds'))}  "
        f"per token {_seconds(moment.token_latency_s)}"
    )


def _heading(moment: Moment) -> RenderableType:
    grid = Table.grid(expand=True)
    grid.add_column(ratio=1)
    grid.add_column(justify="right")
    state = moment.report.state if moment.report is not None else None
    pill = Text(f" {state.value} ", style=_STATE_STYLE[state]) if state is not None else Text("")
    left = Text.assemble(pill, "  ", (moment.title, "bold"))
    clock = f"{moment.elapsed_s:.0f} s" + ("" if moment.total_s is None else f" of {moment.total_s:.0f} s")
    grid.add_row(left, Text(clock, style="dim"))
    kind = "simulated engine, measured step times" if moment.simulated else "engine"
    what = Text(f"{kind}: {moment.engine}", style="dim", no_wrap=True, overflow="ellipsis")
    grid.add_row(what, Text(moment.status_url, style="underline cyan"))
    return grid


def _acceptance(moment: Moment, report: ModelReport) -> RenderableType:
    length = report.mean_acceptance_length
    text = Text.assemble(
        "\nacceptance ",
        (_percent(report.acceptance_rate), "bold"),
        "   mean length ",
        (_number(length, 2), "bold"),
        ("" if moment.baseline_length is None else f" (at the start {moment.baseline_length:.2f})", "dim"),
        "   K ",
        (str(report.speculative_tokens or UNKNOWN), "bold"),
    )
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in (
        "position",
        f"accepted, last {moment.window_s:.0f} s",
        "",
        "at the start",
        "conditional",
    ):
        table.add_column(heading, no_wrap=True)
    baseline = (*moment.baseline, *([None] * len(report.tally.per_position)))
    rows = zip(report.tally.per_position, baseline, report.tally.conditional, strict=False)
    for index, (share, before, conditional) in enumerate(rows):
        style = _bar_style(share, before)
        bar = _bar(share, before, style)
        table.add_row(
            str(index), bar, Text(_percent(share), style=f"bold {style}"), _percent(before), _percent(conditional)
        )
    return Group(text, table)


def _bar(share: float | None, before: float | None, style: str) -> Text:
    """A bar of the share, with a mark where it was at the start."""
    filled = round((share or 0.0) * _BAR)
    mark = None if before is None else min(_BAR - 1, round(before * _BAR))
    text = Text()
    for cell in range(_BAR):
        if cell == mark and cell >= filled:
            text.append("│", style="bold")
        elif cell < filled:
            text.append("█", style=style)
        else:
            text.append("·", style="dim")
    return text


def _bar_style(share: float | None, before: float | None) -> str:
    if share is None or before is None or share >= 0.9 * before:
        return "green"
    return "yellow" if share >= 0.7 * before else "red"


def _load_line(_: Moment, report: ModelReport) -> RenderableType:
    """The load in one line: what a person looks for first."""
    wait, first = _mean(report, "queue_wait_seconds"), _mean(report, "time_to_first_token_seconds")
    figures = (
        ("running", _number(report.running)),
        ("waiting", _number(report.waiting)),
        ("queue wait", _seconds(wait)),
        ("first token", _seconds(first)),
    )
    text = Text(no_wrap=True)
    for name, value in figures:
        text.append(f"{name} ", style="dim").append(f"{value}   ", style="bold")
    return text


def _load(moment: Moment, report: ModelReport) -> RenderableType:
    grid = Table.grid(padding=(0, 3, 0, 0))
    rows = (
        ("running", _number(report.running), "queue wait", _seconds(_mean(report, "queue_wait_seconds"))),
        ("waiting", _number(report.waiting), "first token", _seconds(_mean(report, "time_to_first_token_seconds"))),
        ("KV cache", _percent(report.kv_cache_usage), "per token", _seconds(moment.token_latency_s)),
        (
            "tokens/s",
            _number(moment.tokens_per_second),
            "end to end",
            _seconds(_mean(report, "e2e_latency_seconds")),
        ),
    )
    for left, left_value, right, right_value in rows:
        grid.add_row(
            f"[dim]{left}[/]", f"[bold]{left_value}[/]", f"[dim]{right}, mean[/]", f"[bold]{right_value}[/]"
        )
    return Group(Text(""), grid)


def _requests(moment: Moment) -> RenderableType:
    """Per traffic class and per batch size, side by side: what only the request sidecar sees."""
    grid = Table.grid(padding=(0, 4, 0, 0))
    classes = _plain_table("traffic class", "acceptance", "length")
    for row in moment.classes:
        classes.add_row(row.name, _percent(row.rate), _number(row.length, 2))
    batches = _plain_table("batch up to", "per token", "first token", "end to end")
    for batch in moment.batches[-4:]:
        edge = "over 128" if batch.edge == "+" else batch.edge
        batches.add_row(edge, _seconds(batch.token_s), _seconds(batch.first_s), _seconds(batch.total_s))
    grid.add_row(classes, batches)
    return Group(Text(""), grid)


def _plain_table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index == 0 else "right", no_wrap=True)
    return table


def _history(moment: Moment) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_row("[dim]mean length[/]", Text(spark(moment.lengths, floor=1.0, digits=2), style="green"))
    grid.add_row("[dim]waiting[/]", Text(spark(moment.waiting, floor=0.0, digits=0), style="cyan"))
    return Group(Text(""), grid)


def spark(values: Sequence[float | None], floor: float, digits: int) -> str:
    """A line of blocks over all values so far, averaged into cells; unknown ones are blank.

    Args:
        values: oldest first.
        floor: value of the lowest block.
        digits: after the point, of the newest value.
    """
    cells = _cells(values)
    known = [value for value in values if value is not None]
    span = max((value for value in cells if value is not None), default=floor) - floor
    blocks = [
        " "
        if value is None
        else _SPARKS[max(0, min(7, int(8 * (value - floor) / span)))]
        if span > 0
        else _SPARKS[0]
        for value in cells
    ]
    return "".join(blocks) + (f"  now {known[-1]:.{digits}f}" if known else "")


def _cells(values: Sequence[float | None]) -> list[float | None]:
    """At most as many values as the line is wide, each the mean of its share."""
    width = min(_SPARK_WIDTH, len(values))
    cells: list[float | None] = []
    for cell in range(width):
        share = values[cell * len(values) // width : (cell + 1) * len(values) // width]
        known = [value for value in share if value is not None]
        cells.append(sum(known) / len(known) if known else None)
    return cells


def _events(moment: Moment, most: int, *, cut: bool) -> RenderableType:
    lines: list[RenderableType] = [Text("")]
    for event in moment.events[-most:]:
        style = "bold yellow" if event.alarming else ""
        parts = ((f"{event.at_s:5.0f} s  ", "dim"), (event.text, style))
        lines.append(Text.assemble(*parts, no_wrap=cut, overflow="ellipsis"))
    lines += [Text.from_markup(f"[yellow]! {item.code}[/]  {escape(item.message)}") for item in moment.notices[:3]]
    return Group(*lines)


def _mean(report: ModelReport, name: str) -> float | None:
    latency = report.latencies.get(name)
    return None if latency is None else latency.mean


def _percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0%}"


def _number(value: float | None, digits: int = 0) -> str:
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def _seconds(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"
