"""What the autoscaler sees and wants."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.time_series import Look, time_series
from specwatch_dashboards.grafana.values import QUIET, WATCH
from specwatch_dashboards.promql import (
    NAMESPACES,
)

_HPA: Final = "cluster, namespace, horizontalpodautoscaler"


def scaler_panels() -> tuple[Panel, ...]:
    """Limits and wishes of the autoscaler, and whether KEDA sees."""

    def replicas(series: str) -> str:
        return f"max by ({_HPA}) ({series}{{{NAMESPACES}}})"

    wanted = replicas("kube_horizontalpodautoscaler_status_desired_replicas")
    most = replicas("kube_horizontalpodautoscaler_spec_max_replicas")
    return (
        time_series(
            About(
                "Autoscaler: wanted, there, limits",
                "From kube-state-metrics. Good: wanted between the limits (dashed). At the upper one while "
                "requests wait: raise it or shed load.",
                "none",
                width=10,
            ),
            [
                Query(wanted, "wanted: {{horizontalpodautoscaler}}"),
                Query(
                    replicas("kube_horizontalpodautoscaler_status_current_replicas"),
                    "there: {{horizontalpodautoscaler}}",
                ),
                Query(most, "limit above: {{horizontalpodautoscaler}}"),
                Query(
                    replicas("kube_horizontalpodautoscaler_spec_min_replicas"),
                    "limit below: {{horizontalpodautoscaler}}",
                ),
            ],
            Look(steps=True, marked=(("limit.*", QUIET, True),)),
        ),
        time_series(
            About(
                "KEDA: what its query gives",
                "Value of each trigger. Good: the demand above. Gone, or 0 while requests wait: KEDA is blind.",
                "none",
                width=7,
            ),
            [Query("max by (scaledObject, metric) (keda_scaler_metrics_value)", "{{scaledObject}} {{metric}}")],
        ),
        time_series(
            About(
                "KEDA: failed and empty answers",
                "A second, by object. Good: none. By default KEDA takes an empty answer for 0 and scales in.",
                "cps",
                no_value="No failures",
                width=7,
            ),
            [
                Query(
                    "sum by (scaledObject) (rate(keda_scaler_detail_errors_total[$__rate_interval])) > 0",
                    "failed: {{scaledObject}}",
                ),
                Query(
                    "sum by (scaledResource) (rate(keda_scaler_empty_upstream_responses_total[$__rate_interval])) "
                    "> 0",
                    "empty: {{scaledResource}}",
                ),
            ],
            Look(marked=(("empty.*", WATCH, True),)),
        ),
    )
