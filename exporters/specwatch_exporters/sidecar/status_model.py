"""One model on the status page: its state, its acceptance, its queue and its latencies."""

from __future__ import annotations

from collections.abc import Sequence

from specwatch_exporters.report import Latency, ModelReport, State
from specwatch_exporters.sidecar.status import ModelStatus
from specwatch_exporters.sidecar.status_charts import meter, positions_chart
from specwatch_exporters.sidecar.status_text import (
    UNKNOWN,
    age_text,
    known,
    label,
    number,
    seconds,
    share,
    whole,
)

MAX_ROWS = 100
MAX_CARDS = 24
GLYPHS = {
    State.ACTIVE: "\N{BLACK CIRCLE}",
    State.OFF: "\N{WHITE CIRCLE}",
    State.IDLE: "\N{DOTTED CIRCLE}",
    State.UNKNOWN: "?",
    State.STALE: "\N{BLACK UP-POINTING TRIANGLE}",
}
_MEANINGS = {
    State.OFF: "Tokens are generated without drafts. If it should speculate, look at the engine's speculative "
    "configuration, at K for this batch size, and whether a gate has closed.",
    State.IDLE: "Nothing is generated. Acceptance is unknown until requests come.",
    State.UNKNOWN: "The engine does not say whether it speculates. If speculation is configured, its metrics are "
    "missing: statistics may be disabled, or this is another process's page.",
}
_ROWS = (
    ("Queue wait", "queue_wait_seconds"),
    ("First token", "time_to_first_token_seconds"),
    ("Per token", ""),
    ("Per step", "inter_token_step_seconds"),
    ("End to end", "e2e_latency_seconds"),
)
_PER_TOKEN = ("inter_token_seconds", "time_per_output_token_seconds")


def pill(state: State) -> str:
    """The state as a coloured pill: sign, word and colour say the same."""
    return f'<span class="pill {state.value}"><span aria-hidden="true">{GLYPHS[state]}</span> {state.value}</span>'


def model_table(models: Sequence[ModelStatus], *, stale: bool) -> str:
    """All models at a glance, up to `MAX_ROWS`, for pages with more than one."""
    head = "<th>Model</th><th>State</th><th>\N{GREEK SMALL LETTER TAU}</th><th>Accepted</th><th>Waiting</th>"
    rows = "".join(_table_row(model.report, index, stale=stale) for index, model in enumerate(models[:MAX_ROWS]))
    return (
        f'<section class="card models"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></section>'
    )


def _table_row(report: ModelReport, index: int, *, stale: bool) -> str:
    state = State.STALE if stale else report.state
    length, rate, waiting = report.mean_acceptance_length, report.acceptance_rate, report.waiting
    figures = (number(None if stale else length), share(None if stale else rate), whole(None if stale else waiting))
    cells = "".join(f"<td>{figure}</td>" for figure in figures)
    name = label(report.model, 48)
    link = f'<a href="#m{index}">{name}</a>' if index < MAX_CARDS else name
    return f"<tr><th>{link}</th><td>{pill(state)}</td>{cells}</tr>"


def model_card(model: ModelStatus, index: int, *, stale: bool, age_s: float) -> str:
    """Everything about one model.

    Args:
        model: what to show.
        index: its place on the page.
        stale: True when figures must not be shown any more.
        age_s: age of the last good page.
    """
    report = model.report
    state = State.STALE if stale else report.state
    head = f'<header class="model"><h2>{label(report.model, 80)}</h2>{pill(state)}</header>'
    body = f"<p>{_sentence(model, state, age_s)}</p>"
    if state is State.ACTIVE:
        body += f'<div class="pair">{_acceptance(model)}{_positions(model)}</div>'
    elif state is not State.STALE:
        body += f'<dl class="facts wide"><dt>Acceptance</dt><dd>{UNKNOWN}</dd>{_facts(model)}</dl>'
    if state is not State.STALE:
        body += _load(report) + _latencies(model)
    return f'<section class="card" id="m{index}">{head}{body}</section>'


def _sentence(model: ModelStatus, state: State, age_s: float) -> str:
    if state is State.STALE:
        return f"No fresh page for {age_text(age_s)}; figures are withdrawn until the engine answers again."
    if state is not State.ACTIVE:
        return _MEANINGS[state]
    length = model.report.mean_acceptance_length
    if not known(length):
        return "Drafts are verified; how many tokens are kept, the engine does not say."
    return f"Drafts are verified. A draft step yields <b>{number(length)} tokens</b> on average instead of 1."


def _acceptance(model: ModelStatus) -> str:
    rate = model.report.acceptance_rate
    return (
        '<div class="acceptance"><p class="hero"><span class="big">'
        f"{number(model.report.mean_acceptance_length)}</span><span>mean acceptance length "
        "\N{GREEK SMALL LETTER TAU} over the last minute</span></p>"
        f'<p class="rate"><span>Acceptance rate</span><b>{share(rate)}</b></p>{meter(rate, "Acceptance rate")}'
        f'<dl class="facts">{_facts(model)}</dl></div>'
    )


def _facts(model: ModelStatus) -> str:
    report = model.report
    rows = (
        ("Method", label(report.method, 40) if report.method else UNKNOWN),
        ("Draft tokens K", whole(report.speculative_tokens)),
        ("Tokens per step, all steps", number(model.tokens_per_step)),
        ("Steps with a draft", share(model.speculating_share)),
    )
    return "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)


def _positions(model: ModelStatus) -> str:
    tally = model.report.tally
    if not any(known(value) for value in tally.per_position):
        chart = '<p class="blank">\N{EM DASH} unknown<br><small>The engine does not count positions.</small></p>'
        return f"<figure><figcaption>Acceptance by position</figcaption>{chart}</figure>"
    chart = positions_chart(tally.per_position, tally.conditional, model.baseline, model.baseline_name)
    name = label(model.baseline_name, 40)
    keys = (
        '<span class="key bar">kept, of all drafts</span><span class="key mark">kept, if the one before was</span>'
    )
    if any(known(value) for value in model.baseline):
        keys += f'<span class="key reference">{name}</span>{_largest_gap(model, name)}'
    return f'<figure><figcaption>Acceptance by position</figcaption>{chart}<p class="legend">{keys}</p></figure>'


def _largest_gap(model: ModelStatus, name: str) -> str:
    """Where acceptance differs most from the baseline, in words."""
    pairs = zip(model.report.tally.per_position, model.baseline, strict=False)
    gaps = [(now - then, index) for index, (now, then) in enumerate(pairs) if now is not None and then is not None]
    gap, index = max(gaps, key=lambda found: abs(found[0]), default=(0.0, 0))
    if not known(gap) or abs(gap) < 0.005:
        return ""
    side = "below" if gap < 0 else "above"
    return f"<span><b>{abs(gap) * 100:.0f} points {side}</b> {name} at position {index}</span>"


def _load(report: ModelReport) -> str:
    wait = report.latencies.get("queue_wait_seconds")
    tiles = (
        ("Running", whole(report.running), ""),
        ("Waiting", whole(report.waiting), ""),
        ("Queue wait, mean", seconds(wait.mean if wait else None), ""),
        ("KV cache in use", share(report.kv_cache_usage), meter(report.kv_cache_usage, "KV cache in use")),
    )
    cells = "".join(f"<div><dt>{name}</dt><dd>{value}</dd>{extra}</div>" for name, value, extra in tiles)
    return f'<dl class="tiles">{cells}</dl>'


def _latencies(model: ModelStatus) -> str:
    latencies = model.report.latencies
    if not latencies and not known(model.token_latency_s):
        return f'<p class="none">Latency over the last minute: {UNKNOWN}, nothing was measured.</p>'
    rows = []
    for name, key in _ROWS:
        found = latencies.get(key) if key else _per_token(model.report)
        mean = found.mean if found else None
        if found is not None or key != "inter_token_step_seconds":
            rows.append(
                _latency_row(name, mean if key or model.token_latency_s is None else model.token_latency_s, found)
            )
    return (
        '<table class="latency"><caption>Latency over the last minute</caption>'
        "<thead><tr><td></td><th>mean</th><th>p50</th><th>p99</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _per_token(report: ModelReport) -> Latency | None:
    return next((report.latencies[name] for name in _PER_TOKEN if name in report.latencies), None)


def _latency_row(name: str, mean: float | None, latency: Latency | None) -> str:
    values = (mean, latency.p50 if latency else None, latency.p99 if latency else None)
    if not any(known(value) for value in values):
        return f'<tr><th>{name}</th><td colspan="3">{UNKNOWN}</td></tr>'
    return f"<tr><th>{name}</th>{''.join(f'<td>{seconds(value)}</td>' for value in values)}</tr>"
