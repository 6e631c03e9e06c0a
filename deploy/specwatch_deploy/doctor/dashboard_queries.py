"""The queries of a Grafana dashboard, of whatever schema: panels, variables, annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from specwatch_deploy.doctor.document import Document, Key
from specwatch_deploy.doctor.query import Query, Role

_LABEL_VALUES: Final = re.compile(r"\s*label_values\(\s*(.+)\s*,\s*[^,()]+\s*\)\s*", re.DOTALL)
_QUERY_RESULT: Final = re.compile(r"\s*query_result\(\s*(.+)\s*\)\s*", re.DOTALL)
_OTHER_LANGUAGES: Final = (
    "loki",
    "tempo",
    "elasticsearch",
    "influxdb",
    "cloudwatch",
    "mysql",
    "postgres",
    "pyroscope",
)
_MARKS: Final = frozenset({"panels", "rows", "elements", "templating"})


def dashboard_queries(document: Document) -> Iterator[Query]:
    """Queries of a dashboard; none if the document is something else."""
    if document.kind not in {"", "Dashboard"}:
        return
    base: tuple[Key, ...] = next(
        (at for at in ((), ("dashboard",), ("spec",)) if _is_dashboard(document.at(*at))), ("-",)
    )
    dashboard = document.at(*base)
    if isinstance(dashboard, Mapping | list):
        title = str(dashboard.get("title", "")) if isinstance(dashboard, Mapping) else ""
        yield from _below(document, base, dashboard, title, "")


def _is_dashboard(body: Any) -> bool:
    """A dashboard, an excerpt of one (a list of panels, a panel), or a file of Grafana's own alert rules."""
    if isinstance(body, list):
        return any(map(_is_dashboard, body))
    if not isinstance(body, Mapping):
        return False
    parts = body.get("panels"), body.get("targets")
    whole = bool(_MARKS & set(body)) and "title" in body
    return whole or any(isinstance(one, list) for one in parts) or _has_grafana_rules(body.get("groups"))


def _has_grafana_rules(groups: Any) -> bool:
    """Whether groups hold rules of Grafana's unified alerting, whose queries stand in `data[].model.expr`."""
    rows = (
        [group.get("rules") for group in groups if isinstance(group, Mapping)] if isinstance(groups, list) else []
    )
    rules = [rule for one in rows if isinstance(one, list) for rule in one]
    return any(isinstance(rule, Mapping) and isinstance(rule.get("data"), list) for rule in rules)


def _below(document: Document, path: tuple[Key, ...], value: Any, title: str, unit: str) -> Iterator[Query]:
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _below(document, (*path, number), one, title, unit)
    elif isinstance(value, Mapping):
        own = value.get("title")
        title = own if isinstance(own, str) and own else title
        unit = _unit(value) or unit
        if _speaks_another(value):
            return
        yield from _query(document, path, value, title, unit)
        for key, one in value.items():
            if isinstance(one, Mapping | list):
                yield from _below(document, (*path, key), one, title, unit)


def _query(
    document: Document, path: tuple[Key, ...], value: Mapping[str, Any], title: str, unit: str
) -> Iterator[Query]:
    text = value.get("expr")
    if isinstance(text, str) and text.strip() and not {"alert", "record"} & set(value):
        role = Role.ANNOTATION if "annotations" in path else Role.PANEL
        name = str(value.get("name", "")) if role is Role.ANNOTATION else title
        legend = str(value.get("legendFormat", ""))
        yield Query(text, role, document.place(*path, "expr", part=name), f"{name} {legend}", unit=unit)
    elif value.get("type") == "query" and "query" in value and "name" in value:
        yield from _variable(document, path, value)


def _variable(document: Document, path: tuple[Key, ...], value: Mapping[str, Any]) -> Iterator[Query]:
    asked = value["query"]
    inner = isinstance(asked, Mapping)
    text = asked.get("query", "") if isinstance(asked, Mapping) else asked
    found = _LABEL_VALUES.fullmatch(str(text)) or _QUERY_RESULT.fullmatch(str(text))
    if found is not None:
        where = (*path, "query", "query") if inner else (*path, "query")
        place = document.place(*where, part=f"variable {value['name']}")
        yield Query(found[1], Role.VARIABLE, place, str(value.get("label", "")))


def _unit(panel: Mapping[str, Any]) -> str:
    defaults = (
        (panel.get("fieldConfig") or {}).get("defaults") if isinstance(panel.get("fieldConfig"), Mapping) else {}
    )
    return str((defaults or {}).get("unit", ""))


def _speaks_another(value: Mapping[str, Any]) -> bool:
    """Whether a panel or a target is for another database than Prometheus."""
    source = value.get("datasource")
    kind = source.get("type") if isinstance(source, Mapping) else source
    return isinstance(kind, str) and any(word in kind.lower() for word in _OTHER_LANGUAGES)
