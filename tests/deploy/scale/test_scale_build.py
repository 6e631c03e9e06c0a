from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from deploy.scale.promtool_rules import SETTINGS
from specwatch_alerts.origin import Origin
from specwatch_deploy.scale.adapter_objects import metric_name
from specwatch_deploy.scale.demand_rules import DEMAND
from specwatch_deploy.scale.scale_build import ADAPTER_FILE, RULE_FILE, build
from specwatch_deploy.scale.scale_settings import DemandSettings, ScaleError
from specwatch_deploy.scale.scaler_settings import Scaler, ScalerSettings

SMALLEST: dict[str, Any] = {"namespace": "n", "model": "m", "slots": 8}
KEDA = ScalerSettings(workload="vllm-m")
ADAPTER = replace(KEDA, scaler=Scaler.ADAPTER)


def built(scaler: ScalerSettings, demand: DemandSettings = SETTINGS) -> dict[str, Any]:
    return {
        name: yaml.safe_load(text) for name, text in build(demand, scaler, Origin.SIDECAR, {"release": "r"}).items()
    }


def test_keda_gets_a_scaled_object_and_no_hpa() -> None:
    files = built(KEDA)
    assert set(files) == {RULE_FILE, "scaledobject.yaml"}
    spec = files["scaledobject.yaml"]["spec"]
    assert spec["fallback"] == {"failureThreshold": 4, "replicas": 2, "behavior": "currentReplicasIfHigher"}
    (trigger,) = spec["triggers"]
    assert trigger["metricType"] == "AverageValue"
    assert all(isinstance(value, str) for value in trigger["metadata"].values())
    assert trigger["metadata"]["threshold"] == "1"
    assert trigger["metadata"]["ignoreNullValues"] == "false"
    assert trigger["metadata"]["query"] == f'max({DEMAND}{{namespace="llm", model="m"}})'


def test_the_adapter_gets_an_hpa_and_no_scaled_object() -> None:
    files = built(ADAPTER, replace(SETTINGS, model="org/m"))
    assert set(files) == {RULE_FILE, "hpa.yaml", ADAPTER_FILE}
    (metric,) = files["hpa.yaml"]["spec"]["metrics"]
    (rule,) = files[ADAPTER_FILE]["rules"]["external"]
    assert metric["external"]["metric"] == {"name": rule["name"]["as"]} == {"name": metric_name(ADAPTER)}
    assert metric["external"]["target"] == {"type": "AverageValue", "averageValue": "1"}
    assert rule["metricsQuery"] == 'max(<<.Series>>{<<.LabelMatchers>>, model="org/m"})'
    assert ":" not in rule["name"]["as"]


@pytest.mark.parametrize(
    ("start_up", "window", "period"), [(10, 180, 60), (60, 180, 60), (180, 540, 180), (900, 1800, 900)]
)
def test_scaling_in_is_as_slow_as_starting_is(start_up: int, window: int, period: int) -> None:
    behavior = built(KEDA, replace(SETTINGS, start_up_s=start_up))["scaledobject.yaml"]["spec"]["advanced"]
    down = behavior["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
    assert down["stabilizationWindowSeconds"] == window
    assert down["policies"] == [{"type": "Percent", "value": 50, "periodSeconds": period}]


def test_the_order_of_levers_is_said_first() -> None:
    text = build(SETTINGS, KEDA, Origin.SIDECAR, {})[RULE_FILE]
    assert text.index("1. Cut speculation") < text.index("2. Add replicas") < text.index("3. At the maximum")
    assert text.startswith("#")
    assert "the sidecar can tell" in build(SETTINGS, KEDA, Origin.VLLM, {})[RULE_FILE]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"workload": "a" * 55}, "1 to 54"),
        ({"workload": "Vllm"}, "lower case"),
        ({"kind": "Pod"}, "is not one of"),
        ({"least": 0}, "cannot be stopped"),
        ({"least": 9}, "min <= max"),
        ({"most": 1001}, "min <= max"),
        ({"fallback": 1}, "fallback replicas"),
        ({"prometheus": "prometheus:9090"}, "http://"),
        ({"prometheus": "http://user:word@prometheus.example.com"}, "without a password"),
        ({"prometheus": "http://[1"}, "http://"),
    ],
)
def test_wrong_scalers_are_one_line(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ScaleError, match=message) as caught:
        ScalerSettings(**({"workload": "w"} | wrong))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"namespace": "Llm"}, "namespace"),
        ({"namespace": "a" * 64}, "namespace"),
        ({"namespace": 'a"} or vector(1'}, "namespace"),
        ({"model": " "}, "model"),
        ({"model": "a\nb"}, "model"),
        ({"slots": 0}, "slots"),
        ({"slots": True}, "slots"),
        ({"target_use": float("nan")}, "target use"),
        ({"drain_s": 0.0}, "drain"),
        ({"wait_slo_s": float("inf")}, "queue wait"),
        ({"kv_limit": 1.1}, "KV"),
        ({"scrape_s": 30}, "now window"),
        ({"rate_s": 45}, "rate window"),
        ({"start_up_s": 0}, "start-up"),
    ],
)
def test_wrong_demands_are_one_line(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ScaleError, match=message) as caught:
        DemandSettings(**(SMALLEST | wrong))
    assert "\n" not in str(caught.value)
