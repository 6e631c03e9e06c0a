"""Gaps between chunks of one answer, kept until the number of its tokens is known."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

KEPT = 4096
_MAX_EVENTS = 0xFFFF


class TokenSample(NamedTuple):
    """Tokens that came together.

    Attributes:
        batch: index of the batch bucket.
        tokens: how many, 0 or more.
        gap: seconds after the ones before them, or of all the gaps that the sample stands for.
        value: seconds per token.
    """

    batch: int
    tokens: int
    gap: float
    value: float


class TokenGaps:
    """Keeps one gap per chunk; behind the first 4,096 only their number and their sum per batch bucket.

    So memory stays below 50 KB an answer. What is only summed up is spread evenly: its mean is exact, its tails are
    flat.
    """

    __slots__ = ("_batches", "_events", "_gaps", "_rest", "events")

    def __init__(self) -> None:
        self._gaps = array("d")
        self._events = array("H")
        self._batches = bytearray()
        self._rest: dict[int, tuple[int, float]] = {}
        self.events = 0

    def add(self, gap: float, events: int, batch: int) -> None:
        """A chunk came.

        Args:
            gap: seconds since the one before it.
            events: events of the stream that it consists of.
            batch: index of the batch bucket at that time.
        """
        self.events += events
        if len(self._gaps) < KEPT and events <= _MAX_EVENTS:
            self._gaps.append(gap)
            self._events.append(events)
            self._batches.append(batch)
        else:
            seen, total = self._rest.get(batch, (0, 0.0))
            self._rest[batch] = (seen + events, total + gap)

    def samples(self, tokens: int, per_event: Sequence[int] = ()) -> Iterator[TokenSample]:
        """Share the tokens out.

        Args:
            tokens: all tokens of these chunks.
            per_event: tokens of each event, in order, where the engine told them; used if there is one per event
                and they suffice. The last ones may be more than were sent: the answer's end cuts them.

        Yields:
            One sample per chunk whose tokens are whole numbers that add up to `tokens`; without `per_event` each
            event counts the same.
        """
        if not self.events or tokens <= 0:
            return
        exact = len(per_event) == self.events and sum(per_event[:-1]) <= tokens <= sum(per_event)
        share = tokens / self.events
        seen = 0
        given = 0
        for gap, events, batch in zip(self._gaps, self._events, self._batches, strict=True):
            if exact:
                own = min(sum(per_event[seen : seen + events]), tokens - given)
                yield TokenSample(batch, own, gap, gap / own if own else gap)
            else:
                own = round((seen + events) * share) - given
                yield TokenSample(batch, own, gap, gap / (events * share))
            seen += events
            given += own
        for batch, (events, total) in self._rest.items():
            own = round((seen + events) * share) - given
            yield TokenSample(batch, own, total, total / (events * share))
            seen += events
            given += own
