"""Payoff reports as Prometheus families; what is unknown has no sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from specwatch_detectors.payoff.payoff_reading import PayoffReport
from specwatch_exporters import payoff_catalog
from specwatch_exporters.metric import Metric as Row


def families(reports: Iterable[PayoffReport]) -> Iterator[Metric]:
    """All payoff metrics of some models.

    Args:
        reports: one per model.
    """
    speedup, break_even = _gauge(payoff_catalog.SPEEDUP), _gauge(payoff_catalog.BREAK_EVEN)
    tax, info = _gauge(payoff_catalog.IDLE_TAX), _gauge(payoff_catalog.INFO)
    row = payoff_catalog.REJECTED_SECONDS
    rejected = CounterMetricFamily(row.family, row.help, labels=row.labels)
    for report in sorted(reports, key=lambda one: one.model):
        for reading in report.readings:
            if reading.break_even is not None:
                break_even.add_metric([report.model, reading.batch], reading.break_even)
            if reading.speedup is not None:
                for bound in ("lower", "estimate", "upper"):
                    speedup.add_metric([report.model, reading.batch, bound], getattr(reading.speedup, bound))
        if report.rejected_seconds is not None:
            rejected.add_metric([report.model], report.rejected_seconds)
        if report.idle_tax is not None:
            tax.add_metric([report.model], report.idle_tax)
        if report.profile is not None and report.basis is not None:
            info.add_metric([report.model, report.profile, report.basis.value], 1.0)
    yield from (family for family in (speedup, break_even, rejected, tax, info) if family.samples)


def _gauge(row: Row) -> GaugeMetricFamily:
    return GaugeMetricFamily(row.name, row.help, labels=row.labels)
