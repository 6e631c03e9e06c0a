from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from specwatch_cli.detect import app
from specwatch_cli.errors import UserError
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.profile import ModelProfile, Profile, StreamProfile

CHANGE = "2026-03-02T04:00:00Z"


def specwatch(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def stale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("examples") / "stale.csv"
    written = specwatch("example", path)
    assert "6 hours of synthetic traffic; the change comes at 2026-03-02 04:00:00" in written.output
    return path


def test_the_example_is_replayed_explained_and_drawn(stale: Path, tmp_path: Path) -> None:
    picture = tmp_path / "stale.png"
    result = specwatch("replay", stale, "--change-at", CHANGE, "--picture", picture)
    assert result.exit_code == 0, result.output
    assert "note: Synthetic traffic, no measurement" in result.output
    assert "classes chat, code" in result.output
    assert "ALARM in class" in result.output
    assert "acceptance is worse since a deploy" in result.output
    assert "after the change at 2026-03-02 04:00:00" in result.output
    assert "cause: Very likely: the draft no longer matches the target after a deploy" in result.output
    assert "end: drifted, 1 alarm, 0 of them before the change" in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_has_the_same(stale: Path) -> None:
    body = json.loads(specwatch("replay", stale, "--format", "json", "--change-at", CHANGE).stdout)
    own = body["models"]["example-70b"]
    (alarm,) = own["alarms"]
    assert (own["state"], own["classes"], own["calibrated"]) == ("drifted", ["chat", "code"], False)
    assert 0.0 < alarm["delay_s"] <= 300.0
    assert alarm["engine_change"]["what"] == "target 70b-v1 → 70b-v2"
    assert alarm["cause"]["outcome"] == "named"


def test_fail_on_alarm_is_for_scripts(stale: Path, tmp_path: Path) -> None:
    assert specwatch("replay", stale, "--fail-on-alarm").exit_code == 1
    quiet = tmp_path / "quiet.csv"
    assert "nothing happens in it" in specwatch("example", quiet, "--kind", "quiet", "--length", "2h").output
    assert specwatch("replay", quiet, "--fail-on-alarm").exit_code == 0


def test_a_part_can_be_chosen(stale: Path) -> None:
    result = specwatch("replay", stale, "--to", "2026-03-02T03:00:00Z", "--interval", "30s")
    assert "3.0 hours in intervals of 30 s" in result.output
    assert "end: ok, 0 alarms" in result.output


def test_a_known_change_that_was_missed_is_said(stale: Path) -> None:
    early = specwatch("replay", stale, "--to", "2026-03-02T03:00:00Z", "--change-at", "2026-03-02T02:00:00Z")
    assert "the change was not alarmed" in early.output


TWO = "time,model,drafts,accepted_1\n10,a,5,4\n20,a,5,4\n10,b,5,4\n20,b,5,4\n"


@pytest.mark.parametrize(
    ("content", "arguments", "words", "code"),
    [
        ("time,drafts\n", [], "no column 'accepted_1'", 2),
        (TWO, ["--interval", "10"], "it has no unit", 2),
        (TWO, ["--interval", "1s"], "cannot be cut into intervals of 1 s", 2),
        (TWO, ["--change-at", "noon"], "--change-at: 'noon' is no time", 2),
        (
            TWO,
            ["--change-at", "21"],
            "--change-at: the history is of 1970-01-01 00:00:00 to 1970-01-01 00:00:20",
            2,
        ),
        (TWO, ["--model", "a", "--picture", "x.svg"], "--picture x.svg: the picture is a PNG; name it so", 2),
        (TWO, ["--from", "1000"], "no drafts of a, b between --from and --to", 2),
        (TWO, ["--model", "c"], "it has: a, b", 2),
        (TWO, ["--pages", "0"], "--pages must be positive", 2),
        (TWO, ["--picture", "x.png"], "--picture draws one model; add --model: a, b", 2),
        (TWO, ["--profile", "missing.json"], "missing.json: No such file", 2),
        (TWO, ["--model", "a", "--picture", "no/such/x.png"], "cannot be written", 1),
    ],
)
def test_a_mistake_is_one_line(content: str, arguments: list[str], words: str, code: int, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    result = specwatch("replay", path, *arguments)
    assert isinstance(result.exception, UserError)
    assert words in str(result.exception)
    assert result.exception.exit_code == code


@pytest.mark.parametrize("arguments", [["--length", "0s"], ["--interval", "2h"], ["--length", "20s"]])
def test_an_example_has_a_sensible_size(arguments: list[str], tmp_path: Path) -> None:
    result = specwatch("example", tmp_path / "x.csv", *arguments)
    assert isinstance(result.exception, UserError)
    assert list(tmp_path.iterdir()) == []


def test_an_example_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    result = specwatch("example", tmp_path / "missing" / "x.csv", "--length", "1h")
    assert isinstance(result.exception, UserError)
    assert "cannot be written: No such file or directory" in str(result.exception)


def test_a_profile_that_is_not_made_for_the_history_is_said(stale: Path, tmp_path: Path) -> None:
    stream = StreamProfile(Baseline.of_mean(1.5, 3, 1e6), 5.0, "batch means", 13.0)
    path = tmp_path / "p.json"
    Profile(60.0, 1.0, 0.0, "a test", {"qwen": ModelProfile(3, 0.0, 1.0, {"": stream})}).save(path)
    result = specwatch("replay", stale, "--profile", path)
    of = "the drift profile is of qwen, not of example-70b, whose baseline is learned here"
    length = "the profile was made with intervals of 60 s, these are 10 s long"
    assert f"note: {of}\nnote: {length}\n" in result.output
    assert {of, length} < set(
        json.loads(specwatch("replay", stale, "--profile", path, "--format", "json").stdout)["notes"]
    )


def test_an_example_is_written_anew_and_a_file_of_somebody_is_not_lost_to_one(tmp_path: Path) -> None:
    path = tmp_path / "week.csv"
    for seed in ("1", "2"):
        assert specwatch("example", path, "--seed", seed, "--length", "1h").exit_code == 0
    assert "seed 2" in path.read_text().splitlines()[0]
    path.write_text("time,drafts\n")
    refused = specwatch("example", path)
    assert isinstance(refused.exception, UserError)
    assert str(refused.exception) == f"{path}: is there already and is no example; name another file"
    assert path.read_text() == "time,drafts\n"
