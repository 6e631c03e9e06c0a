"""Rules of prometheus-adapter: its configuration file, or the values of its chart.

Source: prometheus-adapter 0.12, docs/config.md: `rules` serve metrics of objects, `externalRules` external ones;
the chart calls them `rules.custom` and `rules.external`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_deploy.doctor.document import Document, Key
from specwatch_deploy.doctor.query import Query, Role

_NAME: Final = re.compile(r"\s*([A-Za-z_:][A-Za-z0-9_:]*)?\s*(?:\{(.*)\})?\s*", re.DOTALL)
_BY_NAME: Final = re.compile(r"""__name__\s*=(~?)\s*["'](.*?)["']""")
_LITERAL: Final = re.compile(r"\^?([A-Za-z_:][A-Za-z0-9_:]*)\$?")
# Values of a chart that brings the adapter along, and what Flux's HelmRelease holds.
_AROUND: Final = ("prometheus-adapter", "spec", "values")
_MATCHERS: Final = 'namespace!=""'
"""Stands for the matchers that the adapter fills in: those of the HPA's namespace."""


@dataclass(frozen=True, slots=True)
class AdapterRule:
    """One rule.

    Attributes:
        document: that holds it.
        path: of the rule in it.
        external: whether it serves external metrics.
        series: name of the series that it reads; empty if a pattern selects several.
        name: of the metric that it serves; empty if a pattern makes it.
        query: PromQL with the adapter's placeholders filled in; empty if it is only known by a pattern.
    """

    document: Document
    path: tuple[Key, ...]
    external: bool
    series: str
    name: str
    query: str


def adapter_rules(document: Document) -> Iterator[AdapterRule]:
    """Rules in a document; none if it is no configuration of the adapter."""
    for path, external in _lists(document.body):
        for number, row in enumerate(document.at(*path) or ()):
            if isinstance(row, Mapping) and isinstance(row.get("seriesQuery"), str):
                yield _rule(document, (*path, number), row, external=external)


def adapter_queries(document: Document) -> Iterator[Query]:
    """Queries of a configuration of the adapter."""
    for rule in adapter_rules(document):
        if rule.query:
            key = "metricsQuery" if rule.document.at(*rule.path, "metricsQuery") else "seriesQuery"
            title = f"adapter rule {rule.name or rule.series}"
            yield Query(
                rule.query, Role.ADAPTER, document.place(*rule.path, key, part=title), title, name=rule.name
            )


def _lists(body: Any) -> Iterator[tuple[tuple[Key, ...], bool]]:
    if not isinstance(body, Mapping):
        return
    rules = body.get("rules")
    if isinstance(rules, list):
        yield ("rules",), False
    if isinstance(rules, Mapping):
        yield from ((("rules", key), key == "external") for key in ("custom", "external") if _is_list(rules, key))
    if _is_list(body, "externalRules"):
        yield ("externalRules",), True
    for key in _AROUND:
        yield from (((key, *path), external) for path, external in _lists(body.get(key)))


def _is_list(rows: Mapping[str, Any], key: str) -> bool:
    return isinstance(rows.get(key), list)


def _rule(document: Document, path: tuple[Key, ...], row: Mapping[str, Any], *, external: bool) -> AdapterRule:
    series, matchers = _selected(row["seriesQuery"])
    named = row.get("name")
    naming = named if isinstance(named, Mapping) else {}
    name = str(naming.get("as") or "") if not naming.get("matches") else ""
    served = name if "$" not in name else ""
    template = row.get("metricsQuery")
    return AdapterRule(
        document,
        path,
        external,
        series,
        served or ("" if naming else series),
        _filled(template, series, matchers, "pod" if not external and _of_pods(row) else "namespace"),
    )


def _of_pods(row: Mapping[str, Any]) -> bool:
    """Whether a rule serves a metric of pods, so that it is asked for by pod."""
    resources = row.get("resources")
    overrides = resources.get("overrides") if isinstance(resources, Mapping) else None
    if not isinstance(overrides, Mapping):
        return True
    return any(isinstance(one, Mapping) and one.get("resource") in {"pod", "pods"} for one in overrides.values())


def _selected(series_query: str) -> tuple[str, str]:
    """Name and other matchers of a seriesQuery; no name if a pattern selects it."""
    match = _NAME.fullmatch(series_query)
    if match is None:
        return "", ""
    matchers = match[2] or ""
    if match[1]:
        return match[1], matchers
    by_name = _BY_NAME.search(matchers)
    literal = _LITERAL.fullmatch(by_name[2]) if by_name is not None else None
    return (literal[1] if literal is not None else ""), ""


def _filled(template: object, series: str, matchers: str, group: str) -> str:
    if not series:
        return ""
    if not isinstance(template, str) or not template.strip():
        template = "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"
    text = template.replace("<<.Series>>", series).replace("<<.GroupBy>>", group)
    both = (_MATCHERS if _MATCHERS not in matchers else "", matchers.strip())
    text = text.replace("<<.LabelMatchers>>", ", ".join(one for one in both if one))
    return "" if "<<" in text else text
