"""The tests' API keeps the rules of the real one; without this, nothing that the levers pass on it would count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from deploy.actuators.kube_fields import Json
from deploy.actuators.kube_objects import KubeObjects, RefusedError
from deploy.actuators.kube_samples import ARGS, NAMESPACE, deployment, metadata, route, service
from deploy.actuators.kube_server import KubeServer, kube_server

DEPLOYMENT = ("deployments", NAMESPACE, "llama-draft")
ROUTE = ("httproutes", NAMESPACE, "llama")


@pytest.fixture
def kept() -> KubeObjects:
    objects = KubeObjects()
    objects.create(DEPLOYMENT, deployment("llama-draft", "draft", ARGS), "argocd-controller")
    objects.create(ROUTE, route(), "helm")
    return objects


@pytest.fixture
def kube() -> Iterator[KubeServer]:
    with kube_server() as server:
        yield server


def applied(args: list[str], **meta: Any) -> Json:
    pod = {"containers": [{"name": "engine", "args": args}]}
    spec = {"template": {"spec": pod}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata("llama-draft", **meta),
        "spec": spec,
    }


def managers_of(found: Json, *steps: str) -> list[str]:
    def holds(fields: Any) -> bool:
        for step in steps:
            fields = fields.get(step) if isinstance(fields, dict) else None
        return fields is not None

    return sorted(one["manager"] for one in found["metadata"]["managedFields"] if holds(one["fieldsV1"]))


ENGINE_ARGS = ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"engine"}', "f:args")


def test_apply_conflicts_with_another_manager_unless_forced(kept: KubeObjects) -> None:
    with pytest.raises(RefusedError) as refused:
        kept.apply(DEPLOYMENT, applied(["other"]), "mine")
    cause = refused.value.body["details"]["causes"][0]
    assert (refused.value.code, cause["reason"]) == (409, "FieldManagerConflict")
    assert 'conflict with "argocd-controller"' in cause["message"]
    found = kept.apply(DEPLOYMENT, applied(["other"]), "mine", force=True)
    assert managers_of(found, *ENGINE_ARGS) == ["mine"]


def test_apply_of_the_same_value_shares_the_field_and_changes_no_version(kept: KubeObjects) -> None:
    before = kept.get(DEPLOYMENT)["metadata"]["resourceVersion"]
    found = kept.apply(DEPLOYMENT, applied(ARGS), "mine")
    assert managers_of(found, *ENGINE_ARGS) == ["argocd-controller", "mine"]
    assert found["metadata"]["generation"] == 1
    assert found["metadata"]["resourceVersion"] == before


def test_apply_merges_containers_by_name_and_replaces_args_whole(kept: KubeObjects) -> None:
    found = kept.apply(DEPLOYMENT, applied(["one"]), "mine", force=True)
    engine, sidecar = found["spec"]["template"]["spec"]["containers"]
    assert (engine["args"], engine["command"]) == (["one"], ["vllm", "serve"])
    assert sidecar["args"] == ["--speculative-config", "not mine"]
    assert found["metadata"]["generation"] == 2


def test_apply_removes_what_only_the_manager_had_and_leaves_out_now(kept: KubeObjects) -> None:
    kept.apply(DEPLOYMENT, applied(["one"], annotations={"a": "1"}), "mine", force=True)
    found = kept.apply(DEPLOYMENT, applied(["one"]), "mine")
    assert "annotations" not in found["metadata"]
    empty = {**applied([]), "spec": {"replicas": 2}}
    found = kept.apply(DEPLOYMENT, empty, "mine")
    assert "args" not in found["spec"]["template"]["spec"]["containers"][0], (
        "a trap that the lever must not step into"
    )


def test_an_update_takes_fields_from_other_managers(kept: KubeObjects) -> None:
    kept.apply(DEPLOYMENT, applied(["one"]), "mine", force=True)

    def set_args(found: Json) -> None:
        found["spec"]["template"]["spec"]["containers"][0]["args"] = ["two"]

    found = kept.edit(DEPLOYMENT, set_args, "kubectl-edit")
    assert managers_of(found, *ENGINE_ARGS) == ["kubectl-edit"]


def test_rules_of_a_route_and_selectors_are_managed_whole(kept: KubeObjects) -> None:
    key = ("services", NAMESPACE, "llama")
    kept.create(key, service("llama", "draft"), "helm")
    assert managers_of(kept.get(ROUTE), "f:spec", "f:rules") == ["helm"]
    assert managers_of(kept.get(key), "f:spec", "f:selector") == ["helm"]
    assert managers_of(kept.get(key), "f:spec", "f:selector", "f:pool") == []


def test_a_stale_version_is_a_conflict(kept: KubeObjects) -> None:
    stale = kept.get(DEPLOYMENT)["metadata"]["resourceVersion"]
    kept.edit(DEPLOYMENT, lambda found: found["metadata"].update(labels={"x": "y"}), "somebody")
    with pytest.raises(RefusedError, match="has been modified"):
        kept.apply(DEPLOYMENT, applied(["one"], resourceVersion=stale), "mine", force=True)
    with pytest.raises(RefusedError, match="has been modified"):
        kept.replace(
            DEPLOYMENT,
            {
                **deployment("llama-draft", "draft", []),
                "metadata": {**metadata("llama-draft"), "resourceVersion": stale},
            },
            "mine",
        )


def test_only_the_spec_raises_the_generation(kept: KubeObjects) -> None:
    kept.edit(DEPLOYMENT, lambda found: found.update(status={"replicas": 1}), "controller", "status")
    kept.edit(DEPLOYMENT, lambda found: found["metadata"].update(labels={"x": "y"}), "somebody")
    assert kept.get(DEPLOYMENT)["metadata"]["generation"] == 1
    kept.edit(DEPLOYMENT, lambda found: found["spec"].update(replicas=5), "somebody")
    assert kept.get(DEPLOYMENT)["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("plural", "body", "said"),
    [
        ("httproutes", route(draft=-1, ngram=1), "must be whole and from 0"),
        (
            "leases",
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": metadata("l"),
                "spec": {"renewTime": "2026-01-01T00:00:00Z"},
            },
            "times need microseconds",
        ),
        (
            "leases",
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": metadata("l"),
                "spec": {"leaseDurationSeconds": 0},
            },
            "must be greater than 0",
        ),
    ],
)
def test_what_the_real_one_would_not_take(plural: str, body: Json, said: str) -> None:
    with pytest.raises(RefusedError, match=said):
        KubeObjects().create((plural, NAMESPACE, "x"), body, "mine")


def test_a_deployment_gets_there_over_time_and_its_service_follows(kube: KubeServer) -> None:
    kube.add("deployments", deployment("llama-draft", "draft", ARGS))
    kube.add("services", service("llama-draft", "draft"))
    kube.advance(1)
    early = kube.objects.get(DEPLOYMENT)["status"]
    assert early["conditions"][0]["reason"] == "ReplicaSetUpdated"
    assert early["availableReplicas"] == 0
    kube.advance(40)
    late = kube.objects.get(DEPLOYMENT)["status"]
    assert (late["updatedReplicas"], late["availableReplicas"]) == (2, 2)
    assert late["conditions"][0]["reason"] == "NewReplicaSetAvailable"
    endpoints = kube.objects.every("endpointslices")[0]["endpoints"]
    assert [one["conditions"]["ready"] for one in endpoints] == [True, True]
    assert len(kube.objects.every("pods")) == 2


def test_a_rolling_update_never_has_fewer_ready_pods_than_wanted(kube: KubeServer) -> None:
    kube.add("deployments", deployment("llama-draft", "draft", ARGS, replicas=3))
    kube.advance(60)
    kube.objects.edit(DEPLOYMENT, lambda found: found["spec"]["template"]["spec"].update(priority=1), "somebody")
    available = []
    for _ in range(60):
        kube.advance(1)
        available.append(kube.objects.get(DEPLOYMENT)["status"]["availableReplicas"])
    assert min(available) == 3
    assert kube.objects.get(DEPLOYMENT)["status"]["updatedReplicas"] == 3
