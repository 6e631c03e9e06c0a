"""Everything that scales one workload, as files: the rules, and the objects of one scaler, never of both."""

from __future__ import annotations

from typing import Any, Final

import yaml

from specwatch_alerts.origin import Origin
from specwatch_deploy.scale.adapter_objects import adapter_values, horizontal_pod_autoscaler
from specwatch_deploy.scale.demand_rules import DEMAND, FREED, demand_group
from specwatch_deploy.scale.scale_settings import DemandSettings
from specwatch_deploy.scale.scaled_object import scaled_object
from specwatch_deploy.scale.scaler_settings import Scaler, ScalerSettings

RULE_FILE: Final = "prometheusrule.yaml"
KEDA_FILE: Final = "scaledobject.yaml"
HPA_FILE: Final = "hpa.yaml"
ADAPTER_FILE: Final = "prometheus-adapter-values.yaml"


def build(
    demand: DemandSettings, scaler: ScalerSettings, origin: Origin, rule_labels: dict[str, str]
) -> dict[str, str]:
    """File names and their texts, the rules first.

    Args:
        demand: numbers of the demand.
        scaler: what is scaled, by whom.
        origin: series that the demand is computed from.
        rule_labels: labels that Prometheus selects its rules by.
    """
    files = {RULE_FILE: _levers(origin) + _text(_rule(demand, scaler, origin, rule_labels))}
    if scaler.scaler is Scaler.KEDA:
        files[KEDA_FILE] = _text(scaled_object(demand, scaler))
    else:
        files[HPA_FILE] = _text(horizontal_pod_autoscaler(demand, scaler))
        files[ADAPTER_FILE] = (
            "# Values for the chart of prometheus-adapter. KEDA serves external metrics, too: have one of them.\n"
            + _text(adapter_values(demand, scaler))
        )
    return files


def files_of_others(scaler: Scaler) -> frozenset[str]:
    """Names of files that only the other scaler has: both in one folder would be applied together."""
    return frozenset({HPA_FILE, ADAPTER_FILE} if scaler is Scaler.KEDA else {KEDA_FILE})


def _rule(demand: DemandSettings, scaler: ScalerSettings, origin: Origin, labels: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": f"specwatch-scale-{scaler.workload}",
            "namespace": demand.namespace,
            "labels": {"app.kubernetes.io/managed-by": "specwatch"} | labels,
        },
        "spec": {"groups": [demand_group(demand, origin)]},
    }


def _levers(origin: Origin) -> str:
    first = (
        f"#  1. Cut speculation while {FREED} is 1 or more: it burns compute that requests wait\n"
        "#     for. An alert of specwatch alerts build says so; specwatch fallback run does it.\n"
        if origin is Origin.SIDECAR
        else "#  1. Cut speculation if it does not pay; the sidecar can tell (docs/payoff.md).\n"
    )
    return (
        f"# Made by: specwatch scale build. Levers, in this order:\n{first}"
        f"#  2. Add replicas: {DEMAND} is how many the load takes.\n"
        "#  3. At the maximum: raise it, or shed load. Nothing here does.\n"
    )


class _Dumper(yaml.SafeDumper):
    """Lists indented."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        del indentless
        super().increase_indent(flow, indentless=False)


def _text(data: dict[str, Any]) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=1_000_000, allow_unicode=True)
