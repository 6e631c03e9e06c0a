"""The status page: one self-contained HTML document, made for a phone at three in the morning.

It loads nothing, works without JavaScript, and every text that comes from the engine is escaped. Style and script
are inline and allowed by their hashes, so a strict content policy holds.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from math import isfinite
from pathlib import Path
from urllib.parse import quote

from specwatch_exporters.report import State
from specwatch_exporters.sidecar.fetch_error import REMEDIES
from specwatch_exporters.sidecar.status import Status
from specwatch_exporters.sidecar.status_charts import sparkline
from specwatch_exporters.sidecar.status_drift import drift_card
from specwatch_exporters.sidecar.status_model import GLYPHS, MAX_CARDS, model_card, model_table
from specwatch_exporters.sidecar.status_text import age_text, label, plain, seconds_text, size

_HERE = Path(__file__).parent
_STYLE = _HERE.joinpath("status_page.css").read_text(encoding="utf-8")
_SCRIPT = _HERE.joinpath("status_page.js").read_text(encoding="utf-8")
_MAX_NOTICES = 20
_SPAN_S = 600.0
_ENGINES = {"vllm": "vLLM", "vllm-v0": "vLLM V0", "sglang": "SGLang", "trtllm": "TensorRT-LLM"}
# Favicon colours: readable on a light and on a dark tab.
_ICON_COLOURS = {
    State.ACTIVE: "#1a9c6b",
    State.OFF: "#7b8694",
    State.IDLE: "#4f86d9",
    State.UNKNOWN: "#c98a12",
    State.STALE: "#d6483d",
}


# Three bars that fall: acceptance by position.
_LOGO = (
    '<svg class="logo" viewBox="0 0 14 14" aria-hidden="true"><rect x="0" y="1" width="4" height="13" rx="1"/>'
    '<rect x="5" y="5" width="4" height="9" rx="1"/><rect x="10" y="9" width="4" height="5" rx="1"/></svg>'
)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def render_page(status: Status) -> bytes:
    """The whole document."""
    html = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(_title(status))}</title>\n"
        f'<link rel="icon" href="{_icon(status.state)}">\n'
        '<noscript><meta http-equiv="refresh" content="5"></noscript>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n"
        '<p id="offline" role="alert" hidden></p>\n'
        f"<main>\n{_body(status)}</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )
    return html.encode("utf-8", errors="backslashreplace")


def _title(status: Status) -> str:
    lead = status.models[0].report.mean_acceptance_length if len(status.models) == 1 else None
    length = "" if lead is None or status.scrape.stale else f"\N{GREEK SMALL LETTER TAU} {lead:.2f} "
    name = plain(status.models[0].report.model, 40) if len(status.models) == 1 else status.engine.address
    return f"{GLYPHS[status.state]} {length}{status.state.value} \N{MIDDLE DOT} {plain(name, 60)}"


def _icon(state: State) -> str:
    dot = f"<circle cx='8' cy='8' r='6' fill='{_ICON_COLOURS[state]}'/>"
    image = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>{dot}</svg>"
    return f"data:image/svg+xml,{quote(image)}"


def _body(status: Status) -> str:
    trend = _trend(status)
    cards = "".join(
        model_card(model, index, stale=status.scrape.stale, age_s=status.scrape.age_s)
        for index, model in enumerate(status.models[:MAX_CARDS])
    )
    models, notices = status.models, _notices(status)
    parts = [_header(status), _banner(status), "" if status.scrape.stale else drift_card(status.judgements)]
    if len(models) == 1:
        parts += [cards, notices, trend]
    else:
        table = model_table(models, stale=status.scrape.stale) if models else ""
        parts += [table, notices, trend if models else "", cards]
    if len(models) > MAX_CARDS:
        parts.append(f'<p class="none">The first {MAX_CARDS} of {len(models)} models; status.json has all.</p>')
    if status.scrape.success and not models:
        parts.append('<section class="card"><p class="none">The engine\'s page names no model.</p></section>')
    return "\n".join(filter(None, [*parts, _footer(status)])) + "\n"


def _header(status: Status) -> str:
    engine = status.engine
    kind = _ENGINES.get(engine.kind, plain(engine.kind, 40)) if engine.kind else "Engine"
    version = f" {label(engine.version, 40)}" if engine.version else ""
    return (
        f'<header><div class="who"><p class="brand">{_LOGO}specwatch</p><h1>{escape(kind)}{version}{_chips(status)}'
        f'</h1><p class="address">{label(engine.address, 120)}</p></div>'
        f'<p class="pulse {"good" if status.scrape.success else "bad"}">{_pulse(status)}</p></header>'
    )


def _chips(status: Status) -> str:
    engine, notices = status.engine, len(status.notices)
    chips = []
    if engine.dialect:
        chips.append(f'<span class="chip">{label(engine.dialect, 40)}</span>')
    if engine.restarts:
        chips.append(f'<span class="chip">{_counted(engine.restarts, "restart")}</span>')
    if notices:
        chips.append(f'<a class="chip warns" href="#warnings">{_counted(notices, "warning")}</a>')
    return "".join(f" {chip}" for chip in chips)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


def _pulse(status: Status) -> str:
    scrape = status.scrape
    if not scrape.seen:
        return f"<b>No page yet</b><br>started {age_text(scrape.age_s)} ago"
    took = "" if scrape.duration_s is None else f", took {seconds_text(scrape.duration_s)}"
    bytes_ = "" if scrape.page_bytes is None or not scrape.success else f", {size(scrape.page_bytes)}"
    verb = "Read" if scrape.success else "Last read"
    return f"<b>{verb} {age_text(scrape.age_s)} ago</b><br>every {age_text(scrape.interval_s)}{took}{bytes_}"


def _banner(status: Status) -> str:
    """What is wrong with the scrape, and what to do about it."""
    scrape = status.scrape
    if scrape.success and not scrape.stale:
        return ""
    if not scrape.seen and not scrape.cause:
        return '<section class="banner wait"><h2>Waiting for the first page</h2></section>'
    kind, head = ("bad", "The engine cannot be read") if scrape.stale else ("warn", "The last scrape failed")
    if not scrape.seen:
        effect = "No page was understood since this sidecar started."
    elif scrape.stale:
        effect = (
            f"The last good page is {age_text(scrape.age_s)} old. Figures are withdrawn after "
            f"{age_text(scrape.stale_after_s)}: dashboards show a gap, not a frozen line."
        )
    else:
        effect = (
            f"The figures below are {age_text(scrape.age_s)} old; they are withdrawn at "
            f"{age_text(scrape.stale_after_s)}."
        )
    cause = f'<code class="cause">{label(scrape.cause, 40)}</code> ' if scrape.cause else ""
    said = f'<p class="said">{label(scrape.message, 400)}</p>' if scrape.message else ""
    remedy = REMEDIES.get(scrape.cause, "")
    todo = f'<p class="todo"><b>What to do.</b> {escape(remedy)}</p>' if remedy else ""
    return (
        f'<section class="banner {kind}" role="alert"><h2>{cause}{head}</h2>{said}<p>{effect}</p>{todo}</section>'
    )


def _trend(status: Status) -> str:
    if not status.history:
        return ""
    length = [(point.age_s, point.length) for point in status.history]
    waiting = [(point.age_s, point.waiting) for point in status.history]
    panels = (
        _panel("Mean acceptance length \N{GREEK SMALL LETTER TAU}", length, 1.0, 2),
        _panel("Requests waiting", waiting, 0.0, 0),
    )
    return (
        f'<section class="card trend"><h2>Last 10 minutes</h2><div class="pair">{"".join(panels)}</div></section>'
    )


def _panel(name: str, points: list[tuple[float, float | None]], floor: float, digits: int) -> str:
    values = [value for age, value in points if value is not None and isfinite(value) and 0 <= age <= _SPAN_S]
    if not values:
        return (
            f'<figure><figcaption>{name}</figcaption><p class="none">No values in the last 10 minutes.</p></figure>'
        )
    spread = f"{min(values):,.{digits}f} to {max(values):,.{digits}f}"
    return (
        f'<figure><figcaption><span>{name}</span><span class="spread">{spread}</span></figcaption>'
        f"{sparkline(points, _SPAN_S, name, floor)}"
        '<p class="times"><span>10 min ago</span><span>now</span></p></figure>'
    )


def _notices(status: Status) -> str:
    if not status.notices:
        return ""
    shown = status.notices[:_MAX_NOTICES]
    rows = "".join(
        f"<li><code>{label(notice.code, 40)}</code><span>{label(notice.message, 500)}</span></li>"
        for notice in shown
    )
    rest = len(status.notices) - len(shown)
    more = f'<p class="none">{rest} more are in status.json.</p>' if rest else ""
    return f'<section class="card notices" id="warnings"><h2>Warnings</h2><ul>{rows}</ul>{more}</section>'


_WORDS = (
    ("draft step", "A verification that had a draft."),
    ("acceptance rate", "Draft tokens kept / draft tokens proposed."),
    (
        "mean acceptance length \N{GREEK SMALL LETTER TAU}",
        "1 + accepted tokens / draft steps: tokens per draft step, bonus token included.",
    ),
    (
        "by position",
        "Bars: share of all draft steps that reached it. Diamonds: share of those that reached the one before.",
    ),
    ("unknown", "Nothing was counted, or the engine does not tell. It is not 0."),
)


def _footer(status: Status) -> str:
    words = "".join(f"<dt>{word}</dt><dd>{meaning}</dd>" for word, meaning in _WORDS)
    return (
        f'<footer><details id="words"><summary>What the words mean</summary><dl>{words}</dl></details>'
        '<p><a href="metrics">metrics</a> <a href="status.json">status.json</a> <a href="readyz">readyz</a> '
        f"<span>specwatch {label(status.version, 40)}</span></p></footer>"
    )
