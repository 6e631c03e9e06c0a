"""Metrics, status and readiness of the controller."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from detectors.fallback.controller_rig import MODEL, ROUND_S, START, NewRig, Rig, at_rest
from specwatch_detectors.fallback.actuator import ActuatorError
from specwatch_detectors.fallback.controller_loop import LATE_ROUNDS, ControllerLoop
from specwatch_detectors.fallback.controller_status import status
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.outlook import outlook
from specwatch_exporters.fallback_catalog import FALLBACK_CATALOG


def bad_for(seconds: float) -> Callable[[float], float]:
    return lambda now: 0.8 if now < START + seconds else 1.8


def loop(own: Rig) -> ControllerLoop:
    return ControllerLoop(own.controller, ROUND_S, lambda: own.now)


def value(own: Rig, name: str, **labels: str) -> float | None:
    registry = CollectorRegistry()
    registry.register(loop(own))
    return registry.get_sample_value(f"specwatch_fallback_{name}", {"model": MODEL, **labels})


def test_metrics_of_a_life(new_rig: NewRig) -> None:
    own = new_rig(bad_for(900.0))
    assert value(own, "round_timestamp_seconds") is None
    own.rounds(1)
    assert value(own, "level", level="draft") == 1.0
    assert value(own, "level", level="ngram") == 0.0
    assert value(own, "decision_timestamp_seconds") is None
    own.until(lambda view: view.memory is not None and view.memory.transition is not None)
    assert value(own, "transition_under_way") == 1.0
    own.until(at_rest(Level.NGRAM))
    assert value(own, "round_timestamp_seconds") == own.now
    assert value(own, "level", level="ngram") == 1.0
    assert value(own, "share_ratio", level="ngram") == 1.0
    labels = {"from": "draft", "to": "ngram", "reason": "not_paying"}
    assert value(own, "transitions_total", **labels) == 1.0
    assert value(own, "switches_left") == 7.0
    own.restart()
    own.rounds(1)
    assert value(own, "transitions_total", **labels) == 1.0  # a restart does not forget
    own.until(lambda view: view.memory is not None and view.memory.policy.probe_began is not None)
    assert value(own, "probe_under_way") == 1.0


def test_what_is_seen_in_the_middle_of_a_round_is_the_last_finished_one(new_rig: NewRig) -> None:
    """A page asked for while an entry is written once showed new figures beside the decision before them."""
    own = new_rig(bad_for(900.0))
    finished, torn = own.controller.view, 0
    append = own.log.append

    def slow_append(entry: Any) -> None:
        nonlocal torn
        torn += own.controller.view is not finished
        append(entry)

    own.log.append = slow_append  # type: ignore[method-assign]
    for _ in range(60):
        finished = own.rounds(1)
    assert own.lever.calls != []
    assert len(own.entries()) > 60
    assert torn == 0


def test_every_row_of_the_catalogue_is_exported(new_rig: NewRig) -> None:
    own = new_rig(lambda _: 0.8)
    own.until(at_rest(Level.NGRAM))
    own.world.gone = True
    own.rounds(6)
    registry = CollectorRegistry()
    registry.register(loop(own))
    found = {sample.name for family in registry.collect() for sample in family.samples}
    assert {row.name for row in FALLBACK_CATALOG} == {name for name in found if not name.endswith("_created")}


def test_a_dry_run_and_its_veto_are_visible(new_rig: NewRig) -> None:
    own = new_rig(lambda _: 0.8, acting=False)
    own.rounds(10)
    assert value(own, "acting") == 0.0
    assert value(own, "veto", veto="dry_run") == 1.0
    assert value(own, "refused_total", veto="dry_run") == 1.0
    assert (value(own, "regret_seconds") or 0.0) > 50.0


def test_a_lever_that_cannot_be_read_has_no_share(new_rig: NewRig) -> None:
    own = new_rig()
    own.rounds(1)
    own.lever.errors["describe"] = [ActuatorError("gone", retry=True)]
    own.rounds(1)
    assert value(own, "share_ratio", level="draft") is None
    assert value(own, "trouble", kind="lever") == 1.0


def told(own: Rig) -> str:
    return " ".join(outlook(own.controller.view))


def test_what_would_change_the_level(new_rig: NewRig) -> None:
    own = new_rig()
    assert told(own) == ""
    own.rounds(1)
    assert told(own) == (
        "n-gram takes over when the upper bound of the drafter (1.82x now) is under 1.16x and more than 5 s of "
        "capacity are lost (0 s now)."
    )
    own.world.draft = lambda _: 0.8
    own.until(lambda view: view.memory is not None and view.memory.transition is not None)
    assert "is being finished first" in told(own)
    own.until(at_rest(Level.NGRAM))
    assert "the drafter comes back after 2 probes in a row with a lower bound above 1.24x; 0 so far." in told(own)
    assert "Next probe in 60 s." in told(own)
    own.until(lambda view: view.memory is not None and view.memory.policy.probe_began is not None)
    assert "A probe is under way." in told(own)


def test_nothing_would_change_the_level_of_an_engine_that_adapts(new_rig: NewRig) -> None:
    own = new_rig(lambda _: 0.8)
    own.world.changes = {"adapts": "K by batch"}
    own.rounds(20)
    assert told(own) == "Nothing takes traffic from the drafter: the engine adapts by itself (K by batch)."
    assert value(own, "veto", veto="adapts") == 1.0
    assert own.lever.calls == []


def test_what_would_change_a_lever_of_all_or_nothing(new_rig: NewRig) -> None:
    own = new_rig(lambda _: 0.8, steps=(1.0,))
    own.until(at_rest(Level.NGRAM))
    assert "by hand (specwatch fallback return)." in told(own)


def test_the_status_is_json(new_rig: NewRig) -> None:
    own = new_rig(lambda _: 0.8)
    assert status(own.controller.view)["level"] is None
    own.until(lambda view: view.memory is not None and view.memory.transition is not None)
    body = json.loads(json.dumps(status(own.controller.view)))
    assert body["transition"]["steps"][1] == {"draft": 0.75, "ngram": 0.25}
    assert body["level"] == "draft"
    assert body["lever"]["settled"] is True
    assert "n-gram" in body["reason"]


def test_pages(new_rig: NewRig) -> None:
    own = new_rig()
    site = loop(own).site()
    own.rounds(1)
    assert json.loads(site.answer("GET", "/status.json", "").body)["ready"] is True
    assert b"specwatch_fallback_level" in site.answer("GET", "/metrics", "").body
    assert site.answer("GET", "/readyz", "").status == 200
    assert site.answer("GET", "/healthz", "").status == 200


def test_ready_says_what_is_wrong(new_rig: NewRig) -> None:
    own = new_rig()
    running = loop(own)
    assert running.ready() == (False, "no round has finished yet")
    own.rounds(1)
    assert running.ready() == (True, "")
    own.world.gone = True
    own.rounds(1)
    assert running.ready() == (False, "nothing is seen: connection refused")
    own.world.gone = False
    own.rounds(1)
    own.now += (LATE_ROUNDS + 1) * ROUND_S
    assert "the last round was 150 s ago" in running.ready()[1]


def test_a_fault_in_a_round_ends_that_round_only(new_rig: NewRig, monkeypatch: pytest.MonkeyPatch) -> None:
    own = new_rig()
    running = loop(own)
    running.once()

    def broken(*_: Any) -> None:
        raise RuntimeError("a fault")

    with monkeypatch.context() as patched:
        patched.setattr(own.world, "observe", broken)
        running.once()
    assert "internal error: RuntimeError" in running.ready()[1]
    assert [family.samples[0].labels["kind"] for family in running.collect() if "trouble" in family.name] == [
        "internal"
    ]
    running.once()
    assert running.ready()[0]


def test_it_runs_until_it_is_told_to_stop(new_rig: NewRig, monkeypatch: pytest.MonkeyPatch) -> None:
    own = new_rig()
    stop = threading.Event()
    running = ControllerLoop(own.controller, 0.001, lambda: own.now)
    real = own.world.observe

    def observe(*values: Any) -> Any:
        if len(own.entries()) > 3:
            stop.set()
        return real(*values)

    monkeypatch.setattr(own.world, "observe", observe)
    running.run(stop)
    assert len(own.entries()) >= 4
    running.close()
