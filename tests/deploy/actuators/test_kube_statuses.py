"""What statuses and field sets of Kubernetes mean, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.actuators.kube_fields import Json
from deploy.actuators.kube_samples import NAMESPACE, cluster
from deploy.actuators.kube_server import KubeServer
from specwatch_deploy.actuators.kept_fields import kept_fields
from specwatch_deploy.actuators.managed_fields import Owner, owned_by, owners
from specwatch_deploy.actuators.ready_pods import ready_endpoints
from specwatch_deploy.actuators.rollout_status import rollout_status
from specwatch_deploy.actuators.route_status import route_trouble

DONE = {"observedGeneration": 4, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}
LATE = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]


@pytest.mark.parametrize(
    ("status", "done", "failed", "words"),
    [
        (DONE, True, False, ""),
        ({**DONE, "observedGeneration": 3}, False, False, "has not been looked at yet"),
        ({**DONE, "observedGeneration": 3, "conditions": LATE}, False, False, "has not been looked at yet"),
        ({**DONE, "updatedReplicas": 1}, False, False, "1 of 3 pods updated, 3 available, 2 old ones left"),
        ({**DONE, "replicas": 4}, False, False, "3 of 3 pods updated, 3 available, 1 old ones left"),
        ({**DONE, "availableReplicas": 2}, False, False, "3 of 3 pods updated, 2 available"),
        ({**DONE, "conditions": LATE, "availableReplicas": 2}, False, True, "no progress for 600 s"),
        ({}, False, False, "has not been looked at yet"),
    ],
)
def test_rollout_status(status: Json, words: str, *, done: bool, failed: bool) -> None:
    found = rollout_status({"metadata": {"generation": 4}, "spec": {"replicas": 3}, "status": status})
    assert (found.done, found.failed) == (done, failed)
    assert words in found.words


def condition(kind: str, status: str = "True", generation: int = 2) -> Json:
    return {"type": kind, "status": status, "observedGeneration": generation, "reason": "Because"}


def parent(name: str, *conditions: Json) -> Json:
    return {"parentRef": {"name": name}, "conditions": list(conditions)}


GOOD = (condition("Accepted"), condition("ResolvedRefs"))


@pytest.mark.parametrize(
    ("parents", "trouble"),
    [
        ([], "no gateway has looked"),
        ([parent("a", *GOOD)], ""),
        ([parent("a", *GOOD), parent("b", *GOOD)], ""),
        ([parent("a", *GOOD), parent("b", condition("Accepted"))], "b has not looked at the last change yet (Reso"),
        ([parent("a", condition("Accepted", "False"), GOOD[1])], "a: Accepted is False, Because"),
        ([parent("a", GOOD[0], condition("ResolvedRefs", generation=1))], "a has not looked at the last change"),
        ([parent("a", GOOD[0], condition("ResolvedRefs", "Unknown"))], "a: ResolvedRefs is Unknown, Because"),
    ],
)
def test_route_status(parents: list[Json], trouble: str) -> None:
    found = route_trouble({"metadata": {"generation": 2}, "status": {"parents": parents}})
    assert found.startswith(trouble) if trouble else found == ""


def test_ready_endpoints_of_several_slices(kube: KubeServer) -> None:
    labels = {"kubernetes.io/service-name": "many"}
    slices: dict[str, list[Json]] = {
        "one": [
            {"addresses": ["192.0.2.1"], "conditions": {"ready": True}, "targetRef": {"name": "a"}},
            {"addresses": ["192.0.2.2"], "conditions": {"ready": False}, "targetRef": {"name": "b"}},
        ],
        "two": [
            {"addresses": ["2001:db8::1"], "conditions": {"ready": True}, "targetRef": {"name": "a"}},
            {"addresses": ["192.0.2.3"]},
            {"addresses": ["192.0.2.4"], "conditions": {}},
        ],
    }
    for name, endpoints in slices.items():
        meta = {"name": name, "namespace": NAMESPACE, "labels": labels}
        kind = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"}
        kube.add("endpointslices", {**kind, "metadata": meta, "endpoints": endpoints})
    assert ready_endpoints(cluster(kube), NAMESPACE, "many") == {"a", "192.0.2.3", "192.0.2.4"}
    assert ready_endpoints(cluster(kube), NAMESPACE, "none") == set()


def entry(manager: str, fields: Any, **more: str) -> Json:
    return {"manager": manager, "operation": "Apply", "time": "t", "fieldsV1": fields, **more}


ARGS = ("f:spec", "f:containers", 'k:{"name":"engine"}', "f:args")
ENGINE: Json = {"f:spec": {"f:containers": {'k:{"name": "engine"}': {".": {}, "f:args": {}}}}}


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        ([entry("a", ENGINE), entry("b", {"f:spec": {"f:replicas": {}}})], ["a"]),
        ([entry("a", ENGINE, subresource="status")], []),
        ([entry("a", {"f:spec": {"f:containers": {'k:{"name":"other"}': {"f:args": {}}}}})], []),
        ([entry("a", {"f:spec": {"f:containers": {"k:broken": {"f:args": {}}}}})], []),
        ([entry("a", None), entry("b", {"f:spec": []})], []),
        ([], []),
    ],
)
def test_owners(entries: list[Json], names: list[str]) -> None:
    found = {"metadata": {"managedFields": entries}}
    assert [owner.name for owner in owners(found, ARGS)] == names
    assert owned_by(found, ARGS, "a") is ("a" in names)


def test_managers_are_named_in_words() -> None:
    assert Owner("kustomize-controller").words == "kustomize-controller (Flux)"
    assert Owner("unheard-of").words == "unheard-of"


def test_only_what_this_manager_applied_is_kept() -> None:
    ours = {**ENGINE, "f:metadata": {"f:annotations": {"f:x/y": {}, "f:gone": {}}}}
    found = {
        "metadata": {
            "annotations": {"x/y": "1", "z": "2"},
            "managedFields": [
                entry("specwatch-fallback", ours),
                {**entry("specwatch-fallback", {"f:spec": {"f:replicas": {}}}), "operation": "Update"},
                entry("helm", {"f:spec": {"f:replicas": {}}}),
            ],
        },
        "spec": {"replicas": 3, "containers": [{"name": "side"}, {"name": "engine", "args": ["a"], "image": "i"}]},
    }
    assert kept_fields(found) == {
        "metadata": {"annotations": {"x/y": "1"}},
        "spec": {"containers": [{"name": "engine", "args": ["a"]}]},
    }
