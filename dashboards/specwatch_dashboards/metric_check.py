"""Refuses queries over metrics that neither the catalogue, an engine, a rule nor a stated other exporter has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from specwatch_alerts.metric_facts import facts_of
from specwatch_alerts.origin import Origin
from specwatch_alerts.promql import PromQLError, parse
from specwatch_alerts.promql_tree import selectors
from specwatch_alerts.recording import load_recordings
from specwatch_alerts.slo import event_rules, objectives
from specwatch_alerts.values import load_values
from specwatch_dashboards.grafana.plain_json import Json
from specwatch_dashboards.source import Source
from specwatch_exporters.catalog import BY_NAME
from specwatch_exporters.catalog import Source as MetricSource

# What Grafana puts in. Durations that nobody writes, so that a query can be parsed.
_DURATIONS: Final = {"$__rate_interval": "3211789ms", "$__range": "86399321ms", "$__interval": "1217783ms"}
_LABEL_VALUES: Final = re.compile(r"label_values\((.+), (\w+)\)")
# Recorded by the rules of `specwatch scale build`, which come with each scaler.
FROM_SCALING: Final = frozenset(
    {
        "specwatch:scale_demand:replicas",
        "specwatch:scale_demand_part:replicas",
        "specwatch:scale_freed_by_cutting:replicas",
    }
)
# Recorded with every objective.
_BUDGET: Final = "specwatch:slo_budget:ratio"
_ORIGINS: Final = {Source.SIDECAR: (Origin.SIDECAR,), Source.ENGINE: (Origin.VLLM, Origin.SGLANG)}


class UnknownMetricError(ValueError):
    """A query cannot be parsed or reads a metric that nobody knows; the message is one line."""


def check_metrics(dashboard: Json, source: Source) -> None:
    """Check every query of a dashboard.

    Raises:
        UnknownMetricError: see there.
    """
    recorded = recorded_names(source)
    for where, query in queries_of(dashboard):
        try:
            names = {selector.name for selector in selectors(parse(parsable(query)))}
        except PromQLError as error:
            raise UnknownMetricError(f"{where}: {error}") from error
        for name in sorted(names - recorded):
            if facts_of(name) is None:
                raise UnknownMetricError(f"{where}: nobody exports or records {name or 'a series without a name'}")
            if source is Source.ENGINE and _of_sidecar_alone(name):
                raise UnknownMetricError(f"{where}: {name} is of the scrape sidecar, which is not there")


def _of_sidecar_alone(name: str) -> bool:
    metric = BY_NAME.get(name)
    return metric is not None and metric.source == MetricSource.SCRAPE


def recorded_names(source: Source) -> frozenset[str]:
    """Names that the recording rules make of a source."""
    origins = _ORIGINS[source]
    names = {
        rule.record
        for rules in load_recordings().values()
        for rule in rules
        if any(rule.expression(origin) is not None for origin in origins)
    }
    values = load_values()
    for origin in origins:
        names.update(
            record
            for objective in objectives()
            if objective.has(origin)
            for record, _ in event_rules(objective, values, origin)
        )
    return frozenset(names | FROM_SCALING | {_BUDGET})


def queries_of(dashboard: Json) -> Iterator[tuple[str, str]]:
    """Every query with the place where it stands: panels, those of collapsed rows, variables, annotations."""
    title = dashboard["title"]
    for panel in panels_of(dashboard):
        for target in panel.get("targets", ()):
            yield f"{title}, {panel['title']}", target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            series, _ = label_values(variable["query"]["query"])
            yield f"{title}, variable {variable['name']}", series
    for event in dashboard["annotations"]["list"]:
        if "expr" in event:
            yield f"{title}, annotation {event['name']}", event["expr"]


def label_values(query: str) -> tuple[str, str]:
    """Series and label of a variable's query.

    Raises:
        UnknownMetricError: it asks for the values of a label over all series.
    """
    found = _LABEL_VALUES.fullmatch(query)
    if found is None:
        raise UnknownMetricError(f"{query}: write label_values(series, label); without series all are scanned")
    return found.group(1), found.group(2)


def panels_of(dashboard: Json) -> Iterator[dict[str, Any]]:
    """Every panel, rows included, those inside collapsed rows too."""
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", ())


def parsable(query: str) -> str:
    """The query with Grafana's variables replaced: durations by odd durations, the rest by their names."""
    for name, duration in _DURATIONS.items():
        query = query.replace(name, duration)
    return re.sub(r"(?<![\w\"])\$(\w+)(?![\w\"])", "1", query)
