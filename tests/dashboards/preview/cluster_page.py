"""What Kubernetes, KEDA and the GPUs would say beside the demonstration: made up, from the time alone."""

from __future__ import annotations

import math
import time
from typing import Final

NAMESPACE: Final = "llm"
_HPA: Final = 'namespace="llm", horizontalpodautoscaler="keda-hpa-llama"'
_KEDA: Final = 'scaledObject="llama", scaledResource="llama", metric="s0-prometheus", namespace="llm"'
# Shares of the scene at which ReplicaSets are made: those of the demonstration's two deploys.
_DEPLOYS: Final = ((0.40, "llama-7c9f"), (0.69, "llama-58d4"))


def page(elapsed_s: float, total_s: float) -> str:
    """The page at a time; types do not matter here and are left out."""
    share = elapsed_s / total_s
    crowded = 0.45 < share < 0.75
    rows = [
        f"kube_horizontalpodautoscaler_spec_min_replicas{{{_HPA}}} 1",
        f"kube_horizontalpodautoscaler_spec_max_replicas{{{_HPA}}} 4",
        f"kube_horizontalpodautoscaler_status_current_replicas{{{_HPA}}} {3 if 0.52 < share < 0.8 else 2}",
        f"kube_horizontalpodautoscaler_status_desired_replicas{{{_HPA}}} {3 if crowded else 2}",
        f"keda_scaler_metrics_value{{{_KEDA}}} {2.6 if crowded else 1.4}",
        f"keda_scaler_detail_errors_total{{{_KEDA}}} {int(elapsed_s / 60)}",
        f"keda_scaler_empty_upstream_responses_total{{{_KEDA}}} 0",
    ]
    rows += [
        f'kube_replicaset_created{{namespace="llm", replicaset="{name}"}} {time.time() - (share - at) * total_s}'
        for at, name in _DEPLOYS
        if share >= at
    ]
    return "\n".join([*rows, *_gpus(elapsed_s)]) + "\n"


def _gpus(elapsed_s: float) -> list[str]:
    rows = []
    for number, pod in enumerate(("llama-draft-0", "llama-ngram-0")):
        where = (
            f'UUID="GPU-{number}", gpu="{number}", device="nvidia{number}", modelName="NVIDIA H200", '
            f'Hostname="node-1", namespace="llm", pod="{pod}"'
        )
        used = 70 - 30 * number + 8 * math.sin(elapsed_s / 9)
        values = {"GPU_UTIL": used, "FB_USED": 118_000, "FB_FREE": 25_000, "POWER_USAGE": 250 + 5 * used}
        rows += [f"DCGM_FI_DEV_{name}{{{where}}} {value:.1f}" for name, value in values.items()]
    return rows
