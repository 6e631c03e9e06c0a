"""Rounds of the controller: dry run, and whole lives of a deployment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from detectors.fallback.controller_rig import QUICK, START, NewRig, at_rest, level
from specwatch_detectors.fallback.actuator import Health
from specwatch_detectors.fallback.controller import ALL_OR_NOTHING
from specwatch_detectors.fallback.decision import Act
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.operator_command import Order, control_path
from specwatch_detectors.fallback.transition import same_shares


def bad(_: float) -> float:
    return 0.8


def bad_until(end: float) -> Callable[[float], float]:
    return lambda now: 0.8 if now < START + end else 1.8


def test_a_good_draft_is_left_alone(new_rig: NewRig) -> None:
    own = new_rig()
    view = own.rounds(20)
    assert own.lever.calls == []
    assert level(view) is Level.DRAFT
    assert own.kinds() == ["start"]
    assert view.at == own.now


def test_it_leaves_a_bad_draft_in_steps_and_comes_home_in_steps(new_rig: NewRig) -> None:
    own = new_rig(bad_until(1200.0))
    own.until(at_rest(Level.NGRAM))
    assert own.lever.calls == [
        "apply to 95 % draft, 5 % ngram",
        "apply to 75 % draft, 25 % ngram",
        "apply to 100 % ngram",
    ]
    view = own.until(at_rest(Level.DRAFT))
    calls = own.lever.calls[3:]
    assert calls[:2] == ["apply to 5 % draft, 95 % ngram", "apply to 100 % ngram"]  # a probe, lost
    assert calls[-3:] == [
        "apply to 5 % draft, 95 % ngram",
        "apply to 25 % draft, 75 % ngram",
        "apply to 100 % draft",
    ]
    assert view.memory is not None
    assert view.memory.moves["draft ngram not_paying"] == 1
    assert view.memory.moves["ngram draft pays_again"] == 1
    assert view.memory.moves["ngram draft probe"] >= 3
    assert len(view.memory.policy.flips) == 2


def test_every_movement_is_written_down_before_it_is_made(new_rig: NewRig) -> None:
    own = new_rig(bad)
    apply = own.lever.apply
    seen = []

    def watched(plan: object) -> None:
        seen.append((own.entries()[-1]["kind"], own.entries()[-1]["plan"]))
        apply(plan)  # type: ignore[arg-type]

    own.lever.apply = watched  # type: ignore[method-assign]
    own.until(at_rest(Level.NGRAM))
    assert [kind for kind, _ in seen] == ["intent"] * 3
    assert seen[0][1] == "set 95 % draft, 5 % ngram"
    assert own.entries("intent")[0]["changes"] == [{"weights": {"draft": 0.95, "ngram": 0.05}}]
    assert own.entries("intent")[0]["inputs"]["speedup"]["draft"][1] == 0.8


def test_what_is_shown_of_the_lever_is_where_the_round_has_left_it(new_rig: NewRig) -> None:
    own = new_rig(bad_until(600.0))
    own.world.changes = {}
    for _ in range(60):
        view = own.rounds(1)
        assert view.position is not None
        assert same_shares(view.position.shares, own.lever.shares)
    assert len(own.lever.calls) > 8
    own.lever.healthy = lambda: Health(ok=False, reason="worse")
    own.world.draft = bad
    for _ in range(20):
        view = own.rounds(1)
        assert view.position is not None
        assert same_shares(view.position.shares, own.lever.shares)
    assert any(call.startswith("undo") for call in own.lever.calls)


def test_a_dry_run_moves_nothing_and_does_not_believe_that_it_did(new_rig: NewRig) -> None:
    own = new_rig(bad, acting=False)
    view = own.rounds(40)
    assert own.lever.calls == []
    assert level(view) is Level.DRAFT
    assert view.memory is not None
    assert view.memory.policy.flips == ()
    assert view.memory.veto == "dry_run"
    assert view.memory.refusals["dry_run"] == 1
    assert view.memory.policy.regret_s > 100.0
    advice = own.entries("advice")
    assert len(advice) == 1
    assert advice[0]["acting"] is False
    assert advice[0]["plan"] == "set 95 % draft, 5 % ngram\nset 75 % draft, 25 % ngram\nset 100 % ngram"
    assert advice[0]["steps"] == "95 % draft, 5 % ngram; then 75 % draft, 25 % ngram; then 100 % ngram"
    assert "--act" in view.reason


def test_what_somebody_else_manages_is_left_alone(new_rig: NewRig) -> None:
    own = new_rig(bad)
    own.lever.foreign = "argocd"
    view = own.rounds(20)
    assert own.lever.calls == []
    assert view.memory is not None
    assert view.memory.veto == "foreign"
    assert "argocd" in view.reason


def test_force_moves_what_somebody_else_manages(new_rig: NewRig) -> None:
    own = new_rig(bad, force=True)
    own.lever.foreign = "argocd"
    own.until(at_rest(Level.NGRAM))


def test_a_person_who_moves_the_lever_is_followed(new_rig: NewRig) -> None:
    own = new_rig()
    own.rounds(2)
    own.lever.set({Level.NGRAM: 1.0})
    view = own.rounds(1)
    assert level(view) is Level.NGRAM
    assert own.kinds()[-1] == "found"
    own.until(at_rest(Level.DRAFT))  # by probes, as from a fallback of its own
    assert own.lever.calls[0] == "apply to 5 % draft, 95 % ngram"


def test_a_deployment_found_on_a_fallback_begins_there(new_rig: NewRig) -> None:
    own = new_rig()
    own.lever.set({Level.NGRAM: 1.0})
    assert level(own.rounds(1)) is Level.NGRAM


def test_a_lever_of_all_or_nothing_returns_on_a_new_revision_only(new_rig: NewRig) -> None:
    own = new_rig(bad_until(900.0), steps=(1.0,))
    own.world.changes = {"revision": "draft 1"}
    own.until(at_rest(Level.NGRAM))
    assert own.lever.calls == ["apply to 100 % ngram"]
    view = own.rounds(200)
    assert level(view) is Level.NGRAM
    assert view.can_probe == ALL_OR_NOTHING
    assert len(own.lever.calls) == 1
    own.world.changes = {"revision": "draft 2"}
    view = own.until(at_rest(Level.DRAFT), most=5)
    assert own.lever.calls[1:] == ["apply to 100 % draft"]
    assert view.memory is not None
    assert view.memory.moves["ngram draft new_revision"] == 1


def test_a_revision_that_was_not_known_when_home_was_left_is_no_new_one(new_rig: NewRig) -> None:
    own = new_rig(bad, steps=(1.0,))
    own.until(at_rest(Level.NGRAM))
    own.world.changes = {"revision": "vllm 0.32.0"}
    assert level(own.rounds(100)) is Level.NGRAM
    assert own.lever.calls == ["apply to 100 % ngram"]
    own.world.draft = lambda _: 1.8
    own.world.changes = {"revision": "vllm 0.33.0"}
    own.until(at_rest(Level.DRAFT), most=5)


def test_what_a_person_has_moved_is_not_taken_home_for_a_revision_they_knew(new_rig: NewRig) -> None:
    own = new_rig(bad_until(600.0), steps=(1.0,))
    for revision, wanted in (("draft 1", Level.NGRAM), ("draft 2", Level.DRAFT)):
        own.world.changes = {"revision": revision}
        own.until(at_rest(wanted))
    own.lever.set({Level.NGRAM: 1.0})
    assert level(own.rounds(100)) is Level.NGRAM


def test_pods_of_home_that_come_and_go_do_not_end_its_probe(new_rig: NewRig) -> None:
    """The probe's share may be what makes the drafter's pool grow."""
    own = new_rig(bad_until(600.0))
    own.until(at_rest(Level.NGRAM))
    own.until(lambda view: view.memory is not None and view.memory.policy.probe_began is not None)
    own.world.changes = {"home_scaling": True}
    view = own.rounds(5)
    assert view.memory is not None
    assert view.memory.policy.probe_began is not None
    assert "nothing measured yet" in view.reason
    own.world.changes = {}
    own.until(at_rest(Level.DRAFT))
    assert own.entries("undone") == []


@pytest.mark.parametrize("change", ["home_rollout", "home_scaling"])
def test_no_probe_begins_while_pods_of_home_come_and_go(new_rig: NewRig, change: str) -> None:
    own = new_rig(bad)
    own.until(at_rest(Level.NGRAM))
    own.world.changes = {change: True}
    view = own.rounds(30)
    assert view.memory is not None
    assert view.memory.veto == change.removeprefix("home_")
    assert own.lever.calls[3:] == []


def test_a_canary_probes_without_moving_traffic(new_rig: NewRig) -> None:
    own = new_rig(bad_until(900.0), steps=(1.0,), canary=True)
    own.until(at_rest(Level.NGRAM))
    own.until(at_rest(Level.DRAFT))
    assert own.lever.calls == ["apply to 100 % ngram", "apply to 100 % draft"]
    acts = [entry["decision"]["act"] for entry in own.entries("decision")]
    assert acts.count(Act.PROBE) >= 2


def test_an_operator_returns_a_lever_by_hand(new_rig: NewRig) -> None:
    own = new_rig(bad, steps=(1.0,))
    own.until(at_rest(Level.NGRAM))
    own.world.draft = lambda _: 1.8
    own.command(Order.RETURN)
    view = own.until(at_rest(Level.DRAFT), most=5)
    assert view.memory is not None
    assert view.memory.moves["ngram draft operator"] == 1
    assert own.entries("intent")[-1]["words"] == "somebody asked for it"
    own.lever.set({Level.NGRAM: 1.0})
    own.rounds(20)
    assert len(own.lever.calls) == 2  # the command is obeyed once


@pytest.mark.parametrize(
    ("age", "acting", "said"),
    [(3600.0, True, "3630 s old"), (0.0, False, "dry run"), (0.0, True, "all traffic is")],
)
def test_a_command_that_cannot_be_obeyed_is_answered(new_rig: NewRig, age: float, acting: bool, said: str) -> None:
    own = new_rig(acting=acting)
    own.rounds(1)
    own.command(Order.RETURN, age=age)
    own.rounds(3)
    answers = own.entries("operator")
    assert len(answers) == 1
    assert said in answers[0]["words"]


def test_a_file_that_is_no_command_is_said(new_rig: NewRig) -> None:
    own = new_rig()
    control_path(own.path).write_text("please")
    assert "no command" in own.rounds(1).troubles["command"]


def test_a_flapping_draft_latches_and_an_operator_unlatches(new_rig: NewRig) -> None:
    own = new_rig(
        lambda now: 0.5 if ((now - START) // 1800.0) % 2 else 1.8,
        settings=replace(QUICK, flips_per_day=4),
    )
    view = own.until(lambda view: view.memory is not None and view.memory.policy.latched, most=2000)
    assert any(entry["decision"]["act"] == "latch" for entry in own.entries() if "decision" in entry)
    own.rounds(5)
    assert same_shares(own.lever.shares, {Level.NGRAM: 1.0})  # the share of the probe that latched it, too
    assert own.lever.calls[-1] == "apply to 100 % ngram"
    own.command(Order.UNLATCH)
    view = own.rounds(1)
    assert view.memory is not None
    assert not view.memory.policy.latched
    own.world.draft = lambda _: 1.8
    own.until(at_rest(Level.DRAFT), most=2000)


def test_who_does_not_lead_does_nothing(new_rig: NewRig) -> None:
    own = new_rig(bad)
    answers = [(True, ""), (False, "pod-b leads")]

    class Lease:
        def lead(self, _now: float) -> tuple[bool, str]:
            return answers[0]

        def close(self) -> None:
            """Nothing is held."""

    own.controller._leadership = Lease()
    own.rounds(1)
    answers.pop(0)
    view = own.rounds(20)
    assert own.lever.calls == []
    assert not view.leading
    assert "pod-b leads" in view.troubles["leader"]
    answers[0] = (True, "")
    own.until(at_rest(Level.NGRAM))


def test_a_half_done_movement_waits_for_permission_to_act(new_rig: NewRig) -> None:
    own = new_rig(bad)
    own.until(lambda _: len(own.lever.calls) == 1)
    own.rules = replace(own.rules, acting=False)
    own.restart()
    view = own.rounds(5)
    assert len(own.lever.calls) == 1
    assert "half done" in view.reason
    own.rules = replace(own.rules, acting=True)
    own.restart()
    own.until(at_rest(Level.NGRAM))
    assert len(own.lever.calls) == 3
