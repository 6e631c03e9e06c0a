"""Verdicts on latencies as Prometheus families."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from specwatch_detectors.reading import DriftState
from specwatch_detectors.sidecar_latency import SignalReading
from specwatch_exporters import drift_catalog


def families(readings: Mapping[str, Sequence[SignalReading]]) -> Iterator[Metric]:
    """All latency-drift metrics of some models; what is unknown has no sample.

    Args:
        readings: by model name.
    """
    row = drift_catalog.SIGNAL_STATE
    state = GaugeMetricFamily(row.name, row.help, labels=row.labels)
    row = drift_catalog.SIGNAL_SCORE
    score = GaugeMetricFamily(row.name, row.help, labels=row.labels)
    row = drift_catalog.SIGNAL_ALARMS
    alarms = CounterMetricFamily(row.family, row.help, labels=row.labels)
    for model, own in sorted(readings.items()):
        for reading in own:
            for one in DriftState:
                state.add_metric([model, reading.signal, one.value], 1.0 if one is reading.state else 0.0)
            if reading.score is not None:
                score.add_metric([model, reading.signal], reading.score)
            alarms.add_metric([model, reading.signal], reading.alarms)
    yield from (family for family in (state, score, alarms) if family.samples)
