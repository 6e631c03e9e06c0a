"""The audit log: numbered, whole, rotated, one writer; and its story."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.fallback.controller_rig import START, NewRig, at_rest
from specwatch_detectors.fallback.actuator import Health
from specwatch_detectors.fallback.audit_log import AuditError, AuditLog, read_log
from specwatch_detectors.fallback.audit_words import story, summary
from specwatch_detectors.fallback.controller_memory import Memory
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.inputs_json import (
    decision_as_json,
    decision_from_json,
    inputs_as_json,
    inputs_from_json,
)
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.operator_command import Order
from specwatch_detectors.payoff.payoff import Bounds
from specwatch_detectors.reading import DriftState


def test_entries_are_numbered_over_restarts(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for _ in range(3):
        log = AuditLog(path)
        log.open()
        log.append({"kind": "round"})
        log.append({"kind": "round"})
        log.close()
    assert [entry["n"] for entry in read_log(path).entries] == [1, 2, 3, 4, 5, 6]


def test_full_files_are_kept_up_to_a_number(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = AuditLog(path, max_bytes=200, keep=3)
    log.open()
    for _ in range(100):
        log.append({"kind": "round", "words": "x" * 20})
    log.close()
    numbers = [entry["n"] for entry in read_log(path).entries]
    assert numbers == list(range(numbers[0], 101))
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "log.jsonl", "log.jsonl.1", "log.jsonl.2", "log.jsonl.3", "log.jsonl.lock",
    ]  # fmt: skip
    again = AuditLog(path, max_bytes=200, keep=3)
    last = again.open()
    again.close()
    assert last is not None
    assert last["n"] == 100


def test_a_log_that_was_just_rotated_is_gone_on_from(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = AuditLog(path, max_bytes=1)
    log.open()
    log.append({"kind": "one"})
    log.close()
    path.unlink(missing_ok=True)  # killed before the new file was made
    again = AuditLog(path)
    assert again.open() == {"n": 1, "kind": "one"}
    again.close()


@pytest.mark.parametrize("call", ["rename", "unlink"])
def test_an_end_in_the_middle_of_putting_a_full_log_aside_loses_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    for deadly in range(4):
        path = tmp_path / f"{deadly}.jsonl"
        log = AuditLog(path, max_bytes=1, keep=3)
        log.open()
        for _ in range(6):
            log.append({"kind": "one"})
        real, left = getattr(os, call), [deadly]

        def ends(*arguments: object, real: Callable[..., None] = real, left: list[int] = left) -> None:
            if not left[0]:
                raise OSError(5, "the end")
            left[0] -= 1
            real(*arguments)

        with monkeypatch.context() as patched, suppress(AuditError):
            patched.setattr(os, call, ends)
            log.append({"kind": "last"})
        log.close()
        again = AuditLog(path, max_bytes=1, keep=3)
        assert again.open() == {"n": 7, "kind": "last"}
        again.append({"kind": "next"})
        again.close()
        numbers = [entry["n"] for entry in read_log(path).entries]
        assert numbers == list(range(numbers[0], 9))
        assert len(numbers) >= 3


def test_two_controllers_do_not_write_one_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = AuditLog(path)
    log.open()
    with pytest.raises(AuditError, match="another controller writes"):
        AuditLog(path).open()
    log.close()
    log.close()
    second = AuditLog(path)
    second.open()
    second.close()


def test_a_log_without_a_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="No such file"):
        AuditLog(tmp_path / "no" / "log.jsonl").open()
    with pytest.raises(AuditError, match="not open"):
        AuditLog(tmp_path / "log.jsonl").append({})
    assert read_log(tmp_path / "log.jsonl").entries == ()


def test_a_disk_that_is_full_for_a_moment_costs_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    log = AuditLog(path)
    log.open()
    log.append({"kind": "one"})

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(AuditError, match="No space left"):
            log.append({"kind": "two"})
    log.append({"kind": "three"})
    log.close()
    assert read_log(path).entries[-1]["kind"] == "three"


def test_a_log_of_something_else_is_not_gone_on_from(new_rig: NewRig) -> None:
    own = new_rig()
    own.path.write_text('{"n":1,"kind":"other"}\n')
    assert "cannot be gone on from" in own.rounds(1).troubles["audit"]
    assert own.lever.calls == []


values = st.floats(0.01, 10.0)
bounds = st.tuples(values, values, values).map(lambda three: Bounds(*sorted(three)))
inputs = st.builds(
    FallbackInputs,
    now=st.floats(0.0, 1e10),
    measured_at=st.none() | st.floats(0.0, 1e10),
    speedup=st.dictionaries(st.sampled_from(list(Level)), bounds),
    effective_drafts=st.integers(0, 10_000).map(float),
    drift=st.sampled_from(list(DriftState)),
    rollout=st.booleans(),
    scaling=st.booleans(),
    adapts=st.text(max_size=9),
    revision=st.text(max_size=9),
    probe=st.none() | bounds,
)


@given(inputs)
def test_inputs_survive_the_log(told: FallbackInputs) -> None:
    assert inputs_from_json(json.loads(json.dumps(inputs_as_json(told)))) == told


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "'now' is missing"),
        ({"now": 1.0, "speedup": {"draft": [2.0, 1.0, 3.0]}}, "do not fall"),
        ({"now": 1.0, "speedup": {"fast": [1.0, 1.0, 1.0]}}, "fast"),
        ({"now": "x"}, "x"),
        ({"now": 1.0, "speedup": 5}, "no inputs"),
    ],
)
def test_what_is_no_input_is_one_line(body: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        inputs_from_json(body)


def test_decisions_and_memory_survive_the_log(new_rig: NewRig) -> None:
    own = new_rig(lambda now: 0.8 if now < START + 600.0 else 1.8)
    own.rounds(40)
    for entry in own.entries():
        if "decision" in entry:
            assert decision_as_json(decision_from_json(entry["decision"])) == entry["decision"]
        assert Memory.from_json(entry["memory"]).as_json() == entry["memory"]
    with pytest.raises(ValueError, match="no memory"):
        Memory.from_json({})
    with pytest.raises(ValueError, match="no decision"):
        decision_from_json({})


def test_the_story_is_in_plain_words(new_rig: NewRig) -> None:
    own = new_rig(lambda now: 0.8 if now < START + 600.0 else 1.8)
    own.until(at_rest(Level.NGRAM))
    own.until(at_rest(Level.DRAFT))
    texts = [line.text for line in story(own.entries())]
    assert texts[0] == "the controller starts: begun at 100 % draft"
    assert texts[1].startswith(
        "moving to n-gram: the drafter gives 0.80x (0.79 to 0.81), n-gram 1.20x; lost so far"
    )
    assert texts[1].endswith("first step: 95 % draft, 5 % ngram")
    assert texts[4] == "0 of 100 requests failed; next 75 % draft, 25 % ngram"
    assert "n-gram has all of the traffic; 0 of 100 requests failed" in texts
    assert any(text.startswith("probing the drafter: time to see") for text in texts)
    assert any(text.startswith("the probe is over: the probe gives 1.80x") for text in texts)
    assert texts[-1] == "the drafter is back with all of the traffic; 0 of 100 requests failed"
    assert sum(line.kind == "round" for line in story(own.entries(), rounds=True)) > 5
    whole = summary(own.entries(), 0)
    assert whole is not None
    assert whole.moves["not_paying"] == whole.moves["pays_again"] == 1
    assert sum(whole.on_level.values()) == pytest.approx(whole.ended - whole.began)
    assert summary([], 0) is None


def hurt(own: Any) -> None:
    own.lever.healthy = lambda: Health(ok=False, reason="12 % of requests failed")


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (hurt, "taken back: 12 % of requests failed"),
        (lambda own: own.lever.set({Level.OFF: 1.0}), "moved by somebody else: somebody else has set 100 % off"),
        (lambda own: own.command(Order.UNLATCH), "somebody said unlatch: switching is allowed again"),
    ],
)
def test_what_else_happens_is_told(new_rig: NewRig, trouble: Callable[[Any], None], said: str) -> None:
    own = new_rig(lambda _: 0.8)
    own.rounds(1)
    trouble(own)
    own.rounds(8)
    assert any(line.text.startswith(said) for line in story(own.entries()))


ODD = (
    '{"at":"x","kind":"start","words":"w"}',
    '{"at":null,"kind":"done","cause":["a"],"level":{}}',
    '{"at":1e30,"kind":"start"}',
    '{"at":NaN,"kind":"start"}',
    '{"at":-1,"kind":"start"}',
)
ODD_PARTS = (
    '{"at":1,"kind":"intent","decision":{"act":"probe"},"words":"w"}',
    '{"at":1,"kind":"intent","decision":null,"words":"w"}',
    '{"at":1,"kind":"advice","plan":5,"words":null}',
    '{"at":1,"kind":"decision","decision":"x","words":"y"}',
    '{"at":1,"kind":"operator","command":5}',
    '{"at":1,"kind":"done","memory":5,"cause":["a"],"level":{}}',
    '{"at":1,"kind":"intent","decision":{},"memory":{"transition":{"plan":{"shares":{"x":1}}}}}',
)


def test_a_log_that_somebody_has_changed_is_told_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join((*ODD, *ODD_PARTS)))
    found = read_log(path)
    assert (len(found.entries), found.damaged) == (len(ODD_PARTS), len(ODD))
    assert len(list(story(found.entries))) == len(ODD_PARTS)
    assert summary(found.entries, found.damaged) is not None


@pytest.mark.parametrize("line", [*ODD, *ODD_PARTS, '{"n":"x","at":1,"kind":"start"}'])
def test_nothing_is_gone_on_with_from_a_log_that_somebody_has_changed(new_rig: NewRig, line: str) -> None:
    own = new_rig(lambda _: 0.8)
    own.path.write_text(f"{line}\n")
    view = own.rounds(5)
    assert "cannot be gone on from" in view.troubles["audit"]
    assert own.lever.calls == []
