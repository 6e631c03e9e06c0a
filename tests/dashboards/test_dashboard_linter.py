from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

import pytest

from dashboards.grafana_linter import RULES
from specwatch_dashboards.build import build
from specwatch_dashboards.source import Source

DASHBOARDS: Final = {source: build(source) for source in Source}
# Recorded series have neither job nor instance, so one variable for either would hide them; the set is read by
# cluster, namespace, model and pod. Grafana's own mixins leave out these four as well.
NOT_OURS: Final = {"template-job-rule", "template-instance-rule", "target-job-rule", "target-instance-rule"}
# Decisions of the fallback are counted since the controller began, which a rate of two samples a day cannot show.
ALLOWED: Final = {
    "target-counter-agg-rule": (
        "Moves of the time range, with reasons A",
        "Refusals of the time range, with reasons A",
    )
}


def test_all_seventeen_rules_are_here() -> None:
    assert len(RULES) == 17
    assert set(RULES) >= NOT_OURS


@pytest.mark.parametrize("source", list(Source))
@pytest.mark.parametrize("rule", sorted(set(RULES) - NOT_OURS))
def test_every_dashboard_is_clean(rule: str, source: Source) -> None:
    found = [
        f"{uid}: {line}"
        for uid, dashboard in DASHBOARDS[source].items()
        for line in RULES[rule](dashboard)
        if not line.startswith(ALLOWED.get(rule, ("\0",)))
    ]
    assert found == []


def _panel(dashboard: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(panel for panel in dashboard["panels"] if panel["type"] == "timeseries")
    return found


def _expr(text: str) -> Callable[[dict[str, Any]], None]:
    def break_it(dashboard: dict[str, Any]) -> None:
        _panel(dashboard)["targets"][0]["expr"] = text

    return break_it


def _variable(which: str, **changes: Any) -> Callable[[dict[str, Any]], None]:
    def break_it(dashboard: dict[str, Any]) -> None:
        (found,) = (one for one in dashboard["templating"]["list"] if one["name"] == which)
        found.update(changes)

    return break_it


BROKEN: Final[list[tuple[str, Callable[[dict[str, Any]], None]]]] = [
    ("template-datasource-rule", _variable("datasource", name="ds")),
    ("template-datasource-rule", _variable("datasource", label="Prometheus")),
    ("template-job-rule", lambda _: None),
    ("template-instance-rule", lambda _: None),
    ("template-label-promql-rule", _variable("model", query={"query": "label_values(a{, model)"})),
    ("template-on-time-change-reload-rule", _variable("model", refresh=1)),
    ("panel-datasource-rule", lambda dashboard: _panel(dashboard)["datasource"].update(uid="prometheus")),
    ("panel-title-description-rule", lambda dashboard: _panel(dashboard).pop("description")),
    ("panel-units-rule", lambda dashboard: _panel(dashboard)["fieldConfig"]["defaults"].update(unit="furlong")),
    ("panel-no-targets-rule", lambda dashboard: _panel(dashboard).update(targets=[])),
    ("target-logql-rule", _expr('{app="a"} |= "error"')),
    ("target-logql-auto-rule", _expr("rate(a_total[$__auto])")),
    ("target-promql-rule", _expr("sum(")),
    ("target-rate-interval-rule", _expr("rate(a_total[5m])")),
    ("target-job-rule", _expr("up")),
    ("target-instance-rule", _expr("up")),
    ("target-counter-agg-rule", _expr("sum(a_total)")),
    ("uneditable-dashboard", lambda dashboard: dashboard.update(editable=True)),
]


@pytest.mark.parametrize(("rule", "break_it"), BROKEN, ids=[rule for rule, _ in BROKEN])
def test_each_rule_finds_what_it_is_for(rule: str, break_it: Callable[[dict[str, Any]], None]) -> None:
    dashboard = copy.deepcopy(DASHBOARDS[Source.SIDECAR]["specwatch-speculation"])
    break_it(dashboard)
    assert list(RULES[rule](dashboard))


def test_every_rule_is_broken_once_above() -> None:
    assert {rule for rule, _ in BROKEN} == set(RULES)
