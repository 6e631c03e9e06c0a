"""`specwatch doctor draft` as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deploy.doctor.draft_folders import SOUND
from specwatch_cli.doctor import app
from specwatch_cli.errors import UserError


def draft(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["draft", *map(str, arguments)])


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return SOUND["llama_70b"]().write(tmp_path)


@pytest.fixture
def behind(tmp_path: Path) -> tuple[Path, Path]:
    pair = SOUND["llama_70b"]()
    pair.draft.config["speculators_config"]["verifier"]["name_or_path"] = "meta-llama/Llama-3.1-70B-Instruct"
    return pair.write(tmp_path)


def test_a_draft_that_fits_is_shown_beside_its_target(folders: tuple[Path, Path]) -> None:
    result = draft(folders[0], "--target", folders[1], "--args", SOUND["llama_70b"]().arguments)
    assert result.exit_code == 0, result.output
    for said in ("EAGLE-3 head, Speculators form", "128,256", "3 asked for, eagle3 (vllm)", "no findings"):
        assert said in result.output
    assert all(len(line.rstrip()) <= 160 for line in result.output.splitlines())


def test_a_draft_that_is_behind_fails(behind: tuple[Path, Path]) -> None:
    result = draft(behind[0], "--target", behind[1])
    assert result.exit_code == 1
    assert "draft-behind-target" in result.output
    assert "a version behind its target" in result.output
    assert draft(behind[0], "--target", behind[1], "--fail-on", "error").exit_code == 0


def test_findings_for_programs(behind: tuple[Path, Path]) -> None:
    result = draft(behind[0], "--target", behind[1], "--format", "json")
    (one,) = json.loads(result.output)["findings"]
    assert (one["code"], one["file"]) == ("draft-behind-target", str(behind[0] / "config.json"))
    assert one["line"] > 1
    for form in ("sarif", "junit"):
        assert "draft-behind-target" in draft(behind[0], "--target", behind[1], "--format", form).output


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--args", "vllm serve m"), "has neither --speculative-config"),
        (("--args", '{"num_speculative_tokens": "x"}'), "num_speculative_tokens is 'x'"),
    ],
)
def test_what_cannot_be_used_is_one_line(folders: tuple[Path, Path], more: tuple[str, ...], said: str) -> None:
    result = draft(folders[0], "--target", folders[1], *more)
    assert isinstance(result.exception, UserError)
    assert result.exception.exit_code == 2
    assert said in str(result.exception)


def test_the_command_is_the_installed_one_and_takes_no_traceback(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("specwatch")
    command: list[str | Path] = [program, "doctor", "draft", tmp_path / "no", "--target", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "holds no config.json" in done.stderr
