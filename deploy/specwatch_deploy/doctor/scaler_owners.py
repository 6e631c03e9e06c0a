"""Two that scale the same thing: both write the replicas, and they overwrite each other.

Sources: KEDA 2.20 `scaledobject_webhook.go` (`verifyHpas`, `verifyScaledObjects`); the API
`external.metrics.k8s.io` has one server in a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from specwatch_deploy.doctor.adapter_rules import adapter_rules
from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.finding import Finding, found
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.scaler_object import hpa_name
from specwatch_deploy.doctor.scaler_trigger import rows_of

_TRANSFER: Final = "scaledobject.keda.sh/transfer-hpa-ownership"
_OF_PODS: Final = frozenset({"cpu", "memory"})

SCALERS: Final = ("ScaledObject", "HorizontalPodAutoscaler", "PodAutoscaler")
"""Kinds with a scaleTargetRef whose controller writes the replicas, or makes an HPA that does."""

Target = tuple[str, str, str]
"""Namespace, kind and name of what is scaled."""


def two_owners(inputs: Inputs) -> Iterator[Finding]:
    """One workload, several scalers."""
    seen: dict[tuple[Target, str], Document] = {}
    for document in inputs.of_kind(*SCALERS):
        target = target_of(document)
        if target is None:
            continue
        first = seen.setdefault((target, _role_of(document)), document)
        if first is document or _same_object(first, document) or _hand_in_hand(first, document):
            continue
        yield found(
            "scaler-two-owners",
            document.place("spec", "scaleTargetRef", part=f"{document.kind} {document.name}"),
            f"{target[1]} {target[2]} is scaled by {first.kind} {first.name} and by {document.kind} "
            f"{document.name}: they overwrite each other's replicas",
            evidence=f"the first is in {first.place('spec', 'scaleTargetRef')}",
        )


def two_servers(inputs: Inputs) -> Iterator[Finding]:
    """KEDA and prometheus-adapter both want to serve external metrics, and a cluster has one server for them."""
    scaled = next((one for one in inputs.of_kind("ScaledObject") if _external(one)), None)
    if scaled is None:
        return
    for document in inputs.documents:
        rule = next((one for one in adapter_rules(document) if one.external), None)
        if rule is not None:
            yield found(
                "scaler-two-servers",
                document.place(*rule.path, part=f"adapter rule {rule.name}"),
                f"prometheus-adapter serves external metrics here and KEDA does for ScaledObject {scaled.name}: a "
                "cluster has one server of external.metrics.k8s.io, and the other's metrics are not found",
                evidence=f"the ScaledObject is in {scaled.place('metadata', 'name')}",
            )


def target_of(document: Document) -> Target | None:
    """What a scaler scales; None if it does not say."""
    ref = document.at("spec", "scaleTargetRef")
    if not isinstance(ref, Mapping) or not ref.get("name"):
        return None
    space = str(document.at("metadata", "namespace") or "")
    return space, str(ref.get("kind") or "Deployment"), str(ref["name"])


def _role_of(document: Document) -> str:
    """The part of the workload that a scaler scales, such as the decoding pods of AIBrix's StormService."""
    return str(document.at("spec", "subTargetSelector", "roleName") or "")


def _same_object(one: Document, other: Document) -> bool:
    """Whether both are the same object, given twice: in a file and in the cluster."""
    return (one.kind, one.name) == (other.kind, other.name)


def _hand_in_hand(one: Document, other: Document) -> bool:
    """Whether one is the HPA that KEDA made for the other, or has handed over to it."""
    scaled, autoscaler = (one, other) if one.kind == "ScaledObject" else (other, one)
    if scaled.kind == autoscaler.kind:
        return False
    owners = rows_of(autoscaler, "metadata", "ownerReferences")
    if any(row.get("kind") == "ScaledObject" for _, row in owners):
        return True
    handed = str(scaled.at("metadata", "annotations", _TRANSFER)).lower() == "true"
    generated = autoscaler.at("metadata", "labels", "scaledobject.keda.sh/name") == scaled.at("metadata", "name")
    return generated or (handed and autoscaler.at("metadata", "name") == hpa_name(scaled))


def _external(document: Document) -> bool:
    return any(row.get("type") not in _OF_PODS for _, row in rows_of(document, "spec", "triggers"))
