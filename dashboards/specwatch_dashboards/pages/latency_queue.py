"""The queue: who waits, who is refused, and which pods stand out."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.links import PanelLink
from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.time_series import Look, time_series
from specwatch_dashboards.grafana.values import BAD, PLAIN, WATCH
from specwatch_dashboards.pages.frame import CAPACITY
from specwatch_dashboards.promql import (
    CLASSES,
    MODEL_NAME,
    NAMESPACE_PODS,
    POD_NAME,
    PODS,
    idle,
    largest,
    outliers,
    total,
)

_TO_CAPACITY: Final = (PanelLink("Capacity and cost", CAPACITY),)
_WAIT: Final = "specwatch:request_queue_wait_class_bucket:rate5m"
# The same colour for a quantile on every panel.
_QUANTILES: Final = ((0.5, "p50", PLAIN), (0.95, "p95", WATCH), (0.99, "p99", BAD))
_QUANTILE_MARKS: Final = tuple((f"{name}.*", color, False) for _, name, color in _QUANTILES)
_OLDEST: Final = f'specwatch_request_oldest_waiting_seconds{{traffic_class=~"$class", {NAMESPACE_PODS}}}'


def queue_panels() -> tuple[Panel, ...]:
    """Waiting, refused, preempted, and the KV cache."""
    return (
        time_series(
            About(
                "Queue wait",
                "From queued to first scheduled, of each request. Good: p95 inside the objective, 1 s unless "
                "changed.",
                "s",
                links=_TO_CAPACITY,
            ),
            [
                *(
                    Query(f"histogram_quantile({share}, sum by (le) ({_WAIT}{{{CLASSES}}})) >= 0", short)
                    for share, short, _ in _QUANTILES
                ),
                idle(),
            ],
            Look(marked=_QUANTILE_MARKS),
        ),
        time_series(
            About(
                "Oldest request without a token, by class",
                "Largest over all pods. Good: saw teeth of a second. A straight climb: somebody sees nothing at "
                "all.",
                "s",
            ),
            [
                Query(
                    f"max by (traffic_class) ({_OLDEST})",
                    "{{traffic_class}}",
                )
            ],
        ),
        time_series(
            About(
                "Running and waiting",
                "Requests in the batches, and queued (dashed). Good: waiting near 0. Waiting while running is "
                "flat: the engines are full.",
                "none",
                links=_TO_CAPACITY,
            ),
            [
                Query(total("specwatch:requests_running:sum"), f"running: {MODEL_NAME}"),
                Query(total("specwatch:requests_waiting:sum"), f"waiting: {MODEL_NAME}"),
            ],
            Look(marked=(("waiting.*", None, True),)),
        ),
        time_series(
            About(
                "Refused and preempted",
                "Requests a second that engines would not queue, and that lost their place because the KV cache "
                "was full. Good: none. With a queue limit, refusals are the sign of overload, not waiting.",
                "reqps",
            ),
            [
                Query(total("specwatch:requests_rejected:rate5m"), f"refused: {MODEL_NAME}"),
                Query(total("specwatch:preemptions:rate5m"), f"preempted: {MODEL_NAME}"),
            ],
            Look(marked=(("preempted.*", None, True),)),
        ),
        time_series(
            About(
                "How requests end",
                "Requests a second by outcome. Good: success, and few clients that leave (aborted).",
                "reqps",
            ),
            [Query(f"sum by (outcome) (specwatch:request_finished:rate5m{{{CLASSES}}})", "{{outcome}}")],
            Look(stacked=True),
        ),
        time_series(
            About(
                "Fullest KV cache",
                "Use of the fullest cache of each model. Good: below 90 %. At 100 % requests are preempted.",
                "percentunit",
                links=_TO_CAPACITY,
            ),
            [Query(largest("specwatch:kv_cache_usage:max"), MODEL_NAME)],
            Look(high=1),
        ),
    )


def pod_panels() -> tuple[Panel, ...]:
    """The pods with the longest queues and the oldest requests."""
    return (
        time_series(
            About(
                "Longest queues",
                "The 8 pods with the longest queues over the time range. Good: alike. One apart: routing, or a "
                "sick pod.",
                "none",
                width=12,
            ),
            [Query(outliers(f"specwatch:pod_requests_waiting:sum{{{PODS}}}", 8, most=True), POD_NAME)],
            Look(table=True),
        ),
        time_series(
            About(
                "Oldest requests",
                "The 8 pods and classes whose oldest request waited longest over the time range. Good: all small.",
                "s",
                width=12,
            ),
            [Query(outliers(_OLDEST, 8, most=True), "{{pod}} {{traffic_class}}")],
            Look(table=True),
        ),
    )
