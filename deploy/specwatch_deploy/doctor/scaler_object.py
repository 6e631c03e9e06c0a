"""ScaledObjects that KEDA refuses, or takes and cannot use.

Sources: KEDA 2.20 `apis/keda/v1alpha1/scaledobject_types.go` (`CheckFallbackValid`,
`CheckReplicaCountBoundsAreValid`), `scaledobject_webhook.go` (`verifyName`), `pkg/scalers/prometheus_scaler.go`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.finding import Finding, found
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.placeholder import is_placeholder
from specwatch_deploy.doctor.scaler_trigger import KEDA_MOST, number_of, rows_of, triggers_of, whole_of
from specwatch_deploy.doctor.subject import is_about_serving
from specwatch_deploy.scale.keda_trigger import FallbackBehavior

LONGEST: Final = 63
"""Letters of a label's value and of an HPA's name."""

PREFIX: Final = "keda-hpa-"
"""KEDA's own HPA is called this and the ScaledObject's name."""

_FOR_NONE: Final = (
    "the fallback holds for triggers of the metricType AverageValue only, and there is none: KEDA refuses the "
    "object, or does nothing when the metric is lost"
)
_FIELDS: Final = frozenset(
    {
        "advanced",
        "cooldownPeriod",
        "fallback",
        "idleReplicaCount",
        "initialCooldownPeriod",
        "maxReplicaCount",
        "minReplicaCount",
        "pollingInterval",
        "scaleTargetRef",
        "triggers",
    }
)
"""Of a ScaledObject's spec."""
_OF_PODS: Final = frozenset({"cpu", "memory"})
_EXPR_WORDS: Final = frozenset(
    {
        "and",
        "contains",
        "else",
        "endsWith",
        "false",
        "if",
        "in",
        "let",
        "matches",
        "nil",
        "not",
        "or",
        "startsWith",
        "true",
    }
)


def names(inputs: Inputs) -> Iterator[Finding]:
    """The name that KEDA makes must have room."""
    for document in inputs.of_kind("ScaledObject"):
        name = str(document.at("metadata", "name") or "")
        made = hpa_name(document)
        if max(len(name), len(made)) > LONGEST and not is_placeholder(made):
            yield found(
                "scaler-name-too-long",
                document.place("metadata", "name", part=f"ScaledObject {document.name}"),
                f"KEDA calls its HPA {made}, which are {len(made)} letters of {LONGEST}: no HPA is made",
            )


def hpa_name(document: Document) -> str:
    """Name of the HPA that KEDA makes for a ScaledObject."""
    own = document.at("spec", "advanced", "horizontalPodAutoscalerConfig", "name")
    return str(own or f"{PREFIX}{document.at('metadata', 'name')}")


def addresses(inputs: Inputs) -> Iterator[Finding]:
    """A Prometheus trigger asks an address, a query and a threshold, all of them texts."""
    for document in inputs.documents:
        for at, meta, part in triggers_of(document):
            path = (*at, "metadata")
            address = meta.get("serverAddress")
            whole = document.kind in {"ScaledObject", "ScaledJob"}  # a template may add to the others, and quote
            if (whole or address is not None) and not _usable(address):
                said = "has no serverAddress" if address is None else f"has the serverAddress {address!r}"
                yield found(
                    "scaler-missing-address",
                    document.place(*path, *(("serverAddress",) if address is not None else ()), part=part),
                    f"the trigger {said}: KEDA cannot ask Prometheus, and no HPA is made",
                    mended="" if isinstance(address, str) else "serverAddress: http://prometheus.example.com:9090",
                )
            for problem, key in _unusable(meta) if whole else ():
                yield found("scaler-trigger-invalid", document.place(*path, key, part=part), problem)


def fallbacks(inputs: Inputs) -> Iterator[Finding]:
    """A fallback that can never hold is worse than none: it looks as if there were one."""
    for document in inputs.of_kind("ScaledObject"):
        fallback = document.at("spec", "fallback")
        if not isinstance(fallback, Mapping):
            continue
        for problem, *path in _fallback_faults(document, fallback):
            place = document.place("spec", *path, part=f"ScaledObject {document.name}")
            yield found("scaler-fallback-invalid", place, problem)
        if is_about_serving(document):
            yield from _low_fallback(document, fallback)


def bounds(inputs: Inputs) -> Iterator[Finding]:
    """Replica counts must be in order."""
    for document in inputs.of_kind("ScaledObject"):
        least, most = whole_of(document, "spec", "minReplicaCount"), whole_of(document, "spec", "maxReplicaCount")
        idle = whole_of(document, "spec", "idleReplicaCount")
        part = f"ScaledObject {document.name}"
        if least is not None and most is not None and least > most:
            yield found(
                "scaler-trigger-invalid",
                document.place("spec", "minReplicaCount", part=part),
                f"minReplicaCount {least} is more than maxReplicaCount {most}",
            )
        if idle is not None and idle >= (least or 0):
            yield found(
                "scaler-trigger-invalid",
                document.place("spec", "idleReplicaCount", part=part),
                f"idleReplicaCount {idle} must be less than minReplicaCount {least or 0}",
            )


def misplaced(inputs: Inputs) -> Iterator[Finding]:
    """Settings where nobody reads them: Kubernetes drops what a ScaledObject does not have."""
    for document in inputs.of_kind("ScaledObject"):
        part = f"ScaledObject {document.name}"
        spec = document.at("spec")
        for key in spec if isinstance(spec, Mapping) else ():
            if key not in _FIELDS:
                meant = difflib.get_close_matches(str(key), sorted(_FIELDS), n=1)
                hint = f"; {meant[0]} is meant" if meant else ""
                said = f"a ScaledObject has no spec.{key}, and Kubernetes drops it{hint}"
                yield found("scaler-trigger-invalid", document.place("spec", str(key), part=part), said)
        for at, meta, trigger in triggers_of(document):
            if "metricType" in meta and not document.at(*at, "metricType"):
                path = (*at, "metadata", "metricType")
                said = "metricType stands in metadata, where KEDA does not read it: AverageValue is used"
                mended = f"metricType: {meta['metricType']}, beside type and metadata"
                yield found("scaler-trigger-invalid", document.place(*path, part=trigger), said, mended=mended)


def pods_values(inputs: Inputs) -> Iterator[Finding]:
    """An HPA's metric of pods has one kind of target."""
    for document in inputs.of_kind("HorizontalPodAutoscaler"):
        for number, row in rows_of(document, "spec", "metrics"):
            kind = document.at("spec", "metrics", number, "pods", "target", "type")
            if row.get("type") == "Pods" and kind is not None and kind != "AverageValue":
                yield found(
                    "scaler-trigger-invalid",
                    document.place(
                        *("spec", "metrics", number, "pods", "target", "type"),
                        part=f"HorizontalPodAutoscaler {document.name}",
                    ),
                    f"a metric of pods is compared by AverageValue only, and Kubernetes refuses {kind}",
                    mended="type: AverageValue, with averageValue",
                )


def formulas(inputs: Inputs) -> Iterator[Finding]:
    """A formula knows triggers by their names."""
    for document in inputs.of_kind("ScaledObject"):
        at = ("spec", "advanced", "scalingModifiers", "formula")
        formula = document.at(*at)
        if not isinstance(formula, str) or not formula.strip():
            continue
        rows = rows_of(document, "spec", "triggers")
        names = {str(row["name"]) for _, row in rows if row.get("name")}
        part = f"ScaledObject {document.name}"
        for number, row in rows:
            if not row.get("name") and _own(row):
                said = "scalingModifiers has a formula, and the trigger has no name: KEDA refuses the object"
                yield found("scaler-trigger-invalid", document.place("spec", "triggers", number, part=part), said)
        for word in _words(formula):
            if word not in names:
                said = (
                    f"the formula reads {word}, and no trigger has that name; they are: {', '.join(sorted(names))}"
                )
                yield found("scaler-trigger-invalid", document.place(*at, part=part), said)


def _words(formula: str) -> list[str]:
    """Names in an expression of expr-lang that are neither functions nor its own words or variables."""
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", " ", formula)
    own = set(re.findall(r"\blet\s+(\w+)", bare)) | _EXPR_WORDS
    found = re.findall(r"(?<![\w.#])([A-Za-z_]\w*)\b(?!\s*\()", bare)
    return sorted(set(found) - own)


def _unusable(meta: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("query", "threshold"):
        if meta.get(key) is None or meta[key] == "":
            yield f"the trigger has no {key}", key
    for key, value in meta.items():
        if not isinstance(value, str) and value is not None:
            yield f"{key} is no text: Kubernetes refuses the object; write it in quotes", str(key)
    threshold = meta.get("threshold")
    if is_placeholder(threshold):
        return
    if isinstance(threshold, str) and threshold and not (number_of(threshold) or 0.0) > 0.0:
        yield f"threshold {threshold!r} is no number above 0", "threshold"


def _fallback_faults(document: Document, fallback: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key in ("failureThreshold", "replicas"):
        value = fallback.get(key)
        if is_placeholder(value):
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            yield f"fallback.{key} is {value!r} and must be a whole number, 0 or more", "fallback", key
    behavior = fallback.get("behavior", "static")
    if str(behavior) not in set(FallbackBehavior):
        known = ", ".join(FallbackBehavior)
        yield f"fallback.behavior {behavior!r} is none of: {known}", "fallback", "behavior"
    modifiers = document.at("spec", "advanced", "scalingModifiers")
    if isinstance(modifiers, Mapping) and modifiers:
        yield from _modifier_faults(modifiers)
        return
    kinds = [row.get("metricType", "AverageValue") for _, row in rows_of(document, "spec", "triggers") if _own(row)]
    if "AverageValue" not in kinds:
        yield _FOR_NONE, "fallback"


def _low_fallback(document: Document, fallback: Mapping[str, Any]) -> Iterator[Finding]:
    """A fixed number that is the least one takes replicas away when the metric is lost under load."""
    replicas = whole_of(document, "spec", "fallback", "replicas")
    least = max(whole_of(document, "spec", "minReplicaCount") or 0, 1)
    most = whole_of(document, "spec", "maxReplicaCount") or KEDA_MOST
    fixed = str(fallback.get("behavior", FallbackBehavior.STATIC)) == FallbackBehavior.STATIC
    if replicas is not None and fixed and 0 <= replicas <= least < most:
        yield found(
            "scaler-fallback-low",
            document.place("spec", "fallback", "replicas", part=f"ScaledObject {document.name}"),
            f"when the metric is lost, KEDA sets {replicas} of up to {most} replicas, however many are busy",
            mended=f"behavior: {FallbackBehavior.CURRENT_IF_HIGHER}",
        )


def _own(row: Mapping[str, Any]) -> bool:
    return row.get("type") not in _OF_PODS


def _modifier_faults(modifiers: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    where = ("advanced", "scalingModifiers")
    if modifiers.get("metricType") == "Value":
        yield "with scalingModifiers the fallback needs the metricType AverageValue", *where, "metricType"
    target = str(modifiers.get("target", ""))
    if not target.isdigit():
        yield (
            f"scalingModifiers.target {target!r} is no whole number: the fallback then fails without a word",
            *where,
            "target",
        )


def _usable(address: object) -> bool:
    return is_placeholder(address) or (isinstance(address, str) and _is_url(address))


def _is_url(address: str) -> bool:
    try:
        parts = urlsplit(address.strip())
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
