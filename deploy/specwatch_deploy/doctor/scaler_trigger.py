"""What scales a workload: KEDA's Prometheus triggers and the HPA's external metrics, in the same words.

Sources: KEDA 2.20 `pkg/scalers/prometheus_scaler.go`, `apis/keda/v1alpha1/scaledobject_types.go`; autoscaling/v2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from specwatch_alerts.promql import PromQLError, parse
from specwatch_alerts.promql_tree import Aggregate, Node, Selector, selectors
from specwatch_deploy.doctor.adapter_rules import AdapterRule, adapter_rules
from specwatch_deploy.doctor.document import Document, Key
from specwatch_deploy.doctor.finding import Place
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.metric_name import owner_of
from specwatch_deploy.doctor.placeholder import is_placeholder
from specwatch_deploy.doctor.query import Query, Role
from specwatch_deploy.scale.hpa_metric import TargetType

KEDA_MOST: Final = 100
"""`maxReplicaCount` where none is given."""

_QUANTITY: Final = re.compile(r"([0-9.]+)([mkKMGT]i?)?")
_GOOGLE: Final = re.compile(r"prometheus\.googleapis\.com[|/](.+)[|/]gauge")
_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_NO_SCALER: Final = frozenset({"panels", "groups"})
"""Parts of dashboards and rule files, which are long and have no triggers."""
_UNITS: Final = {"m": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}


@dataclass(frozen=True, slots=True)
class Trigger:
    """One signal with its threshold.

    Attributes:
        document: that holds it.
        path: of the trigger in it.
        part: object and trigger, in words.
        query: PromQL; empty if it is not known.
        kind: how the value is compared; None if it is not one of the two.
        threshold: the target; None if there is none that can be read.
        least: replicas that are always there, 1 or more.
        most: replicas.
        keda: whether it is a trigger of KEDA.
        single: whether it takes one element only; KEDA does.
        adapted: whether an adapter that was not given serves it, and may have scaled it.
        query_at: path of the query in the document; below the trigger's own where it is empty.
        target_at: path of the threshold in the document; below the trigger's own where it is empty.
    """

    document: Document
    path: tuple[Key, ...]
    part: str
    query: str
    kind: TargetType | None
    threshold: float | None
    least: int
    most: int
    keda: bool
    single: bool = False
    adapted: bool = False
    query_at: tuple[Key, ...] = ()
    target_at: tuple[Key, ...] = ()

    @property
    def query_place(self) -> Place:
        """Place of what it reads."""
        own = self.query_at or (*self.path, *(("metadata", "query") if self.keda else ()))
        return self.document.place(*own, part=self.part)

    @property
    def target_place(self) -> Place:
        """Place of the threshold."""
        own = self.target_at or (*self.path, *(("metadata", "threshold") if self.keda else ("target",)))
        return self.document.place(*own, part=self.part)

    def place(self, *key: Key) -> Place:
        """Place of a part of it."""
        return self.document.place(*self.path, *key, part=self.part)

    @property
    def tree(self) -> Node | None:
        """The query as a tree; None if it is none, which is said elsewhere."""
        return query_tree(self.query)

    @property
    def series(self) -> frozenset[str]:
        """Names of the series that it reads."""
        tree = self.tree
        return frozenset() if tree is None else frozenset(one.name for one in selectors(tree) if one.name)


@cache
def query_tree(query: str) -> Node | None:
    """The tree of a query; None if it is empty or no PromQL."""
    try:
        return parse(query) if query.strip() else None
    except (PromQLError, RecursionError):
        return None


def rows_of(document: Document, *path: Key) -> list[tuple[int, Mapping[str, Any]]]:
    """The objects of a list, with their numbers; nothing if there is no list."""
    found = document.at(*path)
    return (
        [(at, one) for at, one in enumerate(found) if isinstance(one, Mapping)] if isinstance(found, list) else []
    )


def triggers_of(document: Document) -> Iterator[tuple[tuple[Key, ...], Mapping[str, Any], str]]:
    """KEDA's Prometheus triggers, with path, metadata, and what to call them.

    They are those of a ScaledObject or a ScaledJob, and others that have their form: in a chart's values, in an
    excerpt, in an object whose controller makes a ScaledObject of them.
    """
    for base in trigger_lists(document):
        for number, row in rows_of(document, *base):
            if row.get("type") == "prometheus":
                meta = row.get("metadata")
                name = f" ({row['name']})" if row.get("name") else ""
                part = f"{holder(document)}trigger {number}{name}"
                yield (*base, number), (meta if isinstance(meta, Mapping) else {}), part


def holder(document: Document) -> str:
    """The object in words, with a comma behind it; empty for a text that is no object."""
    return f"{document.kind} {document.name}, " if document.kind else ""


def trigger_lists(document: Document) -> Iterator[tuple[Key, ...]]:
    """Paths of the lists of triggers in a document."""
    if document.kind in {"ScaledObject", "ScaledJob"}:
        yield ("spec", "triggers")
    elif not (isinstance(document.body, Mapping) and _NO_SCALER & set(document.body)):
        yield from _lists_below(document.body, ())


def takes_null_as_zero(meta: Mapping[str, Any]) -> bool:
    """Whether KEDA takes an empty answer for 0; it does so unless it is told not to."""
    return str(meta.get("ignoreNullValues", "true")).strip().lower() not in {"false", "f", "0"}


def _lists_below(value: Any, path: tuple[Key, ...]) -> Iterator[tuple[Key, ...]]:
    if isinstance(value, list):
        if any(map(_is_trigger, value)):
            yield path
            return
        for number, one in enumerate(value):
            yield from _lists_below(one, (*path, number))
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _lists_below(one, (*path, key))


def _is_trigger(row: Any) -> bool:
    meta = row.get("metadata") if isinstance(row, Mapping) else None
    return isinstance(meta, Mapping) and row.get("type") == "prometheus" and isinstance(meta.get("query"), str)


def scaler_queries(document: Document) -> Iterator[Query]:
    """Queries of KEDA's Prometheus triggers, and of scalers that are kinds of their own."""
    for path, meta, part in triggers_of(document):
        text = meta.get("query")
        if isinstance(text, str) and text.strip():
            place = document.place(*path, "metadata", "query", part=part)
            yield Query(text, Role.SCALER, place, part, divided=_divides(document, path))


def _divides(document: Document, path: tuple[Key, ...]) -> bool:
    """Whether KEDA's HPA divides the value by the replicas; with a formula it is the formula's matter."""
    formula = document.at("spec", "advanced", "scalingModifiers")
    return bool(formula) or document.at(*path, "metricType") != TargetType.VALUE


def pods_queries(document: Document) -> Iterator[Query]:
    """Series that an HPA names as they are: in Google's adapter, or with an engine's own colon."""
    if document.kind != "HorizontalPodAutoscaler":
        return
    for number, row in rows_of(document, "spec", "metrics"):
        for key in ("pods", "external", "object"):
            name = document.at("spec", "metrics", number, key, "metric", "name")
            series = _series(name)
            if row.get("type") == key.capitalize() and ":" in series:
                part = f"HorizontalPodAutoscaler {document.name}, metric {name}"
                place = document.place("spec", "metrics", number, key, "metric", "name", part=part)
                yield Query(series, Role.NAME, place, part, name=str(name))


def _series(name: object) -> str:
    """The gauge that a metric's name stands for, if it is an engine's; empty for any other."""
    google = _GOOGLE.fullmatch(str(name))
    series = google[1] if google is not None else str(name)
    return series if _NAME.fullmatch(series) and owner_of(series) is not None else ""


def keda_and_hpa(inputs: Inputs) -> Iterator[Trigger]:
    """Triggers of KEDA and metrics of HPAs whose threshold means something by itself."""
    for document in inputs.documents:
        if not document.at("spec", "advanced", "scalingModifiers"):  # with a formula thresholds are inert
            yield from _keda(document)
    rules = {
        (rule.name, rule.external): rule
        for document in inputs.documents
        for rule in adapter_rules(document)
        if rule.name
    }
    for document in inputs.of_kind("HorizontalPodAutoscaler"):
        yield from _hpa(document, rules)


def number_of(value: object) -> float | None:
    """A number, or a quantity such as 500m; None if it is neither."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    try:
        return None if match is None else float(match[1]) * _UNITS.get(match[2] or "", 1.0)
    except ValueError:
        return None


def whole_of(document: Document, *path: Key) -> int | None:
    """A whole number at a path; None if there is none."""
    value = document.at(*path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _keda(document: Document) -> Iterator[Trigger]:
    if document.kind == "ScaledJob":  # its replicas are jobs
        return
    for path, meta, part in triggers_of(document):
        spec = path[:-2]
        least = whole_of(document, *spec, "minReplicaCount") or 0
        most = whole_of(document, *spec, "maxReplicaCount") or KEDA_MOST
        open_ends = any(is_placeholder(document.at(*spec, f"{one}ReplicaCount")) for one in ("min", "max"))
        query, kind = meta.get("query"), document.at(*path, "metricType") or "AverageValue"
        yield Trigger(
            document,
            path,
            part,
            query if isinstance(query, str) else "",
            TargetType(str(kind)) if str(kind) in set(TargetType) and not open_ends else None,
            number_of(meta.get("threshold")),
            max(least, 1),
            most,
            keda=True,
            single=True,
        )


def _pods(document: Document, number: int, rules: Mapping[tuple[str, bool], AdapterRule]) -> Iterator[Trigger]:
    """A metric of pods: the HPA compares the mean over the pods, which is what `Value` does with a mean."""
    path: tuple[Key, ...] = ("spec", "metrics", number, "pods")
    name = document.at(*path, "metric", "name")
    rule = rules.get((str(name), False))
    tree = query_tree(rule.query) if rule is not None else None
    plain = isinstance(tree, Aggregate) and isinstance(tree.argument, Selector)
    series = _series(name) if rule is None else (rule.series if plain else "")
    yield Trigger(
        document,
        path,
        f"HorizontalPodAutoscaler {document.name}, metric {name}",
        f"avg({series})" if series else "",
        TargetType.VALUE,
        number_of(document.at(*path, "target", "averageValue")),
        max(whole_of(document, "spec", "minReplicas") or 1, 1),
        whole_of(document, "spec", "maxReplicas") or 1,
        keda=False,
        adapted=rule is None and ":" not in str(name),
    )


def _hpa(document: Document, rules: Mapping[tuple[str, bool], AdapterRule]) -> Iterator[Trigger]:
    for number, row in rows_of(document, "spec", "metrics"):
        external = row.get("external")
        if row.get("type") == "Pods":
            yield from _pods(document, number, rules)
        if row.get("type") != "External" or not isinstance(external, Mapping):
            continue
        path: tuple[Key, ...] = ("spec", "metrics", number, "external")
        name = document.at(*path, "metric", "name")
        rule = rules.get((str(name), True))
        kind = document.at(*path, "target", "type")
        value = document.at(*path, "target", "value" if kind == "Value" else "averageValue")
        yield Trigger(
            document,
            path,
            f"HorizontalPodAutoscaler {document.name}, metric {name}",
            "" if rule is None else rule.query,
            TargetType(str(kind)) if str(kind) in set(TargetType) else None,
            number_of(value),
            max(whole_of(document, "spec", "minReplicas") or 1, 1),
            whole_of(document, "spec", "maxReplicas") or 1,
            keda=False,
        )
