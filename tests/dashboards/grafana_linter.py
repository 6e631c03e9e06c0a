"""The 17 rules of Grafana's dashboard-linter, written anew over promql-parser.

Rules work on a dashboard's JSON and give one line per finding. Variables in queries become durations that nobody
writes before they are parsed, so that `$__rate_interval` can be told from a fixed window.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from specwatch_alerts.promql import PromQLError, parse
from specwatch_alerts.promql_tree import Call, Node, Selector, selectors, walk
from specwatch_dashboards.metric_check import panels_of, parsable

Json = dict[str, Any]
Rule = Callable[[Json], Iterator[str]]
# What `parsable` writes for $__rate_interval, in seconds.
RATE_INTERVAL_S: Final = 3211.789
UNITS: Final = frozenset(
    {
        "none",
        "s",
        "ms",
        "percent",
        "percentunit",
        "reqps",
        "cps",
        "ops",
        "short",
        "bytes",
        "watt",
        "currencyUSD",
        "bool",
    }
)
_NOT_DRAWN: Final = frozenset({"row", "text"})
_DATASOURCES: Final = frozenset({"$datasource", "${datasource}"})


def _variables(dashboard: Json, kind: str) -> list[Json]:
    return [one for one in dashboard["templating"]["list"] if one["type"] == kind]


def _queries(dashboard: Json) -> Iterator[tuple[str, str]]:
    for panel in panels_of(dashboard):
        for target in panel.get("targets", ()):
            yield f"{panel['title']} {target['refId']}", target["expr"]


def _parsed(dashboard: Json) -> Iterator[tuple[str, Node]]:
    for where, expr in _queries(dashboard):
        try:
            yield where, parse(parsable(expr))
        except PromQLError:
            continue  # target-promql-rule says so


def template_datasource(dashboard: Json) -> Iterator[str]:
    found = _variables(dashboard, "datasource")
    if len(found) != 1:
        yield f"{len(found)} data source variables, not one"
    for one in found:
        if one["name"] != "datasource":
            yield f"the data source variable is called {one['name']}, not datasource"
        if one["label"] != "Data Source":
            yield f"the data source variable is labelled {one['label']}, not Data Source"


def _template_target(dashboard: Json, name: str) -> Iterator[str]:
    found = [one for one in dashboard["templating"]["list"] if one["name"] == name]
    if not found:
        yield f"no variable {name}"
    for one in found:
        wanted = {"label": name.capitalize(), "type": "query", "multi": True, "allValue": ".+"}
        yield from (
            f"variable {name}: {key} is not {value}" for key, value in wanted.items() if one.get(key) != value
        )


def template_job(dashboard: Json) -> Iterator[str]:
    yield from _template_target(dashboard, "job")


def template_instance(dashboard: Json) -> Iterator[str]:
    yield from _template_target(dashboard, "instance")


def template_label_promql(dashboard: Json) -> Iterator[str]:
    for one in _variables(dashboard, "query"):
        found = re.fullmatch(r"label_values\((.+), ?\w+\)", one["query"]["query"])
        if found is None:
            yield f"variable {one['name']}: no label_values(series, label)"
            continue
        try:
            parse(parsable(found.group(1)))
        except PromQLError as error:
            yield f"variable {one['name']}: {error}"


def template_on_time_change_reload(dashboard: Json) -> Iterator[str]:
    yield from (
        f"variable {one['name']} is not asked for again when the time changes"
        for one in _variables(dashboard, "query")
        if one["refresh"] != 2
    )


def panel_datasource(dashboard: Json) -> Iterator[str]:
    for panel in panels_of(dashboard):
        if panel["type"] not in _NOT_DRAWN and panel["datasource"]["uid"] not in _DATASOURCES:
            yield f"{panel['title']}: data source {panel['datasource']}"


def panel_title_description(dashboard: Json) -> Iterator[str]:
    for panel in panels_of(dashboard):
        if panel["type"] not in _NOT_DRAWN and not (panel.get("title") and panel.get("description")):
            yield f"panel {panel['id']} has no title or no description"


def panel_units(dashboard: Json) -> Iterator[str]:
    for panel in panels_of(dashboard):
        if panel["type"] in _NOT_DRAWN:
            continue
        defaults = panel["fieldConfig"]["defaults"]
        unit = defaults.get("unit", "")
        if not (unit in UNITS or re.match(r"(suffix|prefix|count):.", unit)) and not defaults.get("mappings"):
            yield f"{panel['title']}: unit {unit!r}"


def panel_no_targets(dashboard: Json) -> Iterator[str]:
    for panel in panels_of(dashboard):
        if panel["type"] not in _NOT_DRAWN and not panel.get("targets"):
            yield f"{panel['title']}: no query"


def target_logql(dashboard: Json) -> Iterator[str]:
    yield from (
        f"{where}: looks like LogQL" for where, expr in _queries(dashboard) if re.search(r"\|=|\|~|!=\s*`", expr)
    )


def target_logql_auto(dashboard: Json) -> Iterator[str]:
    yield from (f"{where}: $__auto is of LogQL" for where, expr in _queries(dashboard) if "$__auto" in expr)


def target_promql(dashboard: Json) -> Iterator[str]:
    for where, expr in _queries(dashboard):
        try:
            parse(parsable(expr))
        except PromQLError as error:
            yield f"{where}: {error}"


def target_rate_interval(dashboard: Json) -> Iterator[str]:
    for where, tree in _parsed(dashboard):
        for node, _ in walk(tree):
            if isinstance(node, Call) and node.function in {"rate", "irate"}:
                (series,) = node.arguments
                if not isinstance(series, Selector) or abs(series.seconds - RATE_INTERVAL_S) > 0.01:
                    yield f"{where}: {node.function} over something else than $__rate_interval"


def _target_label(dashboard: Json, label: str) -> Iterator[str]:
    for where, tree in _parsed(dashboard):
        for selector in selectors(tree):
            if not any(one.label == label and one.operator == "=~" for one in selector.matchers):
                yield f"{where}: {selector.name} without a matcher on {label}"


def target_job(dashboard: Json) -> Iterator[str]:
    yield from _target_label(dashboard, "job")


def target_instance(dashboard: Json) -> Iterator[str]:
    yield from _target_label(dashboard, "instance")


def target_counter_agg(dashboard: Json) -> Iterator[str]:
    for where, tree in _parsed(dashboard):
        for node, above in walk(tree):
            if not (isinstance(node, Selector) and node.name.endswith("_total")):
                continue
            if not any(isinstance(one, Call) and one.function in {"rate", "irate", "increase"} for one in above):
                yield f"{where}: the counter {node.name} outside rate, irate and increase"


def uneditable_dashboard(dashboard: Json) -> Iterator[str]:
    if dashboard.get("editable", True):
        yield "it can be edited on the page"


RULES: Final[dict[str, Rule]] = {
    "template-datasource-rule": template_datasource,
    "template-job-rule": template_job,
    "template-instance-rule": template_instance,
    "template-label-promql-rule": template_label_promql,
    "template-on-time-change-reload-rule": template_on_time_change_reload,
    "panel-datasource-rule": panel_datasource,
    "panel-title-description-rule": panel_title_description,
    "panel-units-rule": panel_units,
    "panel-no-targets-rule": panel_no_targets,
    "target-logql-rule": target_logql,
    "target-logql-auto-rule": target_logql_auto,
    "target-promql-rule": target_promql,
    "target-rate-interval-rule": target_rate_interval,
    "target-job-rule": target_job,
    "target-instance-rule": target_instance,
    "target-counter-agg-rule": target_counter_agg,
    "uneditable-dashboard": uneditable_dashboard,
}
