"""The pools of the request sidecar, side by side."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.links import PanelLink
from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.time_series import Look, time_series
from specwatch_dashboards.grafana.values import OTHER
from specwatch_dashboards.pages.frame import (
    SPECULATION,
)
from specwatch_dashboards.promql import (
    NAMESPACES,
    ratio,
)

_TO_FIRST: Final = (PanelLink("Speculation at a glance", SPECULATION),)
_POOL: Final = "cluster, namespace, pool"


def pool_panels() -> tuple[Panel, ...]:
    """Share, traffic, latency and failures of each pool."""
    bucket = f"rate(specwatch_request_pool_token_latency_seconds_bucket{{{NAMESPACES}}}[$__rate_interval])"
    ended = "specwatch_request_pool_requests_total"
    bad = f'sum by ({_POOL}) (rate({ended}{{outcome=~"error|cut|unreachable", {NAMESPACES}}}[$__rate_interval]))'
    every = _rate(ended)
    none_bad = f"0 * {every}"
    name = "{{pool}} {{namespace}}"
    return (
        time_series(
            About(
                "Share of new requests",
                "What the weights give to each pool. Good: as the level says.",
                "percentunit",
            ),
            [Query(f"avg by ({_POOL}) (specwatch_request_pool_share_ratio{{{NAMESPACES}}})", name)],
            Look(high=1, steps=True),
        ),
        time_series(
            About("Requests", "Requests a second that ended in each pool. Good: follows the shares.", "reqps"),
            [Query(every, name)],
        ),
        time_series(
            About("Tokens", "Output tokens a second of each pool. Good: follows the shares.", "suffix: tok/s"),
            [
                Query(
                    _rate("specwatch_request_pool_output_tokens_total"),
                    name,
                )
            ],
        ),
        time_series(
            About(
                "Time per token, p50 and p95",
                "End to end over output tokens, queue included. Good: the pool in use is not above the other one. "
                "p95 is dashed.",
                "s",
                links=_TO_FIRST,
            ),
            [
                Query(f"histogram_quantile(0.5, sum by ({_POOL}, le) ({bucket})) >= 0", f"p50 {name}"),
                Query(f"histogram_quantile(0.95, sum by ({_POOL}, le) ({bucket})) >= 0", f"p95 {name}"),
            ],
            Look(marked=(("p95.*", None, True),)),
        ),
        time_series(
            About(
                "Failed",
                "Share of requests that failed, were cut off or found no engine. Good: 0 %, and no pool apart.",
                "percentunit",
            ),
            [Query(ratio(f"({bad} or {none_bad})", every), name)],
            Look(soft_high=0.01),
        ),
        time_series(
            About(
                "In flight, and passed over",
                "Requests under way in each pool, and requests a second that were the pool's and went elsewhere "
                "because it could not be reached (dashed). Good: a pool without weight drains to 0; none passed "
                "over.",
                "none",
            ),
            [
                Query(f"sum by ({_POOL}) (specwatch_request_pool_in_flight{{{NAMESPACES}}})", f"in flight {name}"),
                Query(
                    _rate("specwatch_request_pool_passed_over_total"),
                    f"passed over {name}",
                ),
            ],
            Look(marked=(("passed over.*", OTHER, True),)),
        ),
    )


def _rate(counter: str) -> str:
    return f"sum by ({_POOL}) (rate({counter}{{{NAMESPACES}}}[$__rate_interval]))"
