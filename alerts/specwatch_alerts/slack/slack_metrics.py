"""The receiver's own metrics, from the rows of the catalogue."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from specwatch_alerts.slack.database import Database
from specwatch_alerts.slack.trouble_board import TroubleBoard
from specwatch_exporters import slack_catalog
from specwatch_exporters.metric import Metric as Row


class SlackMetrics(Collector):
    """Counts what this process did and reads the queue when it is asked; for several threads.

    Args:
        database: the queue, a connection of its own.
        troubles: what fails.
        sending: whether this process sends.
        clock: epoch seconds.
    """

    def __init__(
        self, database: Database, troubles: TroubleBoard, sending: Callable[[], bool], clock: Callable[[], float]
    ) -> None:
        self._database = database
        self._troubles = troubles
        self._sending = sending
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._reading = threading.Lock()

    def count(self, row: Row, *labels: str, by: int = 1) -> None:
        """Count something."""
        with self._lock:
            self._counts[row.name, labels] += by

    def queue(self) -> tuple[int, float | None]:
        """Groups that wait, and seconds that the oldest waits.

        Raises:
            sqlite3.Error: the queue cannot be read.
        """
        with self._reading, self._database.snapshot() as connection:
            depth, since = connection.execute(
                "SELECT count(*), min(dirty) FROM groups WHERE dirty IS NOT NULL"
            ).fetchone()
        return int(depth), None if since is None else max(0.0, self._clock() - since)

    def collect(self) -> Iterator[Metric]:
        """All metrics; of the queue none while it cannot be read."""
        with self._lock:
            counts = dict(self._counts)
        for row in (slack_catalog.DELIVERIES, slack_catalog.ALERTS, slack_catalog.CALLS, slack_catalog.ACTIONS):
            family = CounterMetricFamily(row.family, row.help, labels=row.labels)
            for (name, labels), value in sorted(counts.items()):
                if name == row.name:
                    family.add_metric(labels, value)
            yield family
        yield from self._queue_families()
        trouble = GaugeMetricFamily(slack_catalog.TROUBLE.name, slack_catalog.TROUBLE.help, labels=("kind",))
        for kind in sorted(self._troubles.kinds()):
            trouble.add_metric([kind], 1.0)
        yield trouble
        yield _one(slack_catalog.SENDING, float(self._sending()))

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering must not read the queue."""
        return iter(())

    def _queue_families(self) -> Iterator[Metric]:
        try:
            depth, age = self.queue()
        except sqlite3.Error:
            return
        yield _one(slack_catalog.QUEUE_DEPTH, float(depth))
        if age is not None:
            yield _one(slack_catalog.QUEUE_AGE, age)


def _one(row: Row, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(row.name, row.help, value=value)
