"""What a scaler scales: a workload with a fixed number of replicas, a kind that an HPA cannot select pods of.

Sources: helm and server-side apply set what a template holds; the HPA's controller says "selector is required".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.finding import Finding, found
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.scaler_owners import SCALERS, target_of
from specwatch_deploy.doctor.scaler_trigger import rows_of
from specwatch_deploy.doctor.subject import is_about_serving

_MADE: Final = {"LLMInferenceService": "-kserve", "InferenceService": "-predictor"}
"""What KServe adds to an object's name for the Deployment that it makes of it."""
_KSERVE: Final = "serving.kserve.io/"
_BY_OTHERS: Final = frozenset({"external", "none"})
_OTHERS: Final = "serving.kserve.io/autoscalerClass: external"
_WORKLOADS: Final = ("Deployment", "StatefulSet", "LeaderWorkerSet", "ModelServing")


def workload_of(document: Document, inputs: Inputs) -> Document | None:
    """The workload that a scaler scales, if it was given."""
    target = target_of(document)
    return next(
        (one for one in inputs.of_kind(*_WORKLOADS, *_MADE) if target is not None and _named(one, target)), None
    )


def text_of(workload: Document) -> str:
    """Everything that its pods are started with, as one text."""
    return json.dumps(workload.at("spec"), default=str, ensure_ascii=False)


def fixed_replicas(inputs: Inputs) -> Iterator[Finding]:
    """Replicas that the workload's own manifest sets; what an API server gave says nothing about a manifest."""
    for document in inputs.of_kind(*SCALERS):
        workload = workload_of(document, inputs)
        if workload is None or workload.at("metadata", "resourceVersion") or _by_template(workload):
            continue
        replicas = workload.at("spec", "replicas")
        if replicas is not None and (is_about_serving(workload) or is_about_serving(document)):
            yield found(
                "scaler-fixed-replicas",
                workload.place("spec", "replicas", part=f"{workload.kind} {workload.name}"),
                f"replicas {replicas} is set beside {document.kind} {document.name}, which scales it: every helm "
                f"upgrade or sync sets {replicas} again",
                evidence=f"the scaler is in {document.place('spec', 'scaleTargetRef')}",
            )


def no_selector(inputs: Inputs) -> Iterator[Finding]:
    """Kinds with a scale subresource through which an HPA finds no pods."""
    for document in inputs.of_kind("CustomResourceDefinition"):
        for number, _ in rows_of(document, "spec", "versions"):
            at = ("spec", "versions", number, "subresources", "scale")
            scale = document.at(*at)
            if isinstance(scale, Mapping) and not scale.get("labelSelectorPath"):
                kind = document.at("spec", "names", "kind")
                yield found(
                    "scaler-no-selector",
                    document.place(*at, part=f"CustomResourceDefinition {document.name}"),
                    f"the scale subresource of {kind} has no labelSelectorPath: an HPA on it fails with "
                    '"selector is required"',
                    mended="labelSelectorPath: .status.labelSelector",
                )


def of_kserve(inputs: Inputs) -> Iterator[Finding]:
    """A scaler of one's own beside the one that KServe makes for the same Deployment."""
    for document in inputs.of_kind("ScaledObject", "HorizontalPodAutoscaler"):
        service = workload_of(document, inputs)
        if service is not None and _makes_scaler(service) and not rows_of(document, "metadata", "ownerReferences"):
            yield found(
                "scaler-two-owners",
                document.place("spec", "scaleTargetRef", part=f"{document.kind} {document.name}"),
                f"{service.kind} {service.name} makes a scaler for its Deployment, and {document.kind} "
                f"{document.name} scales it too: they overwrite each other's replicas",
                evidence=f"the {service.kind} is in {service.place('metadata', 'name')}",
                mended=_OTHERS if service.kind == "InferenceService" else "",
            )


def _makes_scaler(service: Document) -> bool:
    """Whether KServe scales it by an HPA or a ScaledObject of its own."""
    if service.kind == "LLMInferenceService":
        return isinstance(service.at("spec", "scaling"), Mapping)
    notes = service.at("metadata", "annotations") or {}
    raw = notes.get(f"{_KSERVE}deploymentMode") in {"RawDeployment", "Standard"}
    return service.kind == "InferenceService" and raw and notes.get(f"{_KSERVE}autoscalerClass") not in _BY_OTHERS


def _named(workload: Document, target: tuple[str, str, str]) -> bool:
    space: Any = workload.at("metadata", "namespace") or ""
    kind, name = workload.kind, str(workload.at("metadata", "name"))
    if kind in _MADE:
        kind, name = "Deployment", f"{name}{_MADE[kind]}"
    return (kind, name) == target[1:] and (not space or not target[0] or space == target[0])


def _by_template(workload: Document) -> bool:
    """Whether the number is a placeholder of a template, which may leave it out."""
    return not isinstance(workload.at("spec", "replicas"), int | None)
