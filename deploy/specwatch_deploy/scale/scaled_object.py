"""KEDA's ScaledObject for the demand.

Source: KEDA 2.20, keda.sh/v1alpha1. What each choice avoids: `AverageValue` with threshold 1 does not wait for
loading pods and does not multiply by them; `ignoreNullValues: "false"` makes lost data an error and not a 0; the
fallback keeps what is there; `max()` gives one element.
"""

from __future__ import annotations

from typing import Any, Final

from specwatch_deploy.scale.demand_rules import demand_query
from specwatch_deploy.scale.gpu_behavior import gpu_behavior
from specwatch_deploy.scale.keda_trigger import FallbackBehavior
from specwatch_deploy.scale.scale_settings import DemandSettings
from specwatch_deploy.scale.scaler_settings import ScalerSettings

FAILURES: Final = 4
"""Errors in a row that are borne: a minute of rounds."""

COOLDOWN_S: Final = 900


def scaled_object(demand: DemandSettings, scaler: ScalerSettings) -> dict[str, Any]:
    """The object."""
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {
            "name": scaler.workload,
            "namespace": demand.namespace,
            "labels": {"app.kubernetes.io/managed-by": "specwatch"},
        },
        "spec": {
            "scaleTargetRef": {"apiVersion": scaler.api_version, "kind": scaler.kind, "name": scaler.workload},
            "pollingInterval": 15,
            "cooldownPeriod": COOLDOWN_S,
            "minReplicaCount": scaler.least,
            "maxReplicaCount": scaler.most,
            "fallback": {
                "failureThreshold": FAILURES,
                "replicas": scaler.spare,
                "behavior": FallbackBehavior.CURRENT_IF_HIGHER.value,
            },
            "advanced": {
                "restoreToOriginalReplicaCount": False,
                "horizontalPodAutoscalerConfig": {"behavior": gpu_behavior(demand.start_up_s).as_object()},
            },
            "triggers": [_trigger(demand, scaler)],
        },
    }


def _trigger(demand: DemandSettings, scaler: ScalerSettings) -> dict[str, Any]:
    return {
        "type": "prometheus",
        "name": "demand",
        "metricType": "AverageValue",
        "metadata": {
            "serverAddress": scaler.prometheus,
            "query": demand_query(demand),
            "threshold": "1",
            "activationThreshold": "0",
            "ignoreNullValues": "false",
            "timeout": "5000",
        },
    }
