from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dashboards.grafana_schemas import MAJORS, violations
from specwatch_dashboards.build import build
from specwatch_dashboards.metric_check import panels_of
from specwatch_dashboards.source import Source

SOURCES = list(Source)
PANELS = {
    "bargauge": "bargauge",
    "heatmap": "heatmap",
    "stat": "stat",
    "state-timeline": "statetimeline",
    "table": "table",
    "text": "text",
    "timeseries": "timeseries",
}
WITH_FIELDS = {"heatmap", "statetimeline", "table", "timeseries"}
# A data source's own fields of an annotation are stored beside Grafana's, and the types do not list them.
OF_PROMETHEUS = {"expr", "step", "tagKeys", "textFormat", "titleFormat", "useValueForTime"}


def typed(dashboard: dict[str, Any]) -> dict[str, Any]:
    events = [
        {key: value for key, value in event.items() if key not in OF_PROMETHEUS}
        for event in dashboard["annotations"]["list"]
    ]
    return {**dashboard, "annotations": {"list": events}}


def broken(version: str, dashboard: dict[str, Any]) -> Iterator[str]:
    yield from violations(version, "dashboard", typed(dashboard))
    for panel in panels_of(dashboard):
        if panel["type"] == "row":
            found = violations(version, "row", panel)
        else:
            kind = PANELS[panel["type"]]
            found = violations(version, "panel", panel)
            found += violations(version, f"{kind}.options", panel["options"])
            if kind in WITH_FIELDS:
                found += violations(version, f"{kind}.custom", panel["fieldConfig"]["defaults"].get("custom", {}))
        yield from (f"{panel['title']}: {line}" for line in found)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("version", MAJORS)
def test_every_dashboard_is_what_grafana_types_say(version: str, source: Source) -> None:
    found = [f"{uid}: {line}" for uid, body in build(source).items() for line in broken(version, body)]
    assert found == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", MAJORS)
def test_the_schemas_notice_what_grafanalib_gets_wrong(version: str) -> None:
    body = build(Source.SIDECAR)["specwatch-speculation"]
    panel = next(panel for panel in body["panels"] if panel["type"] == "timeseries")
    panel["fieldConfig"]["defaults"]["thresholds"]["steps"] = [{"color": "red", "value": "null"}]
    panel["options"]["legend"]["calcs"] = "lastNotNull"
    found = " ".join(broken(version, body))
    assert "'null' is not of type 'number'" in found
    assert "'lastNotNull' is not of type 'array'" in found
