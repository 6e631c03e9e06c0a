"""Evidence as paragraphs and tables of a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from specwatch_alerts.slack.block_limits import Block, section, table
from specwatch_alerts.slack.evidence import Evidence, Pair, Payoff
from specwatch_alerts.slack.mrkdwn import code, cut, escape

_MOST_ROWS: Final = 10
_MOST_PODS: Final = 3
_NAME: Final = 20


def evidence_blocks(found: Evidence) -> list[Block]:
    """One paragraph with the figures that matter, one table with their parts; nothing where nothing is known."""
    lines = [*_acceptance(found.length), *_payoff(found.payoff), *_waits(found), *_pods(found.pods)]
    blocks = [section("\n".join(["*Evidence*", *lines]))] if lines else []
    rows = [*_rows("position, share", found.positions, 2), *_rows("class, tokens/step", found.classes, 2)]
    if rows:
        blocks.append(table("*Acceptance by position and traffic class*", rows))
    if found.problem:
        blocks.append(section(f":grey_question: {escape(found.problem)}", 300))
    return blocks


def _acceptance(length: Pair | None) -> list[str]:
    if length is None or length.now is None:
        return []
    if not length.before:
        return [f"Acceptance length *{length.now:.2f}* tokens per draft step; before: unknown"]
    change = length.now / length.before - 1.0
    return [f"Acceptance length {length.before:.2f} → *{length.now:.2f}* tokens per draft step ({change:+.0%})"]


def _payoff(found: Payoff | None) -> list[str]:
    if found is None:
        return []
    bounds = (
        "" if found.lower is None or found.upper is None else f" (95 %: {found.lower:.2f} to {found.upper:.2f})"
    )
    words = _verdict(found)
    return [f"Speed *{found.estimate:.2f} times*{bounds} at batch {escape(found.batch)}: {words}"]


def _verdict(found: Payoff) -> str:
    low = found.estimate if found.lower is None else found.lower
    high = found.estimate if found.upper is None else found.upper
    if high < 1.0:
        return "speculation makes the engine slower"
    return "speculation still pays" if low > 1.0 else "speculation pays nothing that can be told from noise"


def _waits(found: Evidence) -> list[str]:
    lines = []
    for pair in found.latencies:
        if pair.now is not None:
            before = "unknown" if pair.before is None else _seconds(pair.before)
            lines.append(f"{pair.name} p95 {before} → *{_seconds(pair.now)}*")
    if found.waiting is not None:
        lines.append(f"Requests waiting now: *{found.waiting:.0f}*")
    return lines


def _pods(pods: Sequence[Pair]) -> list[str]:
    told = [f"{code(pod.name)} {pod.now:.2f}" for pod in pods[:_MOST_PODS] if pod.now is not None]
    return [f"Lowest acceptance length: {', '.join(told)}"] if told else []


def _rows(title: str, pairs: Sequence[Pair], digits: int) -> list[str]:
    if not pairs:
        return []
    rows = [f"{title:<{_NAME}} {'before':>7} {'now':>7}"]
    for pair in pairs[:_MOST_ROWS]:
        name = escape(cut(pair.name, _NAME)).replace("`", "'")
        rows.append(f"{name:<{_NAME}} {_figure(pair.before, digits):>7} {_figure(pair.now, digits):>7}")
    if len(pairs) > _MOST_ROWS:
        rows.append(f"and {len(pairs) - _MOST_ROWS} more")
    return rows


def _figure(value: float | None, digits: int) -> str:
    return "?" if value is None else f"{value:.{digits}f}"


def _seconds(value: float) -> str:
    return f"{value * 1000.0:.0f} ms" if value < 1.0 else f"{value:.1f} s"
