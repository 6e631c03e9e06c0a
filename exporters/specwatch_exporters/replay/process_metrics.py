"""Process metrics of a process that can start again without ending."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.metrics_core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector


class RestartableProcess(Collector):
    """prometheus_client's process metrics, with start time and processor time of the replay's last start.

    Args:
        started: start of the pretended process, seconds since the epoch.
    """

    def __init__(self, started: float) -> None:
        self._real = ProcessCollector(registry=None)
        self._started = started
        self._cpu_before = self._cpu_seconds()

    def collect(self) -> Iterable[Metric]:
        """The families `process_*`; on a system without /proc only the start time."""
        families = list(self._real.collect())
        if not families:
            families = [Metric("process_start_time_seconds", "Start of the process since unix epoch.", "gauge")]
            families[0].add_sample("process_start_time_seconds", {}, self._started)
        for family in families:
            if family.name == "process_start_time_seconds":
                _put(family, self._started)
            elif family.name == "process_cpu_seconds":
                _put(family, max(family.samples[0].value - self._cpu_before, 0.0))
        return families

    def _cpu_seconds(self) -> float:
        for family in self._real.collect():
            if family.name == "process_cpu_seconds":
                return float(family.samples[0].value)
        return 0.0


def _put(family: Metric, value: float) -> None:
    family.samples = [family.samples[0]._replace(value=value)]
