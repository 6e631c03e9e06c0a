"""The Role lets the levers do what they do, and nothing else; what was called proves both."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import pytest
import yaml

from deploy.actuators.kube_fields import Json
from deploy.actuators.kube_samples import NAMESPACE, cluster, pools, rollout, selector
from deploy.actuators.kube_server import KubeServer
from specwatch_deploy.actuators.http_route import HttpRoutePools
from specwatch_deploy.actuators.lease import LeaseElection
from specwatch_deploy.actuators.permission import Permission
from specwatch_deploy.actuators.role import role, role_binding, role_text
from specwatch_deploy.actuators.rollout import Rollout
from specwatch_deploy.actuators.service_selector import ServiceSelector
from specwatch_detectors.fallback.actuator import Actuator, ActuatorError
from specwatch_detectors.fallback.level import Level

Lever = HttpRoutePools | ServiceSelector | Rollout
TO_NGRAM = {Level.NGRAM: 1.0}


def whole_life(lever: Actuator, kube: KubeServer) -> None:
    """Every method of a lever, with a conflict on the way."""
    plan = lever.plan(TO_NGRAM)
    plural, name = plan.changes[0]["path"].split("/")[-2:]
    key = (plural, NAMESPACE, name)

    def label() -> None:
        kube.objects.edit(key, lambda found: found["metadata"].update(labels={"x": "y"}), "somebody")

    kube.before_write = label
    lever.apply(plan)
    kube.advance(40)
    assert lever.verify(plan).settled
    lever.describe()
    lever.health()
    lever.undo(plan)


def election(kube: KubeServer, name: str = "one") -> LeaseElection:
    return LeaseElection(cluster(kube), NAMESPACE, "specwatch-fallback", name, clock=lambda: 0.0)


def lead(one: LeaseElection) -> None:
    assert one.tick()
    assert one.tick()
    one.release()
    assert one.tick()


def used(rule: Json, kube: KubeServer) -> set[str]:
    """Verbs of a rule that a call has needed."""
    return {
        call.verb
        for call in kube.calls
        if call.group in rule["apiGroups"]
        and call.resource in rule["resources"]
        and call.name in rule.get("resourceNames", [call.name])
    }


@pytest.mark.parametrize("kind", ["pools", "selector", "rollout", "lease"])
def test_each_needs_its_role_and_all_of_it(kube: KubeServer, kind: str) -> None:
    levers: dict[str, Callable[[KubeServer], Lever]] = {"pools": pools, "selector": selector, "rollout": rollout}
    if kind == "lease":
        kube.role = role("specwatch-fallback", NAMESPACE, election(kube).permissions)
        lead(election(kube))
    else:
        lever = levers[kind](kube)
        kube.role = role("specwatch-fallback", NAMESPACE, lever.permissions)
        whole_life(lever, kube)
    assert not [call for call in kube.calls if call.status == 403]
    assert {call.namespace for call in kube.calls} == {NAMESPACE}
    assert not [call for call in kube.calls if call.subresource]
    for rule in kube.role["rules"]:
        assert set(rule["verbs"]) <= used(rule, kube), f"{rule} is more than is needed"


def test_without_one_verb_it_does_not_work(kube: KubeServer) -> None:
    lever = selector(kube)
    for left_out in lever.permissions:
        rest = [one for one in lever.permissions if one != left_out]
        kube.role = role("less", NAMESPACE, rest)
        with pytest.raises(ActuatorError, match="is forbidden") as error:
            whole_life(lever, kube)
        assert not error.value.retry
        kube.role, kube.before_write = None, None
        kube.advance(5)


def test_the_role_reaches_no_other_object(kube: KubeServer) -> None:
    kube.role = role("r", NAMESPACE, rollout(kube).permissions)
    other = rollout(kube)._object
    other._name = "llama-ngram"
    with pytest.raises(ActuatorError, match='403 deployments "llama-ngram" is forbidden'):
        other.read()


def test_the_role_of_several_levers_is_one_rule_per_object(kube: KubeServer) -> None:
    permissions = chain(pools(kube).permissions, selector(kube).permissions, election(kube).permissions)
    assert yaml.safe_load(role_text("specwatch-fallback", NAMESPACE, permissions))["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["services"], "resourceNames": ["llama"], "verbs": ["get", "patch"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["specwatch-fallback"],
            "verbs": ["get", "update"],
        },
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list"]},
        {
            "apiGroups": ["gateway.networking.k8s.io"],
            "resources": ["httproutes"],
            "resourceNames": ["llama"],
            "verbs": ["get", "patch"],
        },
    ]


def test_the_binding_names_the_role() -> None:
    binding = role_binding("specwatch-fallback", NAMESPACE, "specwatch")
    assert binding["roleRef"]["name"] == role("specwatch-fallback", NAMESPACE, [])["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "specwatch", "namespace": NAMESPACE}]


def test_no_permission_is_for_more_than_a_namespace_needs() -> None:
    assert Permission("", "pods", "list").verb not in {"delete", "watch", "deletecollection"}
