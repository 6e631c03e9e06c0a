"""A recording through the policy, from each kind of file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from detectors.fallback.controller_rig import MODEL, ROUND_S, START, NewRig, at_rest
from specwatch_detectors.fallback.decision import Act
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.fallback_replay import replay
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.inputs_json import inputs_as_json
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.fallback.recording import RecordingError, read_recording
from specwatch_detectors.payoff.payoff import Bounds

SETTINGS = FallbackSettings()
RULE = LevelRule("specwatch_level")
HOUR = 3600.0


def exact(value: float) -> Bounds:
    return Bounds(value * 0.99, value, value * 1.01)


def life(hours: float, bad_from: float, bad_to: float, step: float = 30.0) -> list[FallbackInputs]:
    found = []
    for n in range(int(hours * HOUR / step)):
        now = n * step
        draft = 0.8 if bad_from * HOUR <= now < bad_to * HOUR else 1.8
        speedup = {Level.DRAFT: exact(draft), Level.NGRAM: exact(1.2)}
        found.append(FallbackInputs(now=now, measured_at=now, speedup=speedup, effective_drafts=1000.0))
    return found


def test_regret_avoided_is_what_a_hand_would_count() -> None:
    outcome = replay(life(12.0, 2.0, 6.0), SETTINGS)
    assert [decision.act for _, decision in outcome.decisions if decision.act is Act.SWITCH] == [Act.SWITCH] * 2
    assert outcome.switches == 2
    assert outcome.idle_lost_s == pytest.approx(4 * HOUR * (1 - 0.8 / 1.2))
    assert outcome.avoided_s == outcome.idle_lost_s - outcome.lost_s
    away = outcome.on_level[Level.NGRAM]
    late = away - 4 * HOUR + outcome.decisions[0][0] - 2 * HOUR  # on n-gram although the draft is good again
    early = outcome.decisions[0][0] - 2 * HOUR
    expected = 2 * 60.0 + early * (1 - 0.8 / 1.2) + late * (1 - 1.2 / 1.8)
    assert outcome.lost_s == pytest.approx(expected, abs=60.0)
    assert sum(outcome.on_level.values()) == pytest.approx(12 * HOUR - 30.0)


def test_a_good_draft_costs_nothing() -> None:
    outcome = replay(life(6.0, 9.0, 9.0), SETTINGS)
    assert (outcome.lost_s, outcome.idle_lost_s, outcome.decisions) == (0.0, 0.0, ())


def test_what_was_not_measured_is_not_counted() -> None:
    blind = [FallbackInputs(now=n * 30.0, measured_at=None) for n in range(100)]
    outcome = replay(blind, SETTINGS)
    assert outcome.unknown_s == 99 * 30.0
    assert outcome.lost_s == 0.0


def test_an_audit_log_is_a_recording(new_rig: NewRig) -> None:
    own = new_rig(lambda now: 0.8 if now < START + 600.0 else 1.8, acting=False)
    own.rounds(200)
    found = read_recording(own.path, SETTINGS, RULE, {})
    assert len(found) == 200
    outcome = replay(found, SETTINGS)
    assert outcome.ended - outcome.began == 199 * ROUND_S
    assert json.loads(json.dumps(outcome.as_json()))["avoided_s"] == pytest.approx(outcome.avoided_s)


def test_what_acted_and_what_is_replayed_agree(new_rig: NewRig) -> None:
    """The policy on the recording of a run that acted decides the same first switch at the same time."""
    own = new_rig(lambda _: 0.8)
    own.until(at_rest(Level.NGRAM))
    outcome = replay(read_recording(own.path, own.rules.policy, RULE, {}), own.rules.policy)
    intent = own.entries("intent")[0]
    assert outcome.decisions[0][0] == intent["at"]
    assert outcome.decisions[0][1].reason == intent["words"]


def test_lines_of_inputs_are_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    lines = [json.dumps(inputs_as_json(one)) for one in life(0.1, 0.0, 0.0)]
    path.write_text("\n".join([*lines, "", '{"now": 5, "spee']))
    assert read_recording(path, SETTINGS, RULE, {}) == life(0.1, 0.0, 0.0)


def dump(*levels: tuple[str, float]) -> dict[str, Any]:
    result = [
        {
            "metric": {
                "model": MODEL,
                "batch": "8",
                "bound": bound,
                **({"specwatch_level": level} if level else {}),
            },
            "values": [[START + n * 30, str(value * factor)] for n in range(3)],
        }
        for level, value in levels
        for bound, factor in (("lower", 0.99), ("estimate", 1.0), ("upper", 1.01))
    ]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def test_a_dump_of_payoff_series_is_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(dump(("", 0.8), ("ngram", 1.2))))
    found = read_recording(path, SETTINGS, RULE, {})
    assert [inputs.now for inputs in found] == [START, START + 30, START + 60]
    assert found[0].speedup == {Level.DRAFT: exact(0.8), Level.NGRAM: exact(1.2)}
    path.write_text(json.dumps(dump(("", 0.8))))
    stated = read_recording(path, SETTINGS, LevelRule(), {Level.NGRAM: exact(1.1)})
    assert stated[0].speedup[Level.NGRAM] == exact(1.1)


def test_models_of_one_dump_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    both = dump(("", 0.8), ("ngram", 1.2))
    other = dump(("", 3.0))["data"]["result"]
    both["data"]["result"] += [{**one, "metric": {**one["metric"], "model": "other"}} for one in other]
    path.write_text(json.dumps(both))
    with pytest.raises(RecordingError, match=f"it holds {MODEL}, other: name one"):
        read_recording(path, SETTINGS, RULE, {})
    found = read_recording(path, SETTINGS, RULE, {}, MODEL)
    assert found[0].speedup == {Level.DRAFT: exact(0.8), Level.NGRAM: exact(1.2)}
    with pytest.raises(RecordingError, match=f"it holds {MODEL}, other, and not third"):
        read_recording(path, SETTINGS, RULE, {}, "third")


def test_samples_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    whole = dump(("", 0.8))
    for one in whole["data"]["result"]:
        one["values"] = [[at, "NaN"] for at, _ in one["values"]]
    path.write_text(json.dumps(whole))
    with pytest.raises(RecordingError, match="holds no inputs"):
        read_recording(path, SETTINGS, RULE, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no inputs"),
        ("hello\n", "no inputs"),
        ('{"now": 1, "speedup": {"draft": [1]}}\n', "line 1"),
        ('{"now": 1e400}\n', "inf is no time"),
        ('{"now": 1, "measured_at": 1e300}\n', "is no time"),
        ('{"data": {"result": [{"values": []}]}}', "metric"),
    ],
)
def test_what_cannot_be_replayed_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(RecordingError, match=said) as error:
        read_recording(path, SETTINGS, RULE, {})
    assert "\n" not in str(error.value)
    with pytest.raises(RecordingError, match="No such file"):
        read_recording(tmp_path / "none", SETTINGS, RULE, {})
