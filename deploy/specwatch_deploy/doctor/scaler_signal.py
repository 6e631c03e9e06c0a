"""What a trigger is driven by: lost data that reads as 0, series that need a pod, requests that have to end first.

Sources: KEDA 2.20 `pkg/scalers/prometheus_scaler.go` (`ignoreNullValues` is true by default); vLLM 0.33
`v1/metrics/loggers.py` and TensorRT-LLM `metrics/collector.py`: queue time is observed when a request ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from specwatch_alerts.lint_shape import is_constant
from specwatch_alerts.promql_tree import Binary, selectors
from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.finding import Finding, Severity, found
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.metric_name import owner_of
from specwatch_deploy.doctor.scaler_signals import triggers
from specwatch_deploy.doctor.scaler_target import workload_of
from specwatch_deploy.doctor.scaler_trigger import (
    Trigger,
    query_tree,
    rows_of,
    takes_null_as_zero,
    triggers_of,
    whole_of,
)
from specwatch_deploy.doctor.subject import is_about_serving

_AT_END: Final = ("request_queue_time_seconds", "e2e_request_latency_seconds", "request_inference_time_seconds")
_IN_FLIGHT: Final = ("waiting", "num_queue_reqs", "queued", "oldest", "in_flight", "inflight", "queue_size")
_POOL: Final = ("inference_pool_average_", "inference_pool_per_pod_")
"""Endpoint picker of the Gateway API inference extension: of the pods of a pool, not renewed while it has none."""
_QUEUE: Final = ("inference_extension_flow_control_queue_size", "llm_d_epp_flow_control_queue_size")
"""Its own queue, which llm-d's guide for KEDA found to be exported only once a pod is ready."""
_ROUTERS: Final = frozenset({"dynamo"})
"""Their frontends count while no worker is there."""


def null_as_zero(inputs: Inputs) -> Iterator[Finding]:
    """Nothing, NaN and Inf become 0, so that lost targets scale to the minimum."""
    for document in inputs.documents:
        rows = list(triggers_of(document))
        for path, meta, part in rows if rows and _serves(document, inputs) else ():
            if not takes_null_as_zero(meta) or document.kind == "ScaledJob":
                continue
            if _never_empty(meta.get("query")):
                continue  # told as absent-as-zero
            yield found(
                "scaler-null-is-zero",
                document.place(*path, "metadata", _key(meta), part=part),
                "an empty answer counts as 0: when the targets are lost, KEDA scales to the minimum",
                mended='ignoreNullValues: "false"',
            )


def _serves(document: Document, inputs: Inputs) -> bool:
    """Whether a scaler, or the workload that it scales, has to do with a model server."""
    workload = workload_of(document, inputs)
    return is_about_serving(document) or (workload is not None and is_about_serving(workload))


def blind_at_zero(inputs: Inputs) -> Iterator[Finding]:
    """At no replica nobody exports the series, so that nothing wakes the first pod."""
    for document in inputs.of_kind("ScaledObject"):
        if (whole_of(document, "spec", "minReplicaCount") or 0) > 0 or _wakes(document):
            continue
        if whole_of(document, "spec", "idleReplicaCount"):
            continue
        yield found(
            "scaler-blind-at-zero",
            document.place("spec", "minReplicaCount", part=f"ScaledObject {document.name}"),
            "it scales to 0 replicas, and its queries read series that only running pods have: nothing wakes it",
            evidence=""
            if document.at("spec", "minReplicaCount") == 0
            else "minReplicaCount is 0 where it is not given",
            mended="minReplicaCount: 1",
            severity=Severity.WARNING if _reads_queue(document) else None,
        )


def seen_at_end(inputs: Inputs) -> Iterator[Finding]:
    """Queue time of requests that ended says nothing of those that wait."""
    by_object: dict[int, list[Trigger]] = {}
    for trigger in triggers(inputs):
        by_object.setdefault(id(trigger.document), []).append(trigger)
    for group in by_object.values():
        names = frozenset[str]().union(*(one.series for one in group))
        if any(part in name for name in names for part in _IN_FLIGHT):
            continue
        for trigger in group:
            late = sorted(
                name for name in trigger.series if owner_of(name) and any(part in name for part in _AT_END)
            )
            if late:
                yield found(
                    "scaler-seen-at-end",
                    trigger.query_place,
                    f"{late[0]} is counted when a request ends: it is late by a whole answer, blind to those that "
                    "wait, and stays high when the queue is gone",
                )


def _never_empty(query: object) -> bool:
    """Whether Prometheus always answers with a value: `or vector(0)`."""
    tree = query_tree(query) if isinstance(query, str) else None
    return isinstance(tree, Binary) and tree.operator == "or" and is_constant(tree.right)


def _key(meta: Mapping[str, Any]) -> str:
    return "ignoreNullValues" if "ignoreNullValues" in meta else "query"


def _wakes(document: Document) -> bool:
    """Whether any trigger can rise without a pod of the workload."""
    rows = rows_of(document, "spec", "triggers")
    queries = [meta.get("query") for _, meta, _ in triggers_of(document)]
    if len(queries) < len(rows) or not rows:
        return True
    return not all(isinstance(query, str) and _needs_pod(query) for query in queries)


def _reads_queue(document: Document) -> bool:
    """Whether an endpoint picker's queue is asked, which some versions export without a pod."""
    return any(name in str(meta.get("query")) for _, meta, _ in triggers_of(document) for name in _QUEUE)


def _of_pool(name: str) -> bool:
    return name.startswith((*_POOL, *_QUEUE))


def _needs_pod(query: str) -> bool:
    tree = query_tree(query)
    if tree is None:
        return False
    names = [one.name for one in selectors(tree)]
    if names and all(_of_pool(name) for name in names):
        return True
    owners = [owner_of(name) for name in names]
    return bool(names) and all(owner is not None and owner.engine not in _ROUTERS for owner in owners)
