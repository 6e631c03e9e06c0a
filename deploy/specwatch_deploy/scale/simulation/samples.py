"""What a simulated Prometheus keeps: one sample per scrape, and the windows over them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_deploy.scale.simulation.engine_counters import EngineCounters

KEEP_S: Final = 900.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One scrape of all pods.

    Attributes:
        at: seconds.
        running: requests in the batch, by pod.
        waiting: requests in the queue, by pod.
        kv: used shares of KV caches, added up.
        oldest: age of the oldest request without a token, seconds.
        counters: of all pods.
    """

    at: float
    running: Mapping[int, int]
    waiting: Mapping[int, int]
    kv: float
    oldest: float
    counters: EngineCounters

    @property
    def pods(self) -> int:
        """Pods that answered."""
        return len(self.running)

    @property
    def all_running(self) -> int:
        """In all batches."""
        return sum(self.running.values())

    @property
    def all_waiting(self) -> int:
        """In all queues."""
        return sum(self.waiting.values())


class Samples:
    """The last samples."""

    def __init__(self) -> None:
        self._kept: deque[Sample] = deque()

    def add(self, sample: Sample) -> None:
        """Keep a scrape."""
        self._kept.append(sample)
        while self._kept[0].at <= sample.at - KEEP_S:
            self._kept.popleft()

    def forget(self) -> None:
        """Lose everything."""
        self._kept.clear()

    @property
    def last(self) -> Sample | None:
        """The newest."""
        return self._kept[-1] if self._kept else None

    def window(self, at: float, seconds: float) -> list[Sample]:
        """Those of a window that ends now; open on the left, as in Prometheus 3."""
        found = []
        for sample in reversed(self._kept):
            if sample.at <= at - seconds:
                break
            if sample.at <= at:
                found.append(sample)
        return found[::-1]


def rate(window: Sequence[Sample], of: Callable[[EngineCounters], float]) -> float | None:
    """Increase per second of a counter; None below two samples."""
    if len(window) < 2:
        return None
    first, last = window[0], window[-1]
    return (of(last.counters) - of(first.counters)) / (last.at - first.at)


def slope(window: Sequence[Sample], of: Callable[[Sample], float]) -> float | None:
    """Least-squares slope of a gauge per second, as `deriv`; None below two samples."""
    if len(window) < 2:
        return None
    points = [(sample.at, of(sample)) for sample in window]
    mean_t = sum(at for at, _ in points) / len(points)
    mean_v = sum(value for _, value in points) / len(points)
    above = sum((at - mean_t) * (value - mean_v) for at, value in points)
    return above / sum((at - mean_t) ** 2 for at, _ in points)


def quantile(
    share: float, window: Sequence[Sample], of: Callable[[EngineCounters], list[int]], edges: Sequence[float]
) -> float | None:
    """`histogram_quantile(share, rate(...))`; None without a sample in the window."""
    if len(window) < 2:
        return None
    counts = [b - a for a, b in zip(of(window[0].counters), of(window[-1].counters), strict=True)]
    rank, below = share * sum(counts), 0.0
    if rank <= 0.0:
        return None
    for index, count in enumerate(counts[:-1]):
        if below + count >= rank:
            low = edges[index - 1] if index else 0.0
            return low + (edges[index] - low) * (rank - below) / count
        below += count
    return edges[-1]
