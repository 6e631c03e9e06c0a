"""The detectors' part of the terminal view: whether the draft fits its target, and why not."""

from __future__ import annotations

from typing import Final

from rich.console import RenderableType
from rich.text import Text

from specwatch_exporters.sidecar.watcher import Judgement

_DETAILS: Final = 3
_STYLES: Final = {
    "ok": "black on green",
    "watch": "black on yellow",
    "drifted": "bold white on red",
    "cannot_tell": "black on white",
}


def verdict(one: Judgement | None, *, details: bool, cut: bool) -> list[RenderableType]:
    """State, evidence, cause and payoff; nothing without detectors.

    Args:
        one: what is known of the model.
        details: say what speaks for and against the cause, too.
        cut: a long line loses its end instead of taking two.
    """
    if one is None:
        return []
    pill = Text(f" {one.state.replace('_', ' ')} ", style=_STYLES.get(one.state, "black on white"))
    facts = [] if one.score is None else [f"evidence {one.score:.0%} of an alarm"]
    facts += [] if one.over is None else [f"{one.over:.0%} of the way to its end"]
    lines: list[RenderableType] = [Text.assemble("\ndraft  ", pill, (f"   {', '.join(facts)}", "dim"))]
    style = "bold" if one.state == "drifted" else ""
    lines.append(Text(one.cause or one.headline, style=style, no_wrap=cut, overflow="ellipsis"))
    if details:
        shown = one.details[:_DETAILS]
        lines += [Text(f"  {detail}", style="dim", no_wrap=True, overflow="ellipsis") for detail in shown]
    if one.payoff:
        lines.append(Text(one.payoff, no_wrap=cut, overflow="ellipsis"))
    return lines
