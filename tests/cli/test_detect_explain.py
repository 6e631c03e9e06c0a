from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner, Result

from specwatch_cli.errors import UserError
from specwatch_cli.main import command_line

START = 1_790_000_000
STEP_S = 10
FALL = 60
CLASSES = {"chat": (0.62, 0.60, 0.61), "code": (0.80, 0.82, 0.83)}


def explain(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command_line(), ["detect", "explain", *(str(argument) for argument in arguments)])


def rows(ratio: float, shares: Mapping[str, tuple[int, int]], *, classes: bool = True) -> list[dict[str, object]]:
    """Two hours of windows; after 60 of 120 the chain or the shares change."""
    rng, found = Random(1), []
    for index in range(120):
        fallen = index >= FALL
        for name, q in CLASSES.items():
            drafts, left, accepted = shares[name][fallen], float(shares[name][fallen]), []
            for value in q:
                chance = value * (ratio if fallen else 1.0) * rng.gauss(1.0, 0.01)
                left *= min(1.0, chance)
                accepted.append(round(left))
            kind = {"class": name} if classes else {}
            found.append({"time": START + STEP_S * index, "drafts": drafts, "accepted": accepted, **kind})
    return found


def as_csv(windows: Sequence[Mapping[str, object]]) -> str:
    lines = ["time,class,drafts,accepted_1,accepted_2,accepted_3"]
    for row in windows:
        accepted = row["accepted"]
        assert isinstance(accepted, list)
        lines.append(",".join(map(str, (row["time"], row.get("class", ""), row["drafts"], *accepted))))
    return "\n".join(lines) + "\n"


EVEN = {"chat": (2_000, 2_000), "code": (2_000, 2_000)}
CHATTY = {"chat": (2_000, 3_600), "code": (2_000, 400)}
BEGAN = START + STEP_S * FALL
DEPLOY = f"deploy={BEGAN - 15}"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"status": "success", "data": {"resultType": "matrix", "result": []}}, "'specwatch detect replay' reads"),
        ([{"status": "success", "data": {"result": []}}], "'specwatch detect replay' reads"),
        ({"rows": []}, 'no windows; windows come as CSV, a JSON list, or {"windows": [...]}, each with time'),
    ],
)
def test_a_file_without_windows_is_told_what_is_read(body: object, words: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(body))
    found = explain(path)
    assert isinstance(found.exception, UserError)
    assert words in str(found.exception)


@pytest.fixture
def stale(tmp_path: Path) -> Path:
    path = tmp_path / "stale.csv"
    path.write_text(as_csv(rows(0.9, EVEN)))
    return path


def test_a_stale_draft_is_named_with_its_evidence(stale: Path) -> None:
    shown = explain(stale, "--event", DEPLOY)
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("Very likely: the draft no longer matches the target after a deploy\n")
    assert "the mix explains +0.000" in shown.output
    assert "classes: chat -" in shown.output
    assert "2026-09-21" in shown.output
    assert "Compare the target's revision" in shown.output


def test_the_time_may_be_given(stale: Path) -> None:
    shown = explain(stale, "--event", DEPLOY, "--at", str(BEGAN - 5), "--design", "10")
    assert "Very likely: the draft no longer matches the target after a deploy" in shown.output
    assert "design effect 10.0" in shown.output


def test_a_mix_shift_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mix.json"
    path.write_text(json.dumps({"windows": rows(1.0, CHATTY), "events": [], "engine": "vllm", "method": "eagle3"}))
    shown = explain(path)
    assert shown.exit_code == 0, shown.output
    assert "the mix of traffic has changed" in shown.output.splitlines()[0]


def test_without_classes_it_cannot_be_told(tmp_path: Path) -> None:
    path = tmp_path / "bare.json"
    path.write_text(json.dumps(rows(1.0, CHATTY, classes=False)))
    shown = explain(path)
    assert shown.output.startswith("Cannot tell why acceptance moved")
    assert "Not known, and would tell more" in shown.output
    assert "traffic classes" in shown.output


def test_json_has_the_answer_the_onset_and_the_reasons(stale: Path) -> None:
    body = json.loads(explain(stale, "--event", DEPLOY, "--format", "json").stdout)
    assert (body["outcome"], body["cause"]) == ("named", "stale_draft_after_deploy")
    assert abs(body["onset"] - BEGAN) <= 2 * STEP_S
    assert body["confidence"] > 0.9
    assert body["candidates"][0]["for"]
    assert body["hints"] == {}


def test_hints_come_from_records_and_shapes(stale: Path, tmp_path: Path) -> None:
    rng = Random(2)
    records = tmp_path / "requests.jsonl"
    lines = [
        json.dumps({"time": START + 4 * at, "prompt_tokens": rng.gauss(900.0, 90.0) * (3.0 if at >= 150 else 1.0)})
        for at in range(300)
    ]
    records.write_text("\n".join(lines))
    shown = explain(stale, "--event", DEPLOY, "--records", records, "--odd-shape")
    assert shown.exit_code == 0, shown.output
    assert "Hints" in shown.output
    assert "median prompt_tokens" in shown.output
    assert "windows stand out" in shown.output


def test_what_came_later_can_be_left_out(stale: Path) -> None:
    refused = explain(stale, "--until", str(BEGAN - 30))
    assert isinstance(refused.exception, UserError)
    assert "no clear fall" in str(refused.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], "none.csv: cannot be read"),
        (["{file}", "--at", "noon"], "time is neither seconds nor ISO 8601"),
        (["{file}", "--at", "5"], "no windows before that time"),
        (["{file}", "--event", "rain=5"], "event kind 'rain'"),
        (["{file}", "--event", "deploy"], "time is missing"),
        (["{file}", "--until", "5"], "no windows up to 5"),
        (["{file}", "--design", "0.5"], "--design is 0.5"),
        (["{file}", "--records", "none.jsonl"], "none.jsonl: cannot be read"),
    ],
)
def test_a_wrong_input_is_one_line(stale: Path, arguments: list[str], message: str) -> None:
    refused = explain(*(argument.replace("{file}", str(stale)) for argument in arguments))
    assert isinstance(refused.exception, UserError)
    assert message in str(refused.exception)
    assert "\n" not in str(refused.exception)
    assert refused.exception.exit_code == 2
