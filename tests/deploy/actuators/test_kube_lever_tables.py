"""Levers and leader from a settings file: what works, and one clear line for what does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from deploy.actuators.kube_samples import ARGUMENTS, NAMESPACE, cluster
from deploy.actuators.kube_server import KubeServer
from specwatch_deploy.actuators.cluster import Cluster
from specwatch_deploy.actuators.health_change import HealthLimits
from specwatch_deploy.actuators.kube_levers import build_leader, build_pools, build_rollout, build_selector
from specwatch_deploy.actuators.lever_table import LeverTable
from specwatch_deploy.actuators.moved_health import HealthWatch, Unwatched
from specwatch_detectors.fallback.actuator import ActuatorError
from specwatch_detectors.fallback.level import Level

LEVELS = (Level.DRAFT, Level.NGRAM)
POOLS = {
    "namespace": NAMESPACE,
    "route": "llama",
    "services": {"draft": "llama-draft:8000", "ngram": "llama-ngram:8000"},
}
SELECTOR = {
    "namespace": NAMESPACE,
    "service": "llama",
    "label": "pool",
    "values": {"draft": "draft", "ngram": "ngram"},
}
ROLLOUT = {
    "namespace": NAMESPACE,
    "deployment": "llama-draft",
    "container": "engine",
    "engine": "vllm",
    "arguments": {level.value: ARGUMENTS[level] for level in LEVELS},
}
FILES = {
    "namespace": NAMESPACE,
    "deployment": "llama-draft",
    "volume": "options",
    "config_maps": {"draft": "options-draft", "ngram": "options-ngram"},
}
BUILDERS: dict[str, Callable[..., Any]] = {
    "pools": build_pools,
    "selector": build_selector,
    "rollout": build_rollout,
    "files": build_rollout,
}
TABLES: dict[str, Mapping[str, Any]] = {"pools": POOLS, "selector": SELECTOR, "rollout": ROLLOUT, "files": FILES}


def no_cluster(_: LeverTable, __: Callable[[], None]) -> Cluster:
    raise AssertionError("a wrong table must be found before anything is connected")


@pytest.mark.parametrize("kind", sorted(TABLES))
def test_each_kind_works(kube: KubeServer, kind: str) -> None:
    def connect_to(_: LeverTable, before_write: Callable[[], None]) -> Cluster:
        return cluster(kube, before_write=before_write)

    asked: list[tuple[str, HealthLimits]] = []

    def make(name: str, limits: HealthLimits) -> HealthWatch:
        asked.append((name, limits))
        return Unwatched()

    table = {**TABLES[kind], "health": "engine", "health_requests": 7}
    lever = BUILDERS[kind](table, LEVELS, make, connect_to=connect_to)
    assert lever.levels == LEVELS
    assert (lever.describe().level, lever.health().known) == (Level.DRAFT, False)
    assert asked == [("engine", HealthLimits(requests=7))]


def test_a_lever_that_may_not_write(kube: KubeServer) -> None:
    def refuse() -> None:
        raise ActuatorError("not the leader", retry=False)

    def connect_to(_: LeverTable, before_write: Callable[[], None]) -> Cluster:
        return cluster(kube, before_write=before_write)

    lever = build_pools(POOLS, LEVELS, before_write=refuse, connect_to=connect_to)
    plan = lever.plan({Level.NGRAM: 1.0})
    with pytest.raises(ActuatorError, match="not the leader"):
        lever.apply(plan)


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("pools", {"rout": "x"}, r"\[lever\] has no setting rout; there are: namespace, route"),
        ("pools", {"route": None}, "route is missing"),
        ("pools", {"route": 3}, "route must be a string, got 3"),
        ("pools", {"services": {"draft": "a"}}, "services must have one entry for each level: draft, ngram"),
        ("pools", {"services": {"draft": "a", "ngram": 1}}, "services.ngram must be a string, got 1"),
        ("pools", {"steps": [0.25, 0.05, 1.0]}, r"steps must grow from above 0 to 1"),
        ("pools", {"steps": []}, "steps must grow"),
        ("pools", {"steps": "1.0"}, "steps must grow"),
        ("pools", {"force": "yes"}, "force must be true or false, got 'yes'"),
        ("pools", {"least_ready": 0}, "least_ready must be a whole number of at least 1, got 0"),
        ("pools", {"health": "good"}, "health must be one of request, engine, none, got 'good'"),
        ("pools", {"health_p99_ratio": 0}, "health_p99_ratio must be a number above 0"),
        ("selector", {"label": ""}, "label must be a string"),
        ("rollout", {"engine": "tgi"}, r"engine must be one of vllm, sglang \(or give volume and config_maps\)"),
        ("rollout", {"arguments": {"draft": "x", "ngram": []}}, "arguments.draft must be a list of strings"),
        ("rollout", {"arguments": {"draft": ["--port"], "ngram": []}}, "--port is no speculative flag of vllm"),
        ("files", {"volume": None}, "volume is missing"),
    ],
)
def test_a_wrong_table(kind: str, changes: Mapping[str, Any], said: str) -> None:
    table = {key: value for key, value in {**TABLES[kind], **changes}.items() if value is not None}
    with pytest.raises(ValueError, match=said):
        BUILDERS[kind](table, LEVELS, connect_to=no_cluster)


def test_a_leader(kube: KubeServer) -> None:
    leader = build_leader({"namespace": NAMESPACE, "identity": "me"}, connect_to=lambda *_: cluster(kube))
    assert leader.lead(0.0) == (True, "this controller leads")
    leader.close()
    lease = kube.objects.get(("leases", NAMESPACE, "specwatch-fallback"))
    assert lease["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, r"\[leader\] namespace is missing"),
        ({"namespace": "n", "duration_s": 8}, "must not exceed duration_s together"),
        ({"namespace": "n", "retry_s": "often"}, "retry_s must be a number above 0"),
    ],
)
def test_a_wrong_leader(table: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build_leader(table, connect_to=no_cluster)


def test_two_leaders_never_share_an_identity(kube: KubeServer) -> None:
    one, two = (build_leader({"namespace": NAMESPACE}, connect_to=lambda *_: cluster(kube)) for _ in range(2))
    assert (one.lead(0.0)[0], two.lead(0.0)[0]) == (True, False)
    two.close()
    one.close()
