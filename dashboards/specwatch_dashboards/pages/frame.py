"""What all dashboards share: variables, events, uids, and the words for states."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.annotations import Event
from specwatch_dashboards.grafana.plain_json import Json
from specwatch_dashboards.grafana.values import BAD, GOOD, OTHER, PLAIN, QUIET, WATCH, Shown
from specwatch_dashboards.grafana.variables import datasource_variable, query_variable
from specwatch_dashboards.promql import MODELS, NAMESPACE_PODS, NAMESPACES, coded
from specwatch_dashboards.source import Source

SPECULATION: Final = "specwatch-speculation"
LATENCY: Final = "specwatch-latency"
DRAFT: Final = "specwatch-draft"
FALLBACK: Final = "specwatch-fallback"
CAPACITY: Final = "specwatch-capacity"

# The numbers of `specwatch:drift_state:worst`.
DRIFT_TEXTS: Final = (
    Shown(0, "Cannot tell", QUIET),
    Shown(1, "OK", GOOD),
    Shown(2, "Watch", WATCH),
    Shown(3, "Drifted", BAD),
)
# The larger the number, the further from home: of several pods the furthest counts.
LEVEL_CODES: Final = {"draft": 1, "fewer": 2, "ngram": 3, "off": 4}
LEVEL_TEXTS: Final = (
    Shown(1, "Draft", GOOD),
    Shown(2, "Fewer tokens", PLAIN),
    Shown(3, "n-gram", WATCH),
    Shown(4, "Off", BAD),
)

_SERVED: Final = "specwatch:generation_tokens:rate5m"


def variables() -> tuple[Json, ...]:
    """Data source, cluster, namespace, model, pod, class; from recorded series, which are few."""
    return (
        datasource_variable(),
        query_variable(
            "cluster", "Cluster", _SERVED, "cluster", "External label of each Prometheus, if it has one."
        ),
        query_variable(
            "namespace", "Namespace", f'{_SERVED}{{cluster=~"$cluster"}}', "namespace", "Where the engines run."
        ),
        query_variable("model", "Model", f"{_SERVED}{{{NAMESPACES}}}", "model", "The target that is served."),
        query_variable(
            "pod", "Pod", f"specwatch:pod_generation_tokens:rate5m{{{MODELS}}}", "pod", "For panels of single pods."
        ),
        query_variable(
            "class",
            "Class",
            f"specwatch:request_finished:rate5m{{{MODELS}}}",
            "traffic_class",
            "Traffic class, where the request sidecar or the plugin tells.",
        ),
    )


LEVEL: Final = coded("specwatch_fallback_level", "level", LEVEL_CODES, MODELS)
_EACH_LEVEL: Final = f"max by (cluster, namespace, model, level) (specwatch_fallback_level{{{MODELS}}}"
_CHANGED: Final = "cluster, namespace, model, level"


def events(source: Source) -> tuple[Event, ...]:
    """What changed: deploys, restarts, drift alarms, fallback transitions, scaling."""
    restarted = (
        f"count by (cluster, namespace) (increase(specwatch_engine_restarts_total{{{NAMESPACE_PODS}}}[2m]) > 0)"
        if source is Source.SIDECAR
        else f"count by (cluster, namespace) (changes(process_start_time_seconds{{{NAMESPACE_PODS}}}[2m]) > 0)"
    )
    return (
        Event(
            "Deploys",
            f"count by (cluster, namespace, replicaset) (kube_replicaset_created{{{NAMESPACES}}} > time() - 60)",
            "Deploy {{replicaset}}",
            "New ReplicaSet in {{namespace}}",
            GOOD,
        ),
        Event("Restarts", restarted, "Restart", "Engines began again in {{namespace}}", OTHER),
        Event(
            "Drift alarms",
            "sum by (cluster, namespace, model) "
            f'(increase(specwatch_drift_alarms_total{{traffic_class="", {MODELS}}}[2m])) > 0',
            "Drift alarm {{model}}",
            "The draft of {{model}} in {{namespace}} no longer fits its target",
            BAD,
        ),
        Event(
            "Fallback transitions",
            f"({_EACH_LEVEL} == 1)) unless on ({_CHANGED}) ({_EACH_LEVEL} offset 1m) == 1)\n"
            f"and on (cluster, namespace, model) specwatch_fallback_level{{{MODELS}}} offset 1m",
            "Fallback {{model}}: {{level}}",
            "The level in force in {{namespace}} is now {{level}}",
            WATCH,
        ),
        Event(
            "Scale events",
            "max by (cluster, namespace, horizontalpodautoscaler) "
            f"(changes(kube_horizontalpodautoscaler_status_desired_replicas{{{NAMESPACES}}}[2m])) > 0",
            "Scaled {{horizontalpodautoscaler}}",
            "Another number of replicas is wanted in {{namespace}}",
            PLAIN,
        ),
    )
