from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from specwatch_cli.detect import app
from specwatch_cli.errors import UserError
from specwatch_detectors.profile import load_profile

START = 1_772_409_600


def specwatch(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def written(path: Path, days: float) -> Path:
    """A quiet week in intervals of five minutes."""
    rng = random.Random(1)
    lines = ["time,model,drafts,accepted_1,accepted_2"]
    for number in range(1, round(days * 288) + 1):
        factor = rng.gauss(1.0, 0.01)
        lines.append(f"{START + 300 * number},m,40000,{26000 * factor:.0f},{17000 * factor:.0f}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("week") / "week.csv", 7.5)


def test_a_week_becomes_a_profile_that_replay_takes(week: Path, tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    result = specwatch("calibrate", week, "--out", profile)
    assert result.exit_code == 0, result.output
    assert "m: 7.5 days, K 2" in result.output
    assert "all traffic: acceptance length 2.075 of 86,400,000 drafts" in result.output
    assert "no alarm in 7.5 days of replay: by itself that shows fewer than 12 in 30 days (95 %)" in result.output
    assert load_profile(profile).models["m"].streams[""].days == pytest.approx(7.5)
    replayed = specwatch("replay", week, "--profile", profile)
    assert "from the profile" in replayed.output
    assert "0 alarms" in replayed.output


def test_request_records_are_taken_in(week: Path, tmp_path: Path) -> None:
    records = tmp_path / "requests.jsonl"
    rows = [{"drafts": 100, "accepted": 190 if number % 2 else 20, "class": "chat"} for number in range(60)]
    records.write_text(
        "".join(json.dumps(row) + "\n" for row in [*rows, {"drafts": 1, "accepted": 1, "model": "n"}])
    )
    result = specwatch("calibrate", week, "--out", tmp_path / "p.json", "--requests", records)
    assert "(request records)" in result.output


def test_a_refusal_gives_every_reason_and_writes_nothing(week: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.json"
    out.write_text("kept")
    result = specwatch("calibrate", week, "--out", out, "--from", f"{START + 86400}")
    assert isinstance(result.exception, UserError)
    assert result.exception.exit_code == 1
    assert "refused: m: 6.5 days of history; 1 false pages in 30 days need 7 days or more" in result.output
    assert out.read_text() == "kept"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say either FILE or --prometheus URL"),
        (["{week}", "--prometheus", "http://127.0.0.1:9"], "say either FILE or --prometheus URL"),
        (["{week}", "--pages", "-1"], "--pages must be positive"),
        (["{week}", "--model", "x"], "no model 'x'"),
        (["{week}", "--to", "1"], "no drafts of m between --from and --to"),
        (["{week}", "--requests", "missing.jsonl"], "missing.jsonl: No such file"),
        (["{week}", "--requests", "{week}"], "line 1: not a JSON object"),
        (["missing.csv"], "missing.csv: No such file"),
        (["--prometheus", "http://127.0.0.1:9", "--token-file", "missing"], "missing: No such file"),
        (["--prometheus", "http://127.0.0.1:9", "--interval", "1500ms"], "whole seconds for Prometheus"),
    ],
)
def test_a_mistake_is_one_line_of_wrong_usage(
    arguments: list[str], words: str, week: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = specwatch("calibrate", *(argument.replace("{week}", str(week)) for argument in arguments))
    assert isinstance(result.exception, UserError)
    assert words in str(result.exception)
    assert result.exception.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_profile_that_cannot_be_written_is_one_line(week: Path, tmp_path: Path) -> None:
    result = specwatch("calibrate", week, "--out", tmp_path / "missing" / "p.json")
    assert isinstance(result.exception, UserError)
    assert "cannot be written: No such file or directory" in str(result.exception)
