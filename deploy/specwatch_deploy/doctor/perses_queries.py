"""Queries of Perses dashboards, which OpenShift's console and others show.

Source: Perses `plugins/prometheus`, `PrometheusTimeSeriesQuery`; its operator's kind is PersesDashboard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from specwatch_deploy.doctor.document import Document, Key
from specwatch_deploy.doctor.query import Query, Role

_PLUGIN: Final = "PrometheusTimeSeriesQuery"


def perses_queries(document: Document) -> Iterator[Query]:
    """Queries of a dashboard as the operator's object, or as Perses' own file."""
    panels = next(
        (at for at in (("spec", "panels"), ("spec", "config", "panels")) if isinstance(document.at(*at), Mapping)),
        (),
    )
    for name in document.at(*panels) if panels else ():
        at = (*panels, str(name))
        title = document.at(*at, "spec", "display", "name") or name
        yield from _below(document, at, document.at(*at), str(title))


def _below(document: Document, path: tuple[Key, ...], value: Any, title: str) -> Iterator[Query]:
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _below(document, (*path, number), one, title)
    elif isinstance(value, Mapping):
        spec = value.get("spec")
        text = spec.get("query") if isinstance(spec, Mapping) and value.get("kind") == _PLUGIN else None
        if isinstance(text, str) and text.strip():
            yield Query(text, Role.PANEL, document.place(*path, "spec", "query", part=title), title)
            return
        for key, one in value.items():
            yield from _below(document, (*path, str(key)), one, title)
