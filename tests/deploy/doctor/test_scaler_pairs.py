"""What scales beside something else: two owners, KEDA beside prometheus-adapter, an HPA and the rule it reads."""

from __future__ import annotations

import json

import yaml

from deploy.doctor.doctor_run import CASES
from deploy.doctor.scaler_objects import codes, hpa, scaled, text
from specwatch_deploy.doctor.gathering import gather, inputs_of


def test_two_scalers_of_one_workload() -> None:
    assert codes([text(scaled(), hpa())]) == ["scaler-two-owners"]
    other = scaled()
    other["metadata"]["name"] = "decode-2"
    assert codes([text(scaled(), other)]) == ["scaler-two-owners"]
    elsewhere = scaled()
    elsewhere["metadata"]["namespace"] = "other"
    assert codes([text(scaled(), elsewhere)]) == []


def test_an_hpa_that_keda_made_or_took_over_is_its_own() -> None:
    owned = hpa("keda-hpa-decode", ownerReferences=[{"kind": "ScaledObject", "name": "decode"}])
    assert codes([text(scaled(), owned)]) == []
    handed = scaled()
    handed["metadata"]["annotations"] = {"scaledobject.keda.sh/transfer-hpa-ownership": "true"}
    handed["spec"]["advanced"] = {"horizontalPodAutoscalerConfig": {"name": "decode"}}
    assert codes([text(handed, hpa())]) == []


def test_the_same_object_in_two_files_is_one_owner() -> None:
    assert codes([text(scaled()), text(scaled())]) == []


def adapter(series: str, query: str, name: str = "kv_use") -> str:
    return json.dumps({"externalRules": [{"seriesQuery": series, "metricsQuery": query, "name": {"as": name}}]})


def test_a_threshold_of_an_hpa_is_held_against_the_adapters_query() -> None:
    rule = adapter("vllm:kv_cache_usage_perc", "max(<<.Series>>{<<.LabelMatchers>>})")
    assert codes([text(hpa()), rule]) == ["scaler-ratio-cannot-scale"]
    by_value = hpa()
    by_value["spec"]["metrics"][0]["external"]["target"] = {"type": "Value", "value": "800m"}
    assert codes([text(by_value), rule]) == []


def test_an_adapter_may_serve_what_it_likes_beside_keda_but_external_metrics() -> None:
    custom = yaml.safe_dump({"rules": [{"seriesQuery": "vllm:num_requests_waiting"}]})
    assert codes([text(scaled()), custom]) == []
    assert codes([text(scaled()), adapter("vllm:num_requests_waiting", "sum(<<.Series>>)")]) == [
        "scaler-two-servers"
    ]


def test_queries_of_the_adapter_are_examined_like_others() -> None:
    """A pattern that is one name is that name; the placeholders are filled in."""
    (rule,) = inputs_of(gather([str(CASES / "41-colon-underscore-and-total" / "adapter.yaml")])).queries
    assert rule.text == 'sum(vllm:num_requests_waiting{namespace!=""}) by (pod)'
    assert rule.place.line == 10
