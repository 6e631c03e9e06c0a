"""Signals that say nothing about waiting requests: GPU utilisation, and CPU of a workload on GPUs.

Sources: NVIDIA's field reference (DCGM_FI_DEV_GPU_UTIL is the share of time with any kernel); the guides of GKE and
llm-d for inference advise against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from specwatch_deploy.doctor.document import Document, Key
from specwatch_deploy.doctor.finding import Finding, found
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.scaler_owners import SCALERS
from specwatch_deploy.doctor.scaler_signals import triggers
from specwatch_deploy.doctor.scaler_target import text_of, workload_of
from specwatch_deploy.doctor.scaler_trigger import Trigger, rows_of

_BUSY: Final = re.compile(
    r"DCGM_FI_DEV_GPU_UTIL|dcgm_(fi_dev_)?gpu_util\w*|nvidia_gpu_duty_cycle|nvidia_smi_utilization_gpu\w*|"
    r"container_accelerator_duty_cycle|gpu_utilization|gpu_util",
    re.IGNORECASE,
)
_ENGINE: Final = re.compile(r"nvidia\.com/gpu|amd\.com/gpu|vllm|sglang|trtllm|tensorrt", re.IGNORECASE)
_OF_PODS: Final = frozenset({"cpu", "memory"})


def wrong_signals(inputs: Inputs) -> Iterator[Finding]:
    """Scalers that see nothing else."""
    by_object: dict[int, list[Trigger]] = {}
    for trigger in triggers(inputs):
        by_object.setdefault(id(trigger.document), []).append(trigger)
    for group in by_object.values():
        busy = [name for one in group for name in [_busy(one)] if name]
        if len(busy) == len(group):
            yield found(
                "scaler-wrong-signal",
                group[0].query_place,
                f"{busy[0]} is the share of time in which anything ran on the GPU: it is near its top with one "
                "request and with a hundred, and says nothing of those that wait",
            )
    for document in inputs.of_kind(*SCALERS):
        workload = workload_of(document, inputs)
        at = _only_pods(document)
        if at and workload is not None and _ENGINE.search(text_of(workload)):
            yield found(
                "scaler-wrong-signal",
                document.place(*at, part=f"{document.kind} {document.name}"),
                f"{workload.kind} {workload.name} serves on GPUs and is scaled by the CPU or memory of its pods: "
                "neither rises when requests wait",
            )


def _busy(trigger: Trigger) -> str:
    """The series of a GPU's utilisation that a trigger reads; empty if it is none."""
    name = str(trigger.document.at(*trigger.path, "metric", "name") or "") if not trigger.query else trigger.query
    match = _BUSY.search(name)
    return match[0] if match is not None else ""


def _only_pods(document: Document) -> tuple[Key, ...]:
    """Path of the first signal if all of them are CPU and memory; empty otherwise."""
    triggers_ = rows_of(document, "spec", "triggers")
    metrics = rows_of(document, "spec", "metrics")
    if triggers_ and all(row.get("type") in _OF_PODS for _, row in triggers_):
        return ("spec", "triggers", triggers_[0][0])
    if metrics and all(row.get("type") in {"Resource", "ContainerResource"} for _, row in metrics):
        return ("spec", "metrics", metrics[0][0])
    return ()
