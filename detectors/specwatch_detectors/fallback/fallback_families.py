"""The controller as Prometheus families; what is unknown has no sample."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from specwatch_detectors.fallback.controller_memory import Memory
from specwatch_detectors.fallback.controller_view import ControllerView
from specwatch_exporters import fallback_catalog
from specwatch_exporters.metric import Metric as Row


def families(view: ControllerView) -> Iterator[Metric]:
    """All metrics of one controller."""
    found = [*_process(view), *_lever(view)]
    if view.memory is not None:
        found.extend(_state(view, view.memory))
        found.extend(_counts(view.model, view.memory))
    yield from (family for family in found if family.samples)


def _process(view: ControllerView) -> Iterator[Metric]:
    yield _one(fallback_catalog.ACTING, view.model, view.acting)
    yield _one(fallback_catalog.LEADER, view.model, view.leading)
    trouble = _gauge(fallback_catalog.TROUBLE)
    for kind in sorted(view.troubles):
        trouble.add_metric([view.model, kind], 1.0)
    yield trouble
    if view.at:
        yield _one(fallback_catalog.ROUND_TIME, view.model, view.at)


def _lever(view: ControllerView) -> Iterator[Metric]:
    share = _gauge(fallback_catalog.SHARE)
    for level in view.settings.levels if view.position is not None else ():
        share.add_metric([view.model, level.value], view.position.shares.get(level, 0.0) if view.position else 0.0)
    yield share


def _state(view: ControllerView, memory: Memory) -> Iterator[Metric]:
    level = _gauge(fallback_catalog.LEVEL)
    for one in view.settings.levels:
        level.add_metric([view.model, one.value], 1.0 if one is memory.policy.level else 0.0)
    yield level
    yield _one(fallback_catalog.REGRET, view.model, memory.policy.regret_s)
    yield _one(fallback_catalog.LATCHED, view.model, memory.policy.latched)
    yield _one(fallback_catalog.PROBE, view.model, memory.policy.probe_began is not None)
    yield _one(fallback_catalog.MOVING, view.model, memory.transition is not None)
    left = max(0, view.settings.flips_per_day - len(memory.policy.flips))
    yield _one(fallback_catalog.SWITCHES_LEFT, view.model, left)
    veto = _gauge(fallback_catalog.VETO)
    if memory.veto:
        veto.add_metric([view.model, memory.veto], 1.0)
    yield veto
    if memory.decided:
        yield _one(fallback_catalog.DECISION_TIME, view.model, memory.decided)


def _counts(model: str, memory: Memory) -> Iterator[Metric]:
    moves, refusals = _counter(fallback_catalog.TRANSITIONS), _counter(fallback_catalog.REFUSED)
    for key, count in sorted(memory.moves.items()):
        moves.add_metric([model, *key.split(" ")], count)
    for veto, count in sorted(memory.refusals.items()):
        refusals.add_metric([model, veto], count)
    yield moves
    yield refusals


def _one(row: Row, model: str, value: float) -> GaugeMetricFamily:
    family = _gauge(row)
    family.add_metric([model], float(value))
    return family


def _gauge(row: Row) -> GaugeMetricFamily:
    return GaugeMetricFamily(row.name, row.help, labels=row.labels)


def _counter(row: Row) -> CounterMetricFamily:
    return CounterMetricFamily(row.family, row.help, labels=row.labels)
