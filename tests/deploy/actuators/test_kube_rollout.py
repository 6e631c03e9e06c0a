"""Speculative settings of a Deployment: nothing else changes, and what was there comes back to the letter."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import yaml

from deploy.actuators.kube_fields import Json
from deploy.actuators.kube_samples import ARGS, ARGUMENTS, EAGLE, NAMESPACE, NGRAM, rollout, take
from deploy.actuators.kube_server import Fault, KubeServer
from deploy.actuators.movement_watch import MovementWatch
from specwatch_deploy.actuators.applied_object import NOTE
from specwatch_deploy.actuators.spec_flags import SGLANG, VLLM
from specwatch_deploy.actuators.spec_place import ConfigMapVolume, ContainerArgs
from specwatch_detectors.fallback.actuator import Actuator, ActuatorError
from specwatch_detectors.fallback.level import Level

KEY = ("deployments", NAMESPACE, "llama-draft")
TO_NGRAM = {Level.NGRAM: 1.0}
TO_OFF = {Level.OFF: 1.0}
NGRAM_ARGS = [NGRAM if arg == EAGLE else arg for arg in ARGS]
OFF_ARGS = [*ARGS[:2], *ARGS[4:]]


def engine(kube: KubeServer) -> Json:
    found: Json = kube.objects.get(KEY)["spec"]["template"]["spec"]["containers"][0]
    return found


def set_engine(kube: KubeServer, manager: str = "", **fields: object) -> None:
    def change(found: Json) -> None:
        container = found["spec"]["template"]["spec"]["containers"][0]
        container.update(fields)
        for name in [name for name, value in fields.items() if value is None]:
            del container[name]

    kube.objects.edit(KEY, change, manager or "somebody")
    if not manager and {"command", "args"} & set(engine(kube)):
        take(kube, "deployments", "llama-draft")


def test_to_ngram_to_off_and_back(kube: KubeServer) -> None:
    lever: Actuator = rollout(kube)
    assert lever.levels == (Level.DRAFT, Level.NGRAM, Level.OFF)
    assert lever.describe().shares == {Level.DRAFT: 1.0, Level.NGRAM: 0.0, Level.OFF: 0.0}
    before = kube.objects.get(KEY)["spec"]
    for wanted, args in ((TO_NGRAM, NGRAM_ARGS), (TO_OFF, OFF_ARGS)):
        plan = lever.plan(wanted)
        lever.apply(plan)
        assert engine(kube)["args"] == args
        assert not lever.verify(plan).settled
        kube.advance(40)
        assert lever.verify(plan).settled
        lever.undo(plan)
        kube.advance(40)
        assert kube.objects.get(KEY)["spec"] == before
        assert "annotations" not in kube.objects.get(KEY)["metadata"]


def test_the_patch_holds_the_list_and_the_former_one(kube: KubeServer) -> None:
    lever = rollout(kube)
    plan = lever.plan(TO_NGRAM)
    assert not kube.writes
    shown = yaml.safe_load(plan.text)
    assert shown["spec"]["template"]["spec"]["containers"] == [{"name": "engine", "args": NGRAM_ARGS}]
    kept = {"level": "draft", "args": ARGS}
    assert json.loads(shown["metadata"]["annotations"][NOTE]) == kept
    assert plan.changes[0]["before"] == kept
    lever.apply(plan)
    assert kube.writes[-1].body == shown
    assert json.loads(kube.objects.get(KEY)["metadata"]["annotations"][NOTE]) == kept


def test_the_annotation_keeps_what_was_at_home_and_goes_at_home(kube: KubeServer) -> None:
    lever = rollout(kube)
    for level in (Level.NGRAM, Level.OFF):
        lever.apply(lever.plan({level: 1.0}))
        kept = json.loads(kube.objects.get(KEY)["metadata"]["annotations"][NOTE])
        assert kept == {"level": "draft", "args": ARGS}
    lever.apply(lever.plan({Level.DRAFT: 1.0}))
    assert "annotations" not in kube.objects.get(KEY)["metadata"]


def test_progress_is_told_while_pods_are_replaced(kube: KubeServer) -> None:
    lever = rollout(kube)
    plan = lever.plan(TO_NGRAM)
    lever.apply(plan)
    notes = []
    for _ in range(20):
        notes.append(lever.verify(plan).note)
        kube.advance(1)
    assert notes[0] == "the last change has not been looked at yet"
    assert "1 of 2 pods updated, 2 available, 2 old ones left" in notes
    assert notes[-1] == ""


def test_a_rollout_that_fails_says_so_and_is_undone(kube: KubeServer) -> None:
    kube.controllers.fails = lambda template: "ngram" in json.dumps(template)
    lever = rollout(kube)
    plan = lever.plan(TO_NGRAM)
    lever.apply(plan)
    kube.advance(30)
    assert not lever.verify(plan).settled
    kube.advance(60)
    with pytest.raises(ActuatorError, match=r"no progress for 60 s .ProgressDeadlineExceeded.") as error:
        lever.verify(plan)
    assert not error.value.retry
    assert "ProgressDeadlineExceeded" in lever.describe().note
    lever.undo(plan)
    assert engine(kube)["args"] == ARGS
    kube.advance(5)
    assert (lever.describe().settled, lever.describe().level) == (True, Level.DRAFT)
    assert kube.objects.get(KEY)["status"]["availableReplicas"] == 2, "the old pods served all along"


def test_applying_and_undoing_twice_changes_nothing_twice(kube: KubeServer) -> None:
    lever = rollout(kube)
    plan = lever.plan(TO_OFF)
    for act in (lever.apply, lever.apply, lever.undo, lever.undo):
        act(plan)
    assert len(kube.writes) == 2


def test_other_arguments_that_changed_since_survive_the_undo(kube: KubeServer) -> None:
    lever = rollout(kube)
    plan = lever.plan(TO_NGRAM)
    lever.apply(plan)
    set_engine(kube, args=[*NGRAM_ARGS, "--seed", "7"], image="example.com/vllm:2")
    lever.undo(plan)
    assert engine(kube)["args"] == [*ARGS, "--seed", "7"]
    assert engine(kube)["image"] == "example.com/vllm:2"


def test_undo_to_another_level_than_the_plans(kube: KubeServer) -> None:
    lever = rollout(kube)
    first = lever.plan(TO_NGRAM)
    lever.apply(first)
    second = lever.plan(TO_OFF)
    lever.apply(second)
    lever.undo(replace(second, before={Level.DRAFT: 1.0}))
    assert engine(kube)["args"] == [*OFF_ARGS, "--speculative-config", EAGLE]


def test_the_same_setting_in_another_spelling_is_the_level(kube: KubeServer) -> None:
    spelled = json.dumps(dict(reversed(json.loads(EAGLE).items())), indent=1)
    set_engine(kube, args=["/models/target", f"--speculative_config={spelled}"])
    lever = rollout(kube)
    assert lever.describe().level is Level.DRAFT
    lever.apply(lever.plan(TO_OFF))
    assert engine(kube)["args"] == ["/models/target"]


def test_flags_in_the_command(kube: KubeServer) -> None:
    set_engine(kube, command=["vllm", "serve", "/m", "--speculative-config", EAGLE, "--port", "1"], args=None)
    lever = rollout(kube)
    away, home = lever.plan(TO_OFF), None
    lever.apply(away)
    assert engine(kube)["command"] == ["vllm", "serve", "/m", "--port", "1"]
    home = lever.plan({Level.DRAFT: 1.0})
    lever.apply(home)
    assert engine(kube)["command"] == ["vllm", "serve", "/m", "--port", "1"], "it is ours and must not vanish"
    assert engine(kube)["args"] == ["--speculative-config", EAGLE]
    assert lever.describe().level is Level.DRAFT


def test_only_speculative_arguments_vanish_and_come_back(kube: KubeServer) -> None:
    set_engine(kube, command=["vllm", "serve", "/m"], args=["--speculative-config", EAGLE])
    lever = rollout(kube)
    plan = lever.plan(TO_OFF)
    lever.apply(plan)
    assert "args" not in engine(kube)
    lever.undo(plan)
    assert engine(kube)["args"] == ["--speculative-config", EAGLE]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"command": ["/bin/sh", "-c"], "args": ["vllm serve /m"]}, "through a shell"),
        ({"command": ["bash", "-ec", "exec vllm serve /m"], "args": None}, "through a shell"),
        ({"command": None, "args": None}, "neither command nor args"),
        ({"command": ["vllm", "-sc", EAGLE]}, "in command and in args"),
        (
            {"args": ["--speculative-config", '{"method":"medusa"}']},
            "runs with --speculative-config .*, which is no level",
        ),
        ({"name": "other"}, "no container engine; there are: other, sidecar"),
    ],
)
def test_a_container_that_does_not_fit(kube: KubeServer, fields: Json, said: str) -> None:
    set_engine(kube, **fields)
    with pytest.raises(ActuatorError, match=said) as error:
        rollout(kube).plan(TO_NGRAM)
    assert not error.value.retry
    assert not kube.writes


def test_a_foreign_manager_of_the_arguments(kube: KubeServer) -> None:
    set_engine(kube, "argocd-controller", args=[*ARGS, "--x"])
    lever = rollout(kube)
    assert lever.describe().foreign == "argocd-controller (Argo CD)"
    plan = lever.plan(TO_NGRAM)
    with pytest.raises(ActuatorError, match=r"managed by argocd-controller .Argo CD.: set force"):
        lever.apply(plan)
    taking = rollout(kube, force=True)
    taking.apply(taking.plan(TO_NGRAM))
    assert taking.describe().foreign == ""
    set_engine(kube, "argocd-controller", args=[*ARGS, "--x"])
    with pytest.raises(ActuatorError, match="not fought over"):
        taking.apply(taking.plan(TO_NGRAM))


def test_who_manages_other_fields_is_no_stranger(kube: KubeServer) -> None:
    kube.objects.edit(KEY, lambda found: found["spec"].update(replicas=3), "keda-operator")
    set_engine(kube, "argocd-controller", image="example.com/vllm:2")
    assert rollout(kube).describe().foreign == ""


def test_sglang(kube: KubeServer) -> None:
    head = ["-m", "sglang.launch_server", "--model-path", "/m"]
    draft = ["--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3", "--speculative-adaptive"]
    set_engine(kube, command=["python3"], args=[*head, *draft, "--port", "30000"])
    place = ContainerArgs("engine", {Level.DRAFT: draft, Level.OFF: []}, SGLANG)
    lever = rollout(kube, place=place)
    plan = lever.plan(TO_OFF)
    lever.apply(plan)
    assert engine(kube)["args"] == [*head, "--port", "30000"]
    lever.undo(plan)
    assert engine(kube)["args"] == [*head, *draft, "--port", "30000"]


def test_the_options_file_of_tensorrt_llm(kube: KubeServer) -> None:
    place = ConfigMapVolume("options", {Level.DRAFT: "options-draft", Level.NGRAM: "options-ngram"})
    lever = rollout(kube, place=place, force=True)
    before = kube.objects.get(KEY)["spec"]
    plan = lever.plan(TO_NGRAM)
    lever.apply(plan)
    volumes = kube.objects.get(KEY)["spec"]["template"]["spec"]["volumes"]
    assert volumes == [{"name": "options", "configMap": {"name": "options-ngram"}}, {"name": "shm", "emptyDir": {}}]
    kube.advance(40)
    assert lever.verify(plan).settled
    lever.undo(plan)
    assert kube.objects.get(KEY)["spec"] == before


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (ConfigMapVolume("shm", {Level.DRAFT: "a"}), "no volume shm from a ConfigMap"),
        (ConfigMapVolume("options", {Level.DRAFT: "a"}), "mounts ConfigMap options-draft, which is no level's"),
    ],
)
def test_a_volume_that_does_not_fit(kube: KubeServer, place: ConfigMapVolume, said: str) -> None:
    with pytest.raises(ActuatorError, match=said):
        rollout(kube, place=place).describe()


def test_levels_may_only_name_speculative_flags() -> None:
    with pytest.raises(ValueError, match="arguments of ngram: --port is no speculative flag of vllm"):
        ContainerArgs("engine", {**ARGUMENTS, Level.NGRAM: ["--speculative-config", NGRAM, "--port", "1"]}, VLLM)


def test_a_lost_answer_does_not_move_twice(kube: KubeServer) -> None:
    lever = rollout(kube)
    plan = lever.plan(TO_NGRAM)
    kube.faults.append(Fault(504, after=True, verbs=("patch",)))
    lever.apply(plan)
    assert kube.objects.get(KEY)["metadata"]["generation"] == 2
    assert engine(kube)["args"] == NGRAM_ARGS
    lever.undo(plan)
    assert engine(kube)["args"] == ARGS


def test_health_is_asked_of_whoever_was_told_of_each_movement(kube: KubeServer) -> None:
    watch = MovementWatch()
    lever = rollout(kube, health=watch)
    plan = lever.plan({Level.NGRAM: 1.0})
    lever.apply(plan)
    lever.undo(plan)
    assert watch.told == [(plan.before, plan.shares), (plan.shares, plan.before)]
    assert lever.health().reason == "worse"
