"""What the chart refuses: each with the reason, before anything is installed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from deploy.chart.helm_chart import APIS, GATEWAY_API, KEDA_API, PROMETHEUS_API, ci, template

STACK = "mode=stack"
ON = "fallback.enabled=true"
SLACK = "slack.enabled=true"
ROUTE = ("gateway.enabled=true", "gateway.parentRefs[0].name=g")


def lever(kind: str, *more: str) -> tuple[str, ...]:
    return (ON, f"fallback.lever.kind={kind}", *more)


COMBINATIONS: dict[str, Sequence[str]] = {
    "say target.name": ["scaler.kind=keda"],
    "target.name: at most 54": [f"target.name={'a' * 55}"],
    "ServiceMonitor: say target.podLabels": ["monitor.kind=ServiceMonitor"],
    "mode sidecar has none": ROUTE,
    "stack.pools: mode stack needs one": [STACK, "stack.pools.draft=null", "stack.pools.ngram=null"],
    "stack.pools.off: it is the level without": [
        STACK,
        "stack.pools.off.replicas=1",
        "stack.pools.off.speculation.method=ngram",
    ],
    "stack.pools.draft: say its speculation": [STACK, "stack.pools.draft.speculation=null"],
    "the controller takes this pool for n-gram": [STACK, "stack.pools.ngram.speculation.method=suffix"],
    "needs speculation.model, the draft": [STACK, "stack.pools.draft.speculation.model=null"],
    "stack.terminationGraceSeconds": [STACK, "stack.terminationGraceSeconds=555"],
    "scaler.pools: name the pools": [STACK, "scaler.kind=keda", "scaler.pools=null"],
    "scaler.pools: there is no pool off": [STACK, "scaler.kind=keda", "scaler.pools[0]=off"],
    "gateway.parentRefs: a route without": [STACK, "gateway.enabled=true"],
    "all weights are 0": [STACK, *ROUTE, "stack.pools.draft.weight=0"],
    "two of them are the same": ["requestSidecar.port=8000"],
    "scaler.min: it is above": ["scaler.min=9"],
    "scaler.fallbackReplicas: it must be between": ["scaler.fallbackReplicas=1"],
    "monitor.interval: the demand": ["scaler.kind=keda", "target.name=a", "monitor.interval=30s"],
    "monitor.interval: the demand is": ["scaler.kind=hpa", "target.name=a", "monitor.interval=1m"],
    "fallback.act: there is no lever": [ON, "fallback.act=true"],
    "fallback.levels: there is nothing": [ON, "fallback.levels={draft}"],
    "reads series of the request sidecar": [STACK, *ROUTE, *lever("pools", "fallback.lever.health=request")],
    "pools: it moves weights of an HTTPRoute": [STACK, *lever("pools")],
    "there is no pool off in stack.pools": [STACK, *ROUTE, *lever("pools", "fallback.levels={draft,off}")],
    "fallback.lever.force: Helm wrote": [STACK, *ROUTE, *lever("pools")],
    "fallback.lever.route: name": lever("pools"),
    "say the Service and port of draft": lever("pools", "fallback.lever.route=r"),
    "selector needs service and label": lever("selector"),
    "say the label's value of draft": lever("selector", "fallback.lever.service=s", "fallback.lever.label=l"),
    "rollout needs deployment and container": lever("rollout"),
    "say the speculative arguments of draft": lever(
        "rollout", "fallback.lever.deployment=d", "fallback.lever.container=c"
    ),
    "slack.channel": [SLACK],
    "slack.secretName": [SLACK, "slack.channel=C1"],
    "their buttons need slack.interactive": [
        SLACK,
        "slack.channel=C1",
        "slack.secretName=s",
        "slack.operators={U1}",
    ],
}

VALUES = [
    "nonsense=1",
    "mode=both",
    'model.name=a"b',
    "model.name=two words",
    "scaler.kind=both",
    "scaler.min=0",
    "scaler.slots=many",
    "image.tag=latest",
    "image.digest=sha256:12",
    "sidecar.port=0",
    "sidecar.nonsense=1",
    "sidecar.resources.requests.cpu=much",
    "fallback.lever.kind=webhook",
    "fallback.lever.services.draft=llama-draft",
    "fallback.levels={eagle3}",
    "fallback.act=perhaps",
    "watch.replicas=3",
    "stack.pools.eagle3.replicas=1",
    "stack.pools.draft.replica=1",
    "monitor.interval=often",
    "monitor.interval=0s",
    "monitor.interval=1.5s",
    "target.name=Vllm_llama",
    "prometheus.url=prometheus:9090",
    "prometheus.url=http://user:word@prometheus.example.com",
    "target.podLabels.app=no label",
]


@pytest.mark.parametrize(("reason", "values"), COMBINATIONS.items(), ids=COMBINATIONS)
def test_combinations_that_cannot_work_are_refused(reason: str, values: Sequence[str]) -> None:
    result = template(*values)
    assert result.status == 1
    assert reason in result.error
    assert len(result.error.strip().splitlines()) <= 3, result.error


@pytest.mark.parametrize("value", VALUES)
def test_values_that_mean_nothing_are_refused(value: str) -> None:
    result = template(value)
    assert result.status == 1
    assert "values don't meet the specifications of the schema" in result.error
    assert any(part in result.error for part in value.partition("=")[0].split(".")[-2:]), result.error


@pytest.mark.parametrize(
    "values",
    [
        ("monitor.interval=5s",),
        ("monitor.interval=500ms",),
        ("monitor.interval=1m", "monitor.kind=none"),  # somebody else scrapes
        ("monitor.kind=none", "rules.enabled=false"),  # a second model, where the first release scrapes and alerts
    ],
)
def test_a_scaler_is_not_refused_for_what_works(values: Sequence[str]) -> None:
    assert template("scaler.kind=keda", "target.name=a", *values).status == 0


@pytest.mark.parametrize(
    ("mode", "missing", "instead"),
    [
        ("sidecar", PROMETHEUS_API, "install the Prometheus Operator, or set"),
        ("sidecar-full", KEDA_API, "install KEDA, or set scaler.kind=hpa"),
        ("stack", GATEWAY_API, "install the Gateway API, or set gateway.enabled=false"),
    ],
)
def test_an_api_that_is_not_there_is_said_and_what_to_do(mode: str, missing: str, instead: str) -> None:
    result = template(ci(mode), apis=tuple(api for api in APIS if api != missing))
    assert result.status == 1
    assert f"needs the API {missing}" in result.error
    assert instead in result.error


@pytest.mark.parametrize(
    ("mode", "enough"),
    [
        ("bare", ()),
        ("sidecar", (PROMETHEUS_API,)),
        ("sidecar-full", (PROMETHEUS_API, KEDA_API)),
        ("sidecar-selector", (PROMETHEUS_API,)),
        ("stack-h200", (PROMETHEUS_API,)),
    ],
)
def test_no_other_api_is_needed(mode: str, enough: tuple[str, ...]) -> None:
    assert template(ci(mode), apis=enough).text == template(ci(mode)).text
