"""One group's work: what there is, what Slack has, and what is under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specwatch_alerts.slack.group_view import GroupView

NOTE: Final = "note"
"""Kind of a change that is not an alert's: words that a person's order left."""


@dataclass(frozen=True, slots=True)
class Intent:
    """A post that was begun and whose outcome is not recorded.

    Attributes:
        key: in the message's metadata.
        at: when it was begun, epoch seconds.
        revision: of the group that it shows.
        upto: last change that it tells.
        reply: whether it goes into the thread.
        channel: where to.
    """

    key: str
    at: float
    revision: int
    upto: int
    reply: bool
    channel: str


@dataclass(frozen=True, slots=True)
class Change:
    """Some changes of one kind, with none of another kind between them.

    Attributes:
        kind: firing, resolved, or note.
        page: whether one of them pages.
        count: how many.
        words: of the first ones; empty for those that came long before the others, in whatever order.
    """

    kind: str
    page: bool
    count: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A group that Slack lacks something of.

    Attributes:
        view: the group.
        episode: which time of firing it is.
        revision: what there is.
        shown: what Slack has.
        root: `ts` of the group's message, or empty.
        roots: messages of this episode that were lost.
        channel: where the message is, or empty.
        intent: a post whose outcome is not known, or None.
        upto: the last change, 0 if there is none to tell.
        changes: what the thread lacks.
        lean: 0 for all, 1 for less, 2 for text only: Slack refused the message otherwise.
        pictured: whether the picture was tried.
        failures: refusals in a row.
    """

    view: GroupView
    episode: int
    revision: int
    shown: int
    root: str
    roots: int
    channel: str
    intent: Intent | None
    upto: int
    changes: tuple[Change, ...]
    lean: int
    pictured: bool
    failures: int
