"""The dashboard's variables: what is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from specwatch_dashboards.grafana.datasource import DATASOURCE
from specwatch_dashboards.grafana.plain_json import Json

_ON_TIME_CHANGE: Final = 2
_ALPHABETICAL: Final = 1


def datasource_variable() -> Json:
    """Which Prometheus."""
    return {
        "name": "datasource",
        "label": "Data Source",
        "type": "datasource",
        "query": "prometheus",
        "regex": "",
        "current": {"selected": False, "text": "default", "value": "default"},
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "options": [],
        "refresh": 1,
        "skipUrlSync": False,
    }


def query_variable(name: str, label: str, series: str, read: str, description: str) -> Json:
    """A variable with the values of a label; All is `.*`, so that series without the label are in.

    Args:
        name: name in `$name`.
        label: name on the page.
        series: selector of the series that have the label.
        read: the label.
        description: what it chooses.
    """
    query = f"label_values({series}, {read})"
    return {
        "name": name,
        "label": label,
        "description": description,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": "PrometheusVariableQueryEditor-VariableQuery", "qryType": 1},
        "allValue": ".*",
        "includeAll": True,
        "multi": True,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "hide": 0,
        "options": [],
        "refresh": _ON_TIME_CHANGE,
        "regex": "",
        "skipUrlSync": False,
        "sort": _ALPHABETICAL,
    }


def custom_variable(name: str, label: str, values: Sequence[str], value: str, description: str) -> Json:
    """A variable with one of a few fixed values."""
    return {
        "name": name,
        "label": label,
        "description": description,
        "type": "custom",
        "query": ",".join(values),
        "current": {"selected": True, "text": value, "value": value},
        "includeAll": False,
        "multi": False,
        "hide": 0,
        "options": [{"selected": one == value, "text": one, "value": one} for one in values],
        "skipUrlSync": False,
    }


def text_variable(name: str, label: str, value: str, description: str) -> Json:
    """A variable into which the reader types."""
    chosen = {"selected": True, "text": value, "value": value}
    return {
        "name": name,
        "label": label,
        "description": description,
        "type": "textbox",
        "query": value,
        "current": chosen,
        "hide": 0,
        "options": [chosen],
        "skipUrlSync": False,
    }
