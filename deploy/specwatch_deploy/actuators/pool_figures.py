"""What is counted of the requests of a pool, and how one level did after a movement against before it."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import add
from typing import Any, Final, Self

from specwatch_deploy.actuators.health_change import HealthChange

BEFORE_S: Final = 300.0
"""Span before a movement that it is compared with: long enough for hundreds of requests, short enough to be now."""
_FAILED: Final = ("error", "cut", "unreachable")
_P99: Final = 0.99


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """Counts of one pool, or of several together; from a start on, or over a span.

    Attributes:
        ended: requests that tell something: neither refused by the engine nor left by their client.
        failed: of those that failed, and of those that had to go elsewhere because the pool could not be reached.
        unreachable: of the failed, those that did not reach the pool.
        edges: upper edges in seconds (a request sidecar's pools: per output token), the last one infinite.
        latencies: requests per bucket.
    """

    ended: int = 0
    failed: int = 0
    unreachable: int = 0
    edges: tuple[float, ...] = ()
    latencies: tuple[int, ...] = ()

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """One pool of the answer to `GET /pools`.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        outcomes, passed_over = body["outcomes"], int(body["passed_over"])
        failed = sum(int(outcomes[name]) for name in _FAILED) + passed_over
        pairs = [(float(edge), int(count)) for edge, count in body["token_latency"]["buckets"]]
        cumulative = [0, *(count for _, count in pairs)]
        return cls(
            int(outcomes["success"]) + failed,
            failed,
            int(outcomes["unreachable"]) + passed_over,
            tuple(edge for edge, _ in pairs),
            tuple(more - less for less, more in pairwise(cumulative)),
        )

    def since(self, earlier: Self) -> Self:
        """What came on top of earlier counts."""
        before = earlier.latencies or (0,) * len(self.latencies)
        latencies = tuple(now - was for now, was in zip(self.latencies, before, strict=True))
        missed = self.unreachable - earlier.unreachable
        return type(self)(self.ended - earlier.ended, self.failed - earlier.failed, missed, self.edges, latencies)

    def plus(self, other: Self) -> Self:
        """Both together; latencies in other buckets cannot be added, and are then unknown."""
        edges, latencies = self.edges or other.edges, self.latencies or other.latencies
        if self.edges and other.edges:
            same = self.edges == other.edges
            edges = self.edges if same else ()
            latencies = tuple(map(add, self.latencies, other.latencies)) if same else ()
        missed = self.unreachable + other.unreachable
        return type(self)(self.ended + other.ended, self.failed + other.failed, missed, edges, latencies)

    @property
    def error_rate(self) -> float | None:
        """Failed over all; None without any."""
        return self.failed / self.ended if self.ended > 0 else None

    def p99_s(self, least: int) -> float | None:
        """Seconds (of the edges' kind) that one request in a hundred exceeds; None with fewer than `least`.

        Inside a bucket requests are taken as evenly spread; beyond the last edge it is that edge.
        """
        total = sum(self.latencies)
        if total < max(1, least):
            return None
        ranks, reached = [], 0
        for count in self.latencies:
            reached += count
            ranks.append(reached)
        wanted = _P99 * total
        at = bisect_left(ranks, wanted)
        low = self.edges[at - 1] if at else 0.0
        high = self.edges[at] if self.edges[at] < float("inf") else low
        inside = (wanted - (ranks[at] - self.latencies[at])) / self.latencies[at]
        return low + (high - low) * inside


PoolCounts = Mapping[str, PoolFigures]
"""By the name of the pool."""


class PoolComparison:
    """Keeps what is needed to compare: the counts of the last minutes, and those at the last movement.

    Args:
        clock: monotonic seconds.
        least: fewest requests that a p99 is made of.
    """

    def __init__(self, clock: Callable[[], float], least: int) -> None:
        self._clock = clock
        self._least = least
        self._recent: deque[tuple[float, PoolCounts]] = deque()
        self._at_movement: PoolCounts | None = None
        self._before: PoolFigures | None = None

    def see(self, counts: PoolCounts) -> None:
        """Take the counts of this moment; after a restart of the sidecar everything begins anew."""
        now = self._clock()
        if self._recent and _fell(self._recent[-1][1], counts):
            self._recent.clear()
            self._at_movement = self._before = None
        while len(self._recent) > 1 and self._recent[1][0] <= now - BEFORE_S:
            self._recent.popleft()
        self._recent.append((now, counts))

    def moved(self, counts: PoolCounts, used: Iterable[str], *, first: bool) -> None:
        """Traffic was moved.

        Args:
            counts: of this moment.
            used: pools that had traffic before.
            first: from a position of rest; else from a step of the same movement, which is compared with the same
                time before.
        """
        if first or self._before is None:
            spans = [counts[pool].since(self._recent[0][1][pool]) for pool in used] if self._recent else []
            self._before = _together(spans)
        self._at_movement = counts

    def change(self, pools: Sequence[str]) -> HealthChange | None:
        """How these pools did since the last movement; None if none is known."""
        if self._at_movement is None or self._before is None or not self._recent:
            return None
        now = self._recent[-1][1]
        after = _together([now[pool].since(self._at_movement[pool]) for pool in pools])
        return HealthChange(
            requests=after.ended,
            error_rate_before=self._before.error_rate,
            error_rate_after=after.error_rate,
            p99_before_s=self._before.p99_s(self._least),
            p99_after_s=after.p99_s(self._least),
            unit="s per token",
            unreachable=after.unreachable,
        )


def _together(parts: Iterable[PoolFigures]) -> PoolFigures:
    whole = PoolFigures()
    for part in parts:
        whole = whole.plus(part)
    return whole


def _fell(earlier: PoolCounts, later: PoolCounts) -> bool:
    return set(earlier) != set(later) or any(later[pool].ended < earlier[pool].ended for pool in earlier)
