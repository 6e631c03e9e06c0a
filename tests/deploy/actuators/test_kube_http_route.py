"""Weights of a route: only they change, one step after the other, never against somebody else's will."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace

import pytest
import yaml

from deploy.actuators.kube_fields import Json
from deploy.actuators.kube_samples import NAMESPACE, pools, route, service, take
from deploy.actuators.kube_server import KubeServer
from deploy.actuators.movement_watch import MovementWatch
from specwatch_deploy.actuators.route_weights import TOTAL
from specwatch_detectors.fallback.actuator import Actuator, ActuatorError, Plan
from specwatch_detectors.fallback.level import Level

KEY = ("httproutes", NAMESPACE, "llama")
HALF = {Level.DRAFT: 0.5, Level.NGRAM: 0.5}
ALL = {Level.DRAFT: 0.0, Level.NGRAM: 1.0}


def weights(kube: KubeServer) -> dict[str, int]:
    found: list[Json] = kube.objects.get(KEY)["spec"]["rules"][1]["backendRefs"]
    return {ref["name"]: ref["weight"] for ref in found}


def without_weights(found: Json) -> Json:
    spec: Json = deepcopy(found["spec"])
    for ref in spec["rules"][1]["backendRefs"]:
        del ref["weight"]
    return spec


def set_weights(found: Json, draft: int, ngram: int) -> None:
    refs = found["spec"]["rules"][1]["backendRefs"]
    refs[0]["weight"], refs[1]["weight"] = draft, ngram


def take_back(kube: KubeServer, manager: str) -> None:
    kube.objects.edit(KEY, lambda found: set_weights(found, 1, 0), manager)


def test_all_steps_to_the_fallback_and_back(kube: KubeServer) -> None:
    lever: Actuator = pools(kube)
    untouched = without_weights(kube.objects.get(KEY))
    assert lever.levels == (Level.DRAFT, Level.NGRAM)
    seen = []
    plan = lever.plan(HALF)
    for share in lever.steps:
        plan = lever.plan({Level.DRAFT: 1.0 - share, Level.NGRAM: share})
        lever.apply(plan)
        assert not lever.verify(plan).settled, "the gateway has not looked yet"
        kube.advance(1)
        found = lever.verify(plan)
        assert (found.settled, found.shares) == (True, plan.shares)
        seen.append(tuple(weights(kube).values()))
        assert without_weights(kube.objects.get(KEY)) == untouched
    assert seen == [(950, 50), (750, 250), (0, TOTAL)]
    lever.undo(plan)
    assert weights(kube) == {"llama-draft": 750, "llama-ngram": 250}


def test_a_plan_sends_nothing_and_shows_the_very_patch(kube: KubeServer) -> None:
    lever = pools(kube)
    plan = lever.plan(HALF)
    assert not kube.writes
    lever.apply(plan)
    sent = kube.writes[-1].body
    (call,) = plan.changes
    assert call["body"] == sent
    assert yaml.safe_load(plan.text) == sent
    assert "the drafter 100 % to 50 %, n-gram 0 % to 50 %" in plan.text
    assert call["query"] == {"fieldManager": "specwatch-fallback", "force": False}
    assert json.loads(json.dumps(plan.changes)) == list(plan.changes)


def test_applying_and_undoing_twice_changes_nothing_twice(kube: KubeServer) -> None:
    lever = pools(kube)
    plan = lever.plan(HALF)
    for act in (lever.apply, lever.apply, lever.undo, lever.undo):
        act(plan)
    assert len(kube.writes) == 2
    assert weights(kube) == {"llama-draft": 1, "llama-ngram": 0}, "the very numbers that were there"


def test_undo_goes_to_the_start_of_a_whole_transition(kube: KubeServer) -> None:
    lever = pools(kube)
    first = lever.plan(HALF)
    lever.apply(first)
    second = lever.plan(ALL)
    lever.apply(second)
    lever.undo(replace(second, before={Level.DRAFT: 1.0, Level.NGRAM: 0.0}))
    assert weights(kube) == {"llama-draft": 1000, "llama-ngram": 0}


def test_the_identity_does_not_depend_on_versions(kube: KubeServer) -> None:
    lever = pools(kube)
    one = lever.plan(HALF)
    kube.objects.edit(KEY, lambda found: found["metadata"].update(labels={"other": "label"}), "somebody")
    assert lever.plan(HALF).identity == one.identity
    assert lever.plan(ALL).identity != one.identity


def test_a_write_in_between_is_kept(kube: KubeServer) -> None:
    lever = pools(kube)
    plan = lever.plan(HALF)

    def rename() -> None:
        kube.objects.edit(KEY, lambda found: found["spec"].update(hostnames=["other.example.com"]), "somebody")

    kube.before_write = rename
    lever.apply(plan)
    assert kube.objects.get(KEY)["spec"]["hostnames"] == ["other.example.com"]
    assert weights(kube) == {"llama-draft": 500, "llama-ngram": 500}
    assert [call.status for call in kube.calls if call.verb == "patch"] == [409, 200]


def test_somebody_who_never_stops_writing_is_an_error_to_try_again(kube: KubeServer) -> None:
    lever = pools(kube)
    plan = lever.plan(HALF)
    count = 0

    def touch() -> None:
        nonlocal count
        count += 1
        kube.objects.edit(KEY, lambda found: found["metadata"].update(labels={"n": str(count)}), "somebody")
        kube.before_write = touch

    kube.before_write = touch
    with pytest.raises(ActuatorError, match="keeps writing to it; 5 tries") as error:
        lever.apply(plan)
    assert error.value.retry


@pytest.mark.parametrize(
    ("manager", "words"),
    [
        ("argocd-controller", "Argo CD"),
        ("kustomize-controller", "Flux"),
        ("helm", "Helm"),
        ("ours", "ours"),
    ],
)
def test_a_foreign_manager_is_named_and_not_overruled(kube: KubeServer, manager: str, words: str) -> None:
    take_back(kube, manager)
    kube.objects.edit(KEY, lambda found: set_weights(found, 9, 1), manager)
    lever = pools(kube)
    plan = lever.plan(HALF)
    assert words in lever.describe().foreign
    assert f"# managed by {manager}" in plan.text
    with pytest.raises(ActuatorError, match="set force = true") as error:
        lever.apply(plan)
    assert words in str(error.value)
    assert not error.value.retry
    assert not kube.writes
    taking = pools(kube, force=True)
    taking.apply(taking.plan(HALF))
    assert weights(kube) == {"llama-draft": 500, "llama-ngram": 500}
    assert taking.describe().foreign == ""


def test_what_gitops_puts_back_is_not_fought_over_even_by_force(kube: KubeServer) -> None:
    lever = pools(kube, force=True)
    lever.apply(lever.plan(HALF))
    kube.advance(1)
    take_back(kube, "argocd-controller")
    said = "argocd-controller (Argo CD), who took it back after our last movement (2026-01-01T00:00:41Z)"
    assert lever.describe().foreign == said
    with pytest.raises(ActuatorError, match="not fought over"):
        lever.apply(lever.plan(HALF))
    assert weights(kube) == {"llama-draft": 1, "llama-ngram": 0}


def test_what_gitops_sets_at_home_may_be_taken_over_again(kube: KubeServer) -> None:
    lever = pools(kube, force=True)
    lever.apply(lever.plan(HALF))
    lever.apply(lever.plan({Level.DRAFT: 1.0}))
    take_back(kube, "argocd-controller")
    assert lever.describe().foreign == "argocd-controller (Argo CD)"
    lever.apply(lever.plan(HALF))
    assert weights(kube) == {"llama-draft": 500, "llama-ngram": 500}


def test_flux_forces_its_own_weights_back(kube: KubeServer) -> None:
    lever = pools(kube, force=True)
    lever.apply(lever.plan(HALF))
    kube.objects.apply(KEY, route(), "kustomize-controller", force=True)
    assert "kustomize-controller (Flux), who took it back" in lever.describe().foreign


def test_a_pool_without_ready_pods_gets_no_traffic(kube: KubeServer) -> None:
    lever = pools(kube)
    plan = lever.plan(HALF)
    lever.apply(plan)
    kube.objects.edit(
        ("deployments", NAMESPACE, "llama-ngram"), lambda found: found["spec"].update(replicas=0), "x"
    )
    for pod in kube.objects.select("pods", NAMESPACE, {"pool": "ngram"}):
        kube.objects.delete(("pods", NAMESPACE, pod["metadata"]["name"]))
    kube.advance(1)
    assert "has 0 ready endpoints of 1" in lever.verify(plan).note
    with pytest.raises(ActuatorError, match="llama-ngram for n-gram has 0 ready endpoints") as error:
        lever.apply(lever.plan(ALL))
    assert error.value.retry
    lever.undo(plan)
    assert weights(kube) == {"llama-draft": 1, "llama-ngram": 0}


def test_a_route_that_the_gateway_refuses_is_not_settled(kube: KubeServer) -> None:
    lever = pools(kube)
    plan = lever.plan(HALF)
    lever.apply(plan)
    kube.objects.delete(("services", NAMESPACE, "llama-draft"))
    kube.advance(1)
    found = lever.verify(plan)
    assert (found.settled, found.note) == (False, "public: ResolvedRefs is False, BackendNotFound")


def test_weights_that_somebody_else_changed_are_not_the_plans(kube: KubeServer) -> None:
    lever = pools(kube)
    plan = lever.plan(HALF)
    lever.apply(plan)
    kube.objects.edit(KEY, lambda found: set_weights(found, 3, 1), "kubectl-edit")
    found = lever.verify(plan)
    assert found.shares == {Level.DRAFT: 0.75, Level.NGRAM: 0.25}
    assert (found.settled, found.note) == (False, "the weights are not the plan's")


def test_other_backends_of_the_rule_keep_their_share(kube: KubeServer) -> None:
    kube.add("services", service("llama-canary", "canary"))

    def canary(found: Json) -> None:
        refs = found["spec"]["rules"][1]["backendRefs"]
        refs.append({"name": "llama-canary", "port": 8000, "weight": 100})
        refs[0]["weight"], refs[1]["weight"] = 300, 0

    kube.objects.edit(KEY, canary, "somebody")
    take(kube, "httproutes", "llama")
    kube.advance(1)
    lever = pools(kube)
    assert lever.describe().note == "25% of the rule's traffic goes to other backends"
    lever.apply(lever.plan({Level.DRAFT: 0.95, Level.NGRAM: 0.05}))
    assert weights(kube) == {"llama-draft": 285, "llama-ngram": 15, "llama-canary": 100}


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda found: found["spec"]["rules"].pop(1), "no rules with each of llama-draft, llama-ngram"),
        (lambda found: found["spec"]["rules"].append(found["spec"]["rules"][1]), "2 rules .* name the rule"),
        (lambda found: set_weights(found, 0, 0), "all weights of the levels are 0"),
    ],
)
def test_a_route_that_does_not_fit(kube: KubeServer, broken: object, said: str) -> None:
    assert callable(broken)
    kube.objects.edit(KEY, broken, "somebody")
    with pytest.raises(ActuatorError, match=said) as error:
        pools(kube).describe()
    assert not error.value.retry


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ({Level.DRAFT: 0.5}, "together 1"),
        ({Level.DRAFT: 1.5, Level.NGRAM: -0.5}, "0 to 1"),
        ({Level.OFF: 1.0}, "there is no off here"),
    ],
)
def test_shares_that_are_none(kube: KubeServer, shares: dict[Level, float], said: str) -> None:
    with pytest.raises(ActuatorError, match=said):
        pools(kube).plan(shares)


def test_a_route_that_is_gone_is_not_tried_again(kube: KubeServer) -> None:
    kube.objects.delete(KEY)
    with pytest.raises(ActuatorError, match="404") as error:
        pools(kube).describe()
    assert not error.value.retry


def test_health_is_asked_of_whoever_was_told_of_each_movement(kube: KubeServer) -> None:
    watch = MovementWatch()
    lever = pools(kube, health=watch)
    plan = lever.plan(HALF)
    lever.apply(plan)
    lever.undo(plan)
    home = {Level.DRAFT: 1.0, Level.NGRAM: 0.0}
    assert watch.told == [(home, HALF), (HALF, home)]
    assert lever.health().reason == "worse"
    assert not pools(kube).health().known, "nobody measures it"


def test_a_plan_that_came_through_json_is_carried_out(kube: KubeServer) -> None:
    lever = pools(kube)
    plan = lever.plan(HALF)
    body = json.loads(json.dumps({"changes": plan.changes, "shares": plan.shares, "before": plan.before}))
    back = Plan(
        identity=plan.identity,
        shares={Level(level): share for level, share in body["shares"].items()},
        before={Level(level): share for level, share in body["before"].items()},
        changes=tuple(body["changes"]),
        text=plan.text,
    )
    lever.apply(back)
    lever.undo(back)
    assert weights(kube) == {"llama-draft": 1, "llama-ngram": 0}
