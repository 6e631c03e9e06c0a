"""What is said in a message's thread: changes, many of them in one reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from specwatch_alerts.slack.block_limits import TEXT
from specwatch_alerts.slack.group_view import GroupView
from specwatch_alerts.slack.job import NOTE, Change
from specwatch_alerts.slack.mrkdwn import cut, escape, span

_SIGNS: Final = {"firing": ":small_red_triangle: Firing", "resolved": ":white_check_mark: Resolved"}
_SHOWN: Final = 5


def note_text(view: GroupView, changes: Sequence[Change]) -> str:
    """The reply."""
    lines: list[str] = []
    for change in changes:
        if change.kind == NOTE:
            lines += change.words
        elif not change.words:
            lines.append(f"{_SIGNS[change.kind]}: {change.count:,} times before what follows")
        else:
            told = ", ".join(escape(words) for words in change.words[:_SHOWN])
            more = change.count - min(len(change.words), _SHOWN)
            lines.append(f"{_SIGNS[change.kind]}: {told}" + (f" and {more:,} more" if more > 0 else ""))
    if view.ended is not None and any(change.kind == "resolved" for change in changes):
        lines.append(f"All resolved after {span(view.ended - view.began)}.")
    return cut("\n".join(lines), TEXT)


def broadcast(view: GroupView, changes: Sequence[Change]) -> bool:
    """Whether the channel is told, too: a page began after the message was posted, or all pages are over."""
    began = any(change.page and change.kind == "firing" for change in changes)
    over = view.pages and not view.firing and any(change.kind == "resolved" for change in changes)
    return began or over
