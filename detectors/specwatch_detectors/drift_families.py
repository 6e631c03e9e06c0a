"""Readings of the detectors as Prometheus families, for the scrape sidecar and the fleet watch alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.reading import DriftState, Reading
from specwatch_exporters import drift_catalog
from specwatch_exporters.metric import Metric as Row

_WHOLE = ""
"""Traffic class of the verdict on the model."""


def families(readings: Mapping[str, ModelReading]) -> Iterator[Metric]:
    """All drift metrics of some models; what is unknown has no sample.

    Args:
        readings: by model name.
    """
    rows = [(model, name, reading) for model, whole in sorted(readings.items()) for name, reading in _rows(whole)]
    state, score = _gauge(drift_catalog.STATE), _gauge(drift_catalog.SCORE)
    over, baseline = _gauge(drift_catalog.OVER), _gauge(drift_catalog.BASELINE)
    alarms = CounterMetricFamily(
        drift_catalog.ALARMS.family, drift_catalog.ALARMS.help, labels=drift_catalog.ALARMS.labels
    )
    for model, name, reading in rows:
        for one in DriftState:
            state.add_metric([model, name, one.value], 1.0 if one is reading.state else 0.0)
        alarms.add_metric([model, name], reading.alarms)
        if reading.score is not None:
            score.add_metric([model, name], reading.score)
        if reading.over is not None:
            over.add_metric([model, name], reading.over)
        if reading.baseline_length is not None:
            baseline.add_metric([model, name], reading.baseline_length)
    mix, design, calibrated = (
        _gauge(row) for row in (drift_catalog.MIX_SHIFT, drift_catalog.DESIGN, drift_catalog.CALIBRATED)
    )
    for model, whole in sorted(readings.items()):
        mix.add_metric([model], 1.0 if whole.mix_shift else 0.0)
        calibrated.add_metric([model], 1.0 if whole.verdict.calibrated else 0.0)
        if whole.verdict.design is not None:
            design.add_metric([model], whole.verdict.design)
    found = (state, score, over, alarms, mix, baseline, design, calibrated)
    yield from (family for family in found if family.samples)


def _rows(whole: ModelReading) -> Iterator[tuple[str, Reading]]:
    yield _WHOLE, whole.verdict
    yield from sorted(whole.classes.items())


def _gauge(row: Row) -> GaugeMetricFamily:
    return GaugeMetricFamily(row.name, row.help, labels=row.labels)
