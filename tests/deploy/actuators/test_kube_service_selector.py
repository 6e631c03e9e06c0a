"""One label of a Service's selector: flipped only to pods that are ready."""

from __future__ import annotations

import pytest
import yaml

from deploy.actuators.kube_fields import Json
from deploy.actuators.kube_samples import NAMESPACE, selector, take
from deploy.actuators.kube_server import KubeServer
from deploy.actuators.movement_watch import MovementWatch
from specwatch_detectors.fallback.actuator import Actuator, ActuatorError
from specwatch_detectors.fallback.level import Level

KEY = ("services", NAMESPACE, "llama")
NGRAM = {Level.NGRAM: 1.0}
DRAFT = {Level.DRAFT: 1.0}


def selected(kube: KubeServer) -> Json:
    found: Json = kube.objects.get(KEY)["spec"]["selector"]
    return found


def stop_pods(kube: KubeServer, pool: str) -> None:
    kube.objects.edit(
        ("deployments", NAMESPACE, f"llama-{pool}"), lambda found: found["spec"].update(replicas=0), "kubectl-scale"
    )
    for pod in kube.objects.select("pods", NAMESPACE, {"pool": pool}):
        kube.objects.delete(("pods", NAMESPACE, pod["metadata"]["name"]))
    kube.advance(1)


def test_flip_and_back(kube: KubeServer) -> None:
    lever: Actuator = selector(kube)
    assert lever.steps == (1.0,)
    assert (lever.describe().level, lever.describe().settled) == (Level.DRAFT, True)
    plan = lever.plan(NGRAM)
    assert yaml.safe_load(plan.text)["spec"] == {"selector": {"app": "llama", "pool": "ngram"}}
    assert not kube.writes
    ports = kube.objects.get(KEY)["spec"]["ports"]
    lever.apply(plan)
    found = lever.verify(plan)
    assert (found.level, found.settled) == (Level.NGRAM, False)
    assert found.note == "0 of 2 endpoints have followed the selector"
    kube.advance(1)
    assert lever.verify(plan).settled
    lever.apply(plan)
    lever.undo(plan)
    lever.undo(plan)
    kube.advance(1)
    assert lever.describe().level is Level.DRAFT
    assert (lever.describe().settled, selected(kube)) == (True, {"app": "llama", "pool": "draft"})
    assert len(kube.writes) == 2
    assert kube.objects.get(KEY)["spec"]["ports"] == ports
    assert "annotations" not in kube.objects.get(KEY)["metadata"]


def test_a_pool_without_a_ready_pod_is_refused(kube: KubeServer) -> None:
    stop_pods(kube, "ngram")
    lever = selector(kube)
    plan = lever.plan(NGRAM)
    with pytest.raises(ActuatorError, match=r"pool of n-gram \(pool=ngram\) has 0 ready pods of 1") as error:
        lever.apply(plan)
    assert error.value.retry
    assert not kube.writes


def test_too_few_ready_pods_are_refused(kube: KubeServer) -> None:
    lever = selector(kube, least_ready=3)
    with pytest.raises(ActuatorError, match="has 2 ready pods of 3"):
        lever.apply(lever.plan(NGRAM))


def test_pods_that_are_being_deleted_do_not_count(kube: KubeServer) -> None:
    for pod in kube.objects.select("pods", NAMESPACE, {"pool": "ngram"}):
        kube.objects.edit(
            ("pods", NAMESPACE, pod["metadata"]["name"]),
            lambda found: found["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"),
            "kubelet",
        )
    lever = selector(kube)
    with pytest.raises(ActuatorError, match="has 0 ready pods"):
        lever.apply(lever.plan(NGRAM))


def test_pods_that_die_afterwards_are_seen(kube: KubeServer) -> None:
    lever = selector(kube)
    plan = lever.plan(NGRAM)
    lever.apply(plan)
    stop_pods(kube, "ngram")
    found = lever.verify(plan)
    assert (found.settled, found.note) == (False, "0 ready pods of 1 behind the Service")


def test_a_foreign_selector_is_named(kube: KubeServer) -> None:
    def touch(found: Json) -> None:
        found["spec"]["selector"] = {"app": "llama", "pool": "draft", "tier": "a"}

    kube.objects.edit(KEY, touch, "argocd-controller")
    lever = selector(kube)
    assert lever.describe().foreign == "argocd-controller (Argo CD)"
    for pod in kube.objects.select("pods", NAMESPACE, {"pool": "ngram"}):
        kube.objects.edit(
            ("pods", NAMESPACE, pod["metadata"]["name"]),
            lambda found: found["metadata"]["labels"].update(tier="a"),
            "x",
        )
    plan = lever.plan(NGRAM)
    with pytest.raises(ActuatorError, match="managed by argocd-controller"):
        lever.apply(plan)


def test_a_selector_changed_in_between_keeps_its_other_labels(kube: KubeServer) -> None:
    lever = selector(kube)
    plan = lever.plan(NGRAM)

    def narrow() -> None:
        kube.objects.edit(KEY, lambda found: found["spec"].update(selector={"pool": "draft"}), "somebody")
        take(kube, "services", "llama")

    kube.before_write = narrow
    lever.apply(plan)
    assert selected(kube) == {"pool": "ngram"}


def test_a_value_of_no_level(kube: KubeServer) -> None:
    kube.objects.edit(KEY, lambda found: found["spec"]["selector"].update(pool="blue"), "somebody")
    with pytest.raises(ActuatorError, match=r"selects pool=blue, which is no level's \(draft, ngram\)"):
        selector(kube).describe()


def test_traffic_cannot_be_split(kube: KubeServer) -> None:
    with pytest.raises(ActuatorError, match="all of the traffic or none"):
        selector(kube).plan({Level.DRAFT: 0.5, Level.NGRAM: 0.5})


def test_a_plan_for_where_it_is_already(kube: KubeServer) -> None:
    plan = selector(kube).plan(DRAFT)
    assert plan.changes == ()
    assert "nothing to change" in plan.text


def test_health_is_asked_of_whoever_was_told_of_each_movement(kube: KubeServer) -> None:
    watch = MovementWatch()
    lever = selector(kube, health=watch)
    plan = lever.plan({Level.NGRAM: 1.0})
    lever.apply(plan)
    lever.undo(plan)
    assert watch.told == [(plan.before, plan.shares), (plan.shares, plan.before)]
    assert lever.health().reason == "worse"
