"""Runs the checks on queries: each query is parsed once, what is known is gathered once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from specwatch_alerts.lint import EXPECTED
from specwatch_alerts.promql_tree import Node
from specwatch_dashboards.metric_check import recorded_names
from specwatch_dashboards.source import Source
from specwatch_deploy.doctor.asked import Asked, asked
from specwatch_deploy.doctor.check_copies import copies
from specwatch_deploy.doctor.check_kinds import created, kinds, rates_of_sums, ratios_summed, sums_alone
from specwatch_deploy.doctor.check_labels import labels
from specwatch_deploy.doctor.check_matching import sides
from specwatch_deploy.doctor.check_metrics import metrics, on_workers, with_new_names
from specwatch_deploy.doctor.check_prometheus import live_checks, present_names
from specwatch_deploy.doctor.check_quantiles import beyond_one, quantiles
from specwatch_deploy.doctor.check_shape import absent_zero, nan, ratios, waits, windows
from specwatch_deploy.doctor.check_speculation import divisors, mixed, per_step, zeros
from specwatch_deploy.doctor.check_thresholds import thresholds
from specwatch_deploy.doctor.check_units import units
from specwatch_deploy.doctor.engine import Engine
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.input_error import InputError
from specwatch_deploy.doctor.inputs import Inputs, PrometheusError
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.query import Role
from specwatch_deploy.doctor.scaler_trigger import query_tree
from specwatch_deploy.doctor.subject import asks_about_serving

QUERY_CHECKS: Final[tuple[Callable[[Asked, Knowledge], Iterator[Finding]], ...]] = (
    absent_zero,
    beyond_one,
    copies,
    created,
    divisors,
    kinds,
    labels,
    metrics,
    mixed,
    nan,
    on_workers,
    per_step,
    quantiles,
    rates_of_sums,
    ratios,
    ratios_summed,
    sides,
    sums_alone,
    thresholds,
    units,
    waits,
    windows,
    zeros,
)

OF_SERVING: Final = frozenset({absent_zero, ratios, waits, windows})
"""Checks of habits, which say nothing of other exporters' series."""


def check_queries(inputs: Inputs) -> Iterator[Finding]:
    """Findings on every query of the inputs.

    Raises:
        InputError: Prometheus stops answering.
    """
    readable: list[Asked] = []
    for query in inputs.queries:
        one = asked(query)
        if isinstance(one, Finding):
            yield one
        elif one is not None:
            readable.append(one)
    try:
        known = knowledge(inputs, readable)
        for one in readable:
            yield from _findings(one, known)
        if inputs.prometheus is not None:
            yield from live_checks(readable, known, inputs.prometheus)
    except PrometheusError as error:
        raise InputError(f"--prometheus: {error}") from error


def _findings(one: Asked, known: Knowledge) -> Iterator[Finding]:
    """Findings on one query; what mends one fault does not keep a name that is another."""
    serving = asks_about_serving(one, known)
    for check in QUERY_CHECKS:
        for finding in check(one, known) if serving or check not in OF_SERVING else ():
            mended = finding.mended
            if mended and check is not metrics:
                mended = with_new_names(one, known, mended)
            yield replace(finding, mended=mended)


def knowledge(inputs: Inputs, readable: list[Asked]) -> Knowledge:
    """What is known of the series, the recorded ones among them.

    Raises:
        PrometheusError: it does not answer.
    """
    engines: dict[str, tuple[Engine, ...]] = {}
    for engine in inputs.engines:
        engines[engine.name] = (*engines.get(engine.name, ()), engine)
    present = frozenset[str]() if inputs.prometheus is None else present_names(readable, inputs.prometheus)
    recorded = {one.query.name: None for one in readable if one.query.role is Role.RECORDING}
    ours = EXPECTED | recorded_names(Source.SIDECAR) | recorded_names(Source.ENGINE)
    return Knowledge(inputs.scrape_s, recorded, ours, engines, present, _rules(inputs))


def _rules(inputs: Inputs) -> dict[str, tuple[Node, ...]]:
    """What the recorded series are made of, by name; a name may be recorded by several rules."""
    found: dict[str, tuple[Node, ...]] = {}
    for query in inputs.queries:
        tree = query_tree(query.text) if query.role is Role.RECORDING else None
        if tree is not None:
            found[query.name] = (*found.get(query.name, ()), tree)
    return found
