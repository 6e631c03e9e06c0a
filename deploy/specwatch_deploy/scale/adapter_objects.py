"""Without KEDA: an HPA on an external metric, and the prometheus-adapter rule that serves it.

Source: autoscaling/v2; prometheus-adapter 0.12, `externalRules` (`rules.external` in its chart's values). A
selector in the HPA could not hold a model's name with a slash, so the metric's name says which model it is.
"""

from __future__ import annotations

from typing import Any

from specwatch_deploy.scale.demand_rules import DEMAND
from specwatch_deploy.scale.demand_sources import selector
from specwatch_deploy.scale.gpu_behavior import gpu_behavior
from specwatch_deploy.scale.scale_settings import DemandSettings
from specwatch_deploy.scale.scaler_settings import ScalerSettings


def metric_name(scaler: ScalerSettings) -> str:
    """Name of the external metric; without the colons of the series, which no API path takes."""
    return f"specwatch_scale_demand_{scaler.workload.replace('-', '_')}"


def horizontal_pod_autoscaler(demand: DemandSettings, scaler: ScalerSettings) -> dict[str, Any]:
    """The HPA."""
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "name": scaler.workload,
            "namespace": demand.namespace,
            "labels": {"app.kubernetes.io/managed-by": "specwatch"},
        },
        "spec": {
            "scaleTargetRef": {"apiVersion": scaler.api_version, "kind": scaler.kind, "name": scaler.workload},
            "minReplicas": scaler.least,
            "maxReplicas": scaler.most,
            "metrics": [
                {
                    "type": "External",
                    "external": {
                        "metric": {"name": metric_name(scaler)},
                        "target": {"type": "AverageValue", "averageValue": "1"},
                    },
                }
            ],
            "behavior": gpu_behavior(demand.start_up_s).as_object(),
        },
    }


def adapter_values(demand: DemandSettings, scaler: ScalerSettings) -> dict[str, Any]:
    """Values for the adapter's chart."""
    model = selector(demand, "model").removeprefix(f'{{namespace="{demand.namespace}", ').removesuffix("}")
    rule = {
        "seriesQuery": f"{DEMAND}{selector(demand, 'model')}",
        "resources": {"overrides": {"namespace": {"resource": "namespace"}}},
        "name": {"as": metric_name(scaler)},
        "metricsQuery": f"max(<<.Series>>{{<<.LabelMatchers>>, {model}}})",
    }
    return {"rules": {"external": [rule]}}
