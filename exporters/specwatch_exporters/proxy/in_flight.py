"""Requests under way by class, and the age of the oldest that has no token yet."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from specwatch_exporters import request_catalog
from specwatch_exporters.metric import Metric as Row


class InFlight(Collector):
    """Keeps count as requests come and go, and exports both gauges when scraped.

    A request that waits for its first token stands in a queue of its class, in order of arrival, so the oldest is
    the first: every operation takes constant time. Scraping happens in another thread.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._count: dict[str, int] = {}
        self._waiting: dict[str, OrderedDict[object, float]] = {}

    def arrive(self, key: object, traffic_class: str, since: float, *, waits: bool) -> None:
        """A request is under way.

        Args:
            key: identifies the request in the other calls.
            traffic_class: its class's label.
            since: time of its arrival; requests of a class arrive in this order.
            waits: whether its first token will be seen: it is streamed.
        """
        with self._lock:
            self._count[traffic_class] = self._count.get(traffic_class, 0) + 1
            queue = self._waiting.setdefault(traffic_class, OrderedDict())
            if waits:
                queue[key] = since

    def first_token(self, key: object, traffic_class: str) -> None:
        """It has its first token."""
        with self._lock:
            self._waiting[traffic_class].pop(key, None)

    def leave(self, key: object, traffic_class: str) -> None:
        """It has ended."""
        with self._lock:
            self._count[traffic_class] -= 1
            self._waiting[traffic_class].pop(key, None)

    @property
    def total(self) -> int:
        """Requests under way in all classes."""
        with self._lock:
            return sum(self._count.values())

    def snapshot(self) -> list[tuple[str, int, float]]:
        """Class, requests under way, and seconds that the oldest has waited, per class seen so far."""
        with self._lock:
            now = self._clock()
            return [
                (name, count, max(0.0, now - _first(self._waiting[name], now)))
                for name, count in sorted(self._count.items())
            ]

    def collect(self) -> Iterator[Metric]:
        """Both gauges (prometheus_client)."""
        in_flight, oldest = _family(request_catalog.IN_FLIGHT), _family(request_catalog.OLDEST_WAITING)
        for name, count, waited in self.snapshot():
            in_flight.add_metric([name], count)
            oldest.add_metric([name], waited)
        yield in_flight
        yield oldest

    def describe(self) -> list[Metric]:
        """Names only, so that registering does not collect (prometheus_client)."""
        return [_family(request_catalog.IN_FLIGHT), _family(request_catalog.OLDEST_WAITING)]


def _first(queue: OrderedDict[object, float], now: float) -> float:
    return next(iter(queue.values()), now)


def _family(row: Row) -> GaugeMetricFamily:
    return GaugeMetricFamily(row.name, row.help, labels=row.labels)
