"""What the controller does when something fails: a stated behaviour each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from detectors.fallback.controller_rig import QUICK, ROUND_S, START, NewRig, Rig, at_rest, level
from specwatch_detectors.fallback.actuator import ActuatorError, Health
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.transition import same_shares


def bad(_: float) -> float:
    return 0.8


def test_without_prometheus_nothing_moves(new_rig: NewRig) -> None:
    own = new_rig(bad)
    own.rounds(1)
    own.world.gone = True
    view = own.rounds(10)
    assert own.lever.calls == []
    assert view.memory is not None
    assert view.memory.veto == "stale"
    assert view.memory.policy.regret_s < 120.0
    assert "connection refused" in view.troubles["source"]
    own.world.gone = False
    view = own.until(at_rest(Level.NGRAM))
    assert "source" not in view.troubles


def test_without_prometheus_no_further_step_is_begun_and_a_regression_is_still_undone(new_rig: NewRig) -> None:
    own = new_rig(bad)
    own.until(lambda _: len(own.lever.calls) == 1)
    own.world.gone = True
    view = own.rounds(30)
    assert len(own.lever.calls) == 1
    assert "held" in view.reason
    assert len(own.entries("held")) == 1
    own.lever.healthy = lambda: Health(ok=False, reason="12 % of requests failed, 0 % before")
    own.until(at_rest(Level.DRAFT))
    assert own.lever.calls[1:] == ["undo to 100 % draft"]


def test_a_regression_is_undone_counted_and_not_repeated_within_the_least_stay(new_rig: NewRig) -> None:
    own = new_rig(bad, settings=replace(QUICK, dwell_s=600.0))
    own.until(lambda _: len(own.lever.calls) == 2)
    own.lever.healthy = lambda: Health(ok=False, reason="12 % of requests failed, 0 % before")
    view = own.until(at_rest(Level.DRAFT))
    assert own.lever.calls[2:] == ["undo to 100 % draft"]
    assert view.memory is not None
    assert view.memory.moves == {"draft ngram undone": 1}
    assert len(view.memory.policy.flips) == 1
    assert "12 %" in own.entries("undone")[0]["words"]
    view = own.rounds(15)
    assert len(own.lever.calls) == 3
    assert view.memory is not None
    assert view.memory.veto == "dwell"


def test_a_return_that_is_undone_does_not_keep_the_share_of_its_probe(new_rig: NewRig) -> None:
    own = new_rig(lambda now: 0.8 if now < START + 600.0 else 1.8)
    own.until(at_rest(Level.NGRAM))
    own.until(lambda _: own.lever.calls[-1] == "apply to 25 % draft, 75 % ngram" and len(own.lever.calls) > 3)
    own.lever.healthy = lambda: Health(ok=False, reason="p99 is three times as long")
    own.restart()  # in the middle: what it goes back to is written down
    view = own.until(at_rest(Level.NGRAM))
    assert own.lever.calls[-1] == "undo to 100 % ngram"
    assert view.memory is not None
    assert view.memory.policy.probe_began is None


def test_a_probe_that_hurts_users_ends(new_rig: NewRig) -> None:
    own = new_rig(lambda now: 0.8 if now < START + 600.0 else 1.25)
    own.until(at_rest(Level.NGRAM))
    own.until(lambda view: view.memory is not None and view.memory.policy.probe_began is not None)
    own.lever.healthy = lambda: Health(ok=False, reason="p99 is three times as long")
    own.until(lambda view: view.memory is not None and view.memory.policy.probe_began is None)
    own.until(at_rest(Level.NGRAM))
    assert same_shares(own.lever.shares, {Level.NGRAM: 1.0})
    assert any("p99 is three times" in entry["words"] for entry in own.entries())


def test_what_is_missing_is_said_with_the_veto(new_rig: NewRig) -> None:
    own = new_rig(bad)
    own.world.changes = {"levels": {}, "missing": "there is no payoff of llama"}
    assert own.rounds(1).reason.endswith("nothing is done on nothing; there is no payoff of llama")


def test_a_lever_that_does_not_settle_is_set_back(new_rig: NewRig) -> None:
    own = new_rig(bad)
    real = own.lever.verify
    own.lever.verify = lambda plan: replace(real(plan), settled=False)  # type: ignore[method-assign]
    own.until(lambda _: bool(own.entries("undone")))
    assert own.lever.calls == ["apply to 95 % draft, 5 % ngram", "undo to 100 % draft"]
    assert "not settled after" in own.entries("undone")[0]["words"]


def test_a_failure_that_passes_is_tried_again_after_a_wait(new_rig: NewRig) -> None:
    own = new_rig(bad)
    own.lever.errors["apply"] = [ActuatorError("409: conflict", retry=True), ActuatorError("429", retry=True)]
    own.until(at_rest(Level.NGRAM))
    waits = [entry["memory"]["transition"]["retry_at"] - entry["at"] for entry in own.entries("waiting")]
    assert waits == [20.0, 40.0]
    assert len(own.lever.calls) == 3


def test_a_failure_that_does_not_pass_is_given_up_and_said(new_rig: NewRig) -> None:
    own = new_rig(bad)
    own.lever.errors["apply"] = [ActuatorError("timed out", retry=True)] * 3
    view = own.until(lambda _: bool(own.entries("refused")))
    assert own.lever.calls == []
    assert view.memory is not None
    assert "given up after 3 tries: timed out" in view.memory.held_by
    view = own.rounds(5)
    assert view.memory is not None
    assert (view.memory.veto, view.memory.refusals["lever"]) == ("lever", 1)
    assert "timed out" in view.reason
    own.until(at_rest(Level.NGRAM))


@pytest.mark.parametrize("call", ["plan", "apply"])
def test_what_a_person_must_mend_is_not_tried_again_at_once(new_rig: NewRig, call: str) -> None:
    own = new_rig(bad)
    own.lever.errors[call] = [ActuatorError("403: forbidden", retry=False)]
    own.until(lambda _: bool(own.entries("refused")))
    at = own.now
    view = own.rounds(5)
    assert own.lever.calls == []
    assert "403" in view.reason
    own.until(at_rest(Level.NGRAM))
    assert own.now - at >= 300.0


def test_an_api_server_that_is_gone_in_the_middle_is_waited_for(new_rig: NewRig) -> None:
    own = new_rig(bad)
    own.until(lambda _: len(own.lever.calls) == 1)
    calls = ("describe", "plan", "apply", "verify", "health", "undo")
    own.lever.errors = {call: [ActuatorError("no route to host", retry=True)] * 40 for call in calls}
    view = own.rounds(30)
    assert len(own.lever.calls) == 1
    assert "no route to host" in view.troubles["lever"]
    own.lever.errors = {}
    own.until(at_rest(Level.DRAFT))
    assert own.lever.calls[1:] == ["undo to 100 % draft"]


def test_a_lever_that_cannot_be_read_at_the_start_is_waited_for(new_rig: NewRig) -> None:
    own = new_rig()
    own.lever.errors["describe"] = [ActuatorError("no route to host", retry=True)] * 2
    view = own.rounds(2)
    assert view.memory is None
    assert "no route" in view.reason
    assert level(own.rounds(1)) is Level.DRAFT


def half_done(own: Rig) -> None:
    own.until(lambda _: len(own.lever.calls) == 1)
    own.controller.close()


def test_a_movement_that_was_left_half_done_for_long_is_taken_back(new_rig: NewRig) -> None:
    own = new_rig(bad)
    half_done(own)
    own.now += 7200.0
    own.restart()
    own.until(lambda _: bool(own.entries("undone")), most=3)
    assert own.lever.calls[1:] == ["undo to 100 % draft"]
    assert "half done for 72" in own.entries("undone")[0]["words"]


def test_a_movement_that_somebody_finished_meanwhile_is_left_to_them(new_rig: NewRig) -> None:
    own = new_rig(bad)
    half_done(own)
    own.lever.set({Level.NGRAM: 1.0})
    own.restart()
    view = own.rounds(1)
    assert level(view) is Level.NGRAM
    assert own.kinds()[-1] == "overtaken"
    assert len(own.lever.calls) == 1


def test_a_half_done_movement_is_not_gone_on_with_before_the_lever_can_be_read(new_rig: NewRig) -> None:
    own = new_rig(bad)
    half_done(own)
    own.lever.set({Level.NGRAM: 1.0})
    own.restart()
    own.lever.errors["describe"] = [ActuatorError("gone", retry=True)]
    assert "once the lever can be read: where the lever is cannot be read: gone" in own.rounds(1).reason
    assert level(own.rounds(1)) is Level.NGRAM


def test_a_log_that_cannot_be_written_stops_everything(new_rig: NewRig) -> None:
    own = new_rig(bad)
    own.rounds(1)
    own.log.close()
    view = own.rounds(10)
    assert own.lever.calls == []
    assert "audit" in view.troubles
    assert "cannot be written down: " in view.reason
    assert not view.leading
    assert view.at == START + ROUND_S


def test_a_clock_that_runs_backwards_does_not_move_time(new_rig: NewRig) -> None:
    own = new_rig()
    own.rounds(5)
    own.now -= 3600.0
    view = own.rounds(1)
    assert view.at == START + 5 * ROUND_S
    assert "3570 s behind the last entry" in view.troubles["clock"]
    view = own.rounds(119)
    assert view.troubles == {}


def test_a_clock_that_is_set_back_and_data_that_follows_it_move_nothing(new_rig: NewRig) -> None:
    own = new_rig()
    own.rounds(5)
    own.now -= 3600.0
    own.world.draft = bad
    view = own.rounds(100)
    assert own.lever.calls == []
    assert view.memory is not None
    assert view.memory.policy.regret_s == 0.0
    own.until(at_rest(Level.NGRAM))


def test_a_clock_that_jumps_ahead_is_no_time_in_which_capacity_was_lost(new_rig: NewRig) -> None:
    own = new_rig(bad, settings=replace(QUICK, switch_cost_s=500.0))
    own.rounds(3)
    own.now += 10 * 86_400.0
    view = own.rounds(1)
    assert own.lever.calls == []
    assert view.memory is not None
    assert view.memory.policy.regret_s < 600.0
