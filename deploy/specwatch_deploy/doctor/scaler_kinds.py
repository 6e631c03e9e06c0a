"""Scalers that are kinds of their own: which series or query they read, and the target that is compared with it.

Sources: AIBrix `api/autoscaling/v1alpha1/podautoscaler_types.go` and `metrics/utils.go` (the first line of a pod's
page with the name in it); kthena `pkg/apis/workload/v1alpha1/autoscalingpolicy_types.go` and
`autoscaler/algorithm/recommendation.go` (pods: a mean against the target; Prometheus: value over target);
KServe v1beta1 `autoScaling` and its `keda_reconciler.go`; Knative 1.10 to 1.19, autoscaling-metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from specwatch_deploy.doctor.document import Document, Key
from specwatch_deploy.doctor.metric_name import series_named
from specwatch_deploy.doctor.query import Query, Role
from specwatch_deploy.doctor.scaler_trigger import KEDA_MOST, Trigger, number_of, rows_of, whole_of
from specwatch_deploy.scale.hpa_metric import TargetType

_COMPONENTS: Final = ("predictor", "transformer", "explainer")
_KNATIVE: Final = "autoscaling.knative.dev/"
KNATIVE_OWN: Final = frozenset({"concurrency", "rps", "cpu", "memory"})


@dataclass(frozen=True, slots=True)
class Signal:
    """What such an object reads.

    Attributes:
        at: path of the name or the query.
        text: the name of a series, or PromQL.
        promql: whether it is PromQL.
        target_at: path of the target.
        kind: how it is compared.
        bounds: path of the mapping with the bounds.
        exact: whether the name must be the series' own; else it may be a part of it.
    """

    at: tuple[Key, ...]
    text: str
    promql: bool
    target_at: tuple[Key, ...]
    kind: TargetType = TargetType.VALUE
    bounds: tuple[Key, ...] = ("spec",)
    exact: bool = True

    @property
    def series(self) -> str:
        """The query, or the series that the name stands for; empty if it is no engine's."""
        return self.text if self.promql else series_named(self.text, exact=self.exact)


def kind_queries(document: Document) -> Iterator[Query]:
    """What such objects read, as queries."""
    for one in _signals(document):
        if one.series:
            role = Role.SCALER if one.promql else Role.NAME
            part = f"{document.kind} {document.name}"
            name = "" if one.promql else one.text
            divided = one.kind is TargetType.AVERAGE_VALUE
            yield Query(one.series, role, document.place(*one.at, part=part), part, name=name, divided=divided)


def kind_triggers(document: Document) -> Iterator[Trigger]:
    """What such objects read, with their targets; a name of pods is compared by its mean."""
    for one in _signals(document):
        least = whole_of(document, *one.bounds, "minReplicas")
        yield Trigger(
            document,
            (),
            f"{document.kind} {document.name}{'' if one.promql else f', metric {one.text}'}",
            one.series if one.promql or not one.series else f"avg({one.series})",
            one.kind,
            number_of(document.at(*one.target_at)),
            max(1 if least is None else least, 1),
            whole_of(document, *one.bounds, "maxReplicas") or KEDA_MOST,
            keda=False,
            single=one.promql,
            query_at=one.at,
            target_at=one.target_at,
        )


def _signals(document: Document) -> Iterator[Signal]:
    reader = _READERS.get(document.kind)
    group = str(document.at("apiVersion") or "").partition("/")[0]
    if reader is not None and group == reader[0]:
        yield from reader[1](document)


def _aibrix(document: Document) -> Iterator[Signal]:
    if isinstance(document.at("spec", "targetMetric"), str):  # before 0.2: one metric, beside the bounds
        yield Signal(
            ("spec", "targetMetric"),
            document.at("spec", "targetMetric"),
            promql=False,
            target_at=("spec", "targetValue"),
            exact=False,
        )
    for number, row in rows_of(document, "spec", "metricsSources"):
        at: tuple[Key, ...] = ("spec", "metricsSources", number)
        if row.get("metricSourceType") == "pod" and isinstance(row.get("targetMetric"), str):
            yield Signal(
                (*at, "targetMetric"),
                row["targetMetric"],
                promql=False,
                target_at=(*at, "targetValue"),
                exact=False,
            )


def _kthena(document: Document) -> Iterator[Signal]:
    sources = [found for path in _kthena_targets(document) for found in _kthena_sources(document, path)]
    named = {name for name, _ in sources}
    yield from (one for _, one in sources)
    for number, row in rows_of(document, "spec", "metrics"):
        name = row.get("metricName") or row.get("name")  # `metricName` until the sources came into the policy
        if isinstance(name, str) and name not in named:
            at: tuple[Key, ...] = ("spec", "metrics", number)
            key = "metricName" if "metricName" in row else "name"
            yield Signal((*at, key), name, promql=False, target_at=(*at, "targetValue"))


def _kthena_targets(document: Document) -> Iterator[tuple[Key, ...]]:
    """Paths of what holds `metricSources`."""
    yield ("spec", "homogeneousTarget", "target")
    yield from (
        ("spec", "heterogeneousTarget", "params", number, "target")
        for number, _ in rows_of(document, "spec", "heterogeneousTarget", "params")
    )
    roles = document.at("spec", "disaggregatedTarget", "roles")
    yield from (("spec", "disaggregatedTarget", "roles", str(role)) for role in (roles or ()))


def _kthena_sources(document: Document, path: tuple[Key, ...]) -> Iterator[tuple[str, Signal]]:
    found = document.at(*path, "metricSources")
    for name, row in found.items() if isinstance(found, Mapping) else ():
        pod, server = (row.get(key) if isinstance(row, Mapping) else None for key in ("pod", "prometheus"))
        at = (*path, "metricSources", str(name))
        bounds = path[:-1] if path[-1] == "target" else path
        target = _kthena_target(document, path, str(name))
        if isinstance(server, Mapping) and isinstance(server.get("query"), str):
            where = (*at, "prometheus", "query")
            yield (
                str(name),
                Signal(
                    where,
                    server["query"],
                    promql=True,
                    target_at=target,
                    kind=TargetType.AVERAGE_VALUE,
                    bounds=bounds,
                ),
            )
        elif isinstance(pod, Mapping):
            key = "name" if pod.get("name") else ""
            where = (*at, "pod", *((key,) if key else ()))
            yield (
                str(name),
                Signal(where, str(pod.get("name") or name), promql=False, target_at=target, bounds=bounds),
            )


def _kthena_target(document: Document, path: tuple[Key, ...], name: str) -> tuple[Key, ...]:
    """Path of a metric's target: of the role, else of the policy."""
    for base in ((*path, "metrics"), ("spec", "metrics")):
        for number, row in rows_of(document, *base):
            if name in {row.get("name"), row.get("metricName")}:
                return (*base, number, "targetValue")
    return ("spec", "metrics")


def _kserve(document: Document) -> Iterator[Signal]:
    for component in _COMPONENTS:
        base: tuple[Key, ...] = ("spec", component)
        for number, row in rows_of(document, *base, "autoScaling", "metrics"):
            at = (*base, "autoScaling", "metrics", number)
            if row.get("type") == "External":
                yield from _kserve_external(document, (*at, "external"), base)
            elif row.get("type") == "PodMetric":
                where = (*at, "podmetric", "metric", "metricNames")
                target = (*at, "podmetric", "target", "value")
                names = document.at(*where)
                for place, name in enumerate(names if isinstance(names, list) else ()):
                    yield Signal((*where, place), str(name), promql=False, target_at=target, bounds=base)


def _kserve_external(document: Document, at: tuple[Key, ...], base: tuple[Key, ...]) -> Iterator[Signal]:
    query = document.at(*at, "metric", "query")
    if document.at(*at, "metric", "backend") == "prometheus" and isinstance(query, str) and query.strip():
        by_value = document.at(*at, "target", "type") == "Value"
        key = "value" if by_value else "averageValue"
        kind = TargetType.VALUE if by_value else TargetType.AVERAGE_VALUE
        yield Signal(
            (*at, "metric", "query"), query, promql=True, target_at=(*at, "target", key), kind=kind, bounds=base
        )


def _knative(document: Document) -> Iterator[Signal]:
    """A metric with a name of its own, which only Knative's HPA class can read."""
    at: tuple[Key, ...] = ("spec", "template", "metadata", "annotations")
    name = document.at(*at, f"{_KNATIVE}metric")
    if isinstance(name, str) and name not in KNATIVE_OWN:
        yield Signal((*at, f"{_KNATIVE}metric"), name, promql=False, target_at=(*at, f"{_KNATIVE}target"))


_READERS: Final[Mapping[str, tuple[str, Callable[[Document], Iterator[Signal]]]]] = {
    "AutoscalingPolicy": ("workload.serving.volcano.sh", _kthena),
    "AutoscalingPolicyBinding": ("workload.serving.volcano.sh", _kthena),
    "InferenceService": ("serving.kserve.io", _kserve),
    "PodAutoscaler": ("autoscaling.aibrix.ai", _aibrix),
    "Service": ("serving.knative.dev", _knative),
}
"""API group and reader of each kind."""
