"""The verdict on the draft on the status page: state, reason, evidence, what to check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from specwatch_exporters.sidecar.status_text import age_text, label
from specwatch_exporters.sidecar.watcher import Judgement

MAX_JUDGEMENTS: Final = 24
_MAX_LINES: Final = 14
_PILLS: Final = {
    "ok": ("active", "\N{BLACK CIRCLE}", "fits"),
    "watch": ("unknown", "\N{BLACK DIAMOND}", "watch"),
    "drifted": ("stale", "\N{BLACK UP-POINTING TRIANGLE}", "drifted"),
    "cannot_tell": ("off", "?", "cannot tell"),
}


def drift_card(judgements: Sequence[Judgement]) -> str:
    """One card for all models; empty without verdicts."""
    if not judgements:
        return ""
    parts = [_judgement(one, named=len(judgements) > 1) for one in judgements[:MAX_JUDGEMENTS]]
    rest = len(judgements) - len(parts)
    more = f'<p class="none">{rest} more are in status.json.</p>' if rest > 0 else ""
    return f'<section class="card drift" id="drift">{"".join(parts)}{more}</section>'


def _judgement(one: Judgement, *, named: bool) -> str:
    kind, glyph, word = _PILLS.get(one.state, _PILLS["cannot_tell"])
    pill = f'<span class="pill {kind}"><span aria-hidden="true">{glyph}</span> {word}</span>'
    name = f"Draft of {label(one.model, 60)}" if named else "Does the draft fit its target?"
    head = f'<header class="model"><h2>{name}</h2>{pill}</header>'
    said = "".join(
        f"<p>{label(_capital(line), 300)}</p>" for line in (*one.remarks[:4], one.payoff, one.traffic) if line
    )
    return f"<div>{head}<p>{_sentence(one)}</p>{said}{_lines('Evidence', one.details)}{_steps(one)}</div>"


def _sentence(one: Judgement) -> str:
    cause = f"<b>{label(_capital(one.cause), 200)}.</b> " if one.cause else ""
    text = cause + label(f"{_capital(one.headline)}.", 400)
    facts = []
    if one.score is not None:
        facts.append(f"evidence {one.score:.0%} of an alarm" if one.score < 1.0 else "alarm")
    if one.over is not None:
        facts.append(f"{one.over:.0%} of the way to its end")
    if one.since_s is not None and one.state in {"drifted", "watch"}:
        facts.append(f"began {age_text(one.since_s)} ago")
    if one.alarms:
        facts.append(f"{one.alarms} alarm{'s' if one.alarms != 1 else ''} so far")
    return text + (f' <span class="spread">{", ".join(facts)}</span>' if facts else "")


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _lines(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    rows = "".join(f"<li>{label(line, 300)}</li>" for line in lines[:_MAX_LINES])
    return f"<details><summary>{title}</summary><ul>{rows}</ul></details>"


def _steps(one: Judgement) -> str:
    if not one.next_steps:
        return ""
    rows = "".join(f"<li>{label(line, 300)}</li>" for line in one.next_steps[:_MAX_LINES])
    return f'<p class="todo"><b>What to check.</b></p><ul>{rows}</ul>'
