"""The request sidecar's own pages, on a port that clients do not reach."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from html import escape
from http import HTTPStatus

from prometheus_client import CollectorRegistry

from specwatch_exporters.proxy.pools_site import PATH, PoolsPage
from specwatch_exporters.proxy.summary import ClassSummary, summarise
from specwatch_exporters.sidecar.site import Answer, MetricsSite

_HEADERS = (
    ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
    ("Referrer-Policy", "no-referrer"),
)
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:1.5rem;max-width:60rem}table{border-collapse:collapse}"
    "td,th{padding:.25rem .75rem;text-align:right;border-bottom:1px solid #ccc}td:first-child,th:first-child"
    "{text-align:left}@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}"
)
_COLUMNS = ("class", "in flight", "oldest waiting", "ended", "not a success", "acceptance", "tokens per draft step")


def admin_site(
    registry: CollectorRegistry,
    upstream: str,
    version: str,
    ready: Callable[[], tuple[bool, str]],
    pools: PoolsPage | None = None,
) -> MetricsSite:
    """Make the pages.

    Args:
        registry: what `/metrics` shows.
        upstream: the engine's address for people, without credentials.
        version: of specwatch.
        ready: whether requests are passed on, and if not, why.
        pools: shows the pools and sets their weights, where there are several.
    """

    def page(_query: str, _accept: str) -> Answer:
        body = _page(summarise(registry), upstream, version)
        return Answer(HTTPStatus.OK, "text/html; charset=utf-8", body.encode("utf-8", "replace"), _HEADERS)

    def status(_query: str, _accept: str) -> Answer:
        classes = {name: summary.to_json() for name, summary in summarise(registry).items()}
        body = {"specwatch_version": version, "upstream": upstream, "classes": classes}
        return Answer(HTTPStatus.OK, "application/json", json.dumps(body, indent=1).encode() + b"\n")

    own = {"/": ("status page", page), "/status.json": ("the status page's content as JSON", status)}
    if pools is None:
        return MetricsSite(registry, ready, own)
    own[PATH] = ("pools, their weights and figures; PUT sets the weights", pools.get)
    return MetricsSite(registry, ready, own, {PATH: pools.put})


def _page(classes: Mapping[str, ClassSummary], upstream: str, version: str) -> str:
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    rows = "".join(_row(name, summary) for name, summary in classes.items())
    none = "" if rows else "<p>No request has come yet.</p>"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta http-equiv="refresh" content="5">'
        f"<title>specwatch request sidecar</title><style>{_STYLE}</style></head><body>"
        f"<h1>Request sidecar</h1><p>Passes requests on to {escape(upstream)}. Figures since the start.</p>"
        f"<table><tr>{head}</tr>{rows}</table>{none}"
        f'<p><a href="/metrics">metrics</a> · <a href="/status.json">JSON</a> · specwatch {escape(version)}</p>'
        "</body></html>\n"
    )


def _row(name: str, summary: ClassSummary) -> str:
    ended = sum(summary.outcomes.values())
    rate, length = summary.tally.acceptance_rate, summary.tally.mean_acceptance_length
    cells = (
        escape(name),
        str(summary.in_flight),
        f"{summary.oldest_waiting_s:.2f} s",
        str(ended),
        str(ended - summary.outcomes.get("success", 0)),
        "unknown" if rate is None else f"{rate:.1%}",
        "unknown" if length is None else f"{length:.2f}",
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
