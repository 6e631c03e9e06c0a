"""What happened to an engine, with times, and from when on that is known: kept over restarts of the watch."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from specwatch_detectors.explain.event import Event, EventKind
from specwatch_detectors.reading import Change

MAX_EVENTS: Final = 20


class EngineEvents:
    """The last changes of one engine.

    A change is noted when it is noticed and dated by the next drafts: whenever it came, what they show began with
    it.
    """

    def __init__(self) -> None:
        self.watched_since = math.inf
        """Seconds; earlier events may be missing."""
        self.dated = 0
        """Events dated so far."""
        self._events: deque[tuple[float, Change]] = deque()
        self._undated: list[Change] = []

    def begin(self, now: float) -> None:
        """The first look at the engine; times in the future, kept by a clock that was ahead, are moved to now."""
        self._events = deque((min(at, now), change) for at, change in self._events)
        self.watched_since = min(self.watched_since, now)

    def note(self, change: Change) -> None:
        """A change was noticed."""
        self._undated.append(change)

    def date(self, at: float) -> None:
        """Drafts of the changed engine began after this time."""
        changes, self._undated = self._undated, []
        self._events.extend((at, change) for change in changes)
        self.dated += len(changes)
        while len(self._events) > MAX_EVENTS:
            self.watched_since = max(self.watched_since, self._events.popleft()[0])

    def listed(self) -> list[Event]:
        """The events, oldest first."""
        return [Event(EventKind(change.value), at) for at, change in self._events]

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "watched_since": self.watched_since,
            "events": [[at, change.value] for at, change in self._events],
            "undated": [change.value for change in self._undated],
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> EngineEvents:
        """Go on from what `state` gave; what is wrong with another form is an error of `kept_part.MALFORMED`."""
        events = cls()
        events.watched_since = float(state["watched_since"])
        events._events.extend((float(at), Change(value)) for at, value in list(state["events"])[-MAX_EVENTS:])
        events._undated.extend(Change(value) for value in list(state["undated"])[-MAX_EVENTS:])
        return events
