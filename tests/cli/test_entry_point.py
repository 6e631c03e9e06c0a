"""The entry point: whatever happens, a person reads one line and a script gets a status."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from specwatch_cli import main

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests" / "cases" / "56-vllm-bench-peak-below-mean" / "bench.txt"
PAGE = ROOT / "tests" / "captures" / "vllm-0.25.1-h200" / "l70-eagle3.prom"
WITHOUT_EXTRAS = "sys.modules.update(dict.fromkeys(('numpy', 'pandas', 'sklearn', 'matplotlib')))"


def specwatch(*arguments: str, before: str = "", encoding: str = "utf-8") -> subprocess.CompletedProcess[str]:
    program = f"import sys; {before}\nfrom specwatch_cli.main import run; sys.argv[0] = 'specwatch'; run()"
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)


def ended(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    """Status of a run in which a command raises this."""

    def raising(_asked: str = "") -> NoReturn:
        raise error

    monkeypatch.setattr(main, "command_line", raising)
    monkeypatch.setattr("sys.argv", ["specwatch"])
    with pytest.raises(SystemExit) as caught:
        main.run()
    return int(caught.value.code or 0)


def test_ctrl_c_while_a_command_is_loaded_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "said"), [("out/cells", "out/cells: No such file or directory"), (None, "No such file or directory")]
)
def test_an_error_of_the_system_names_its_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str | None, said: str
) -> None:
    assert ended(monkeypatch, OSError(errno.ENOENT, os.strerror(errno.ENOENT), name)) == 1
    assert capsys.readouterr().err == f"specwatch: {said}\n"


def test_an_output_that_cannot_hold_a_character_is_one_line_that_helps() -> None:
    shown = specwatch("inspect", str(PAGE), encoding="ascii")
    assert shown.returncode == 1
    assert shown.stderr.startswith("specwatch: the output takes ascii only, which has no ")
    assert shown.stderr.endswith("set PYTHONIOENCODING=utf-8\n")
    assert shown.stderr.count("\n") == 1


@pytest.mark.parametrize("group", [[], ["inspect"], ["doctor"], ["alerts", "build"]])
def test_help_has_its_short_form(group: list[str]) -> None:
    short, long = specwatch(*group, "-h"), specwatch(*group, "--help")
    assert (short.returncode, short.stdout) == (0, long.stdout)


@pytest.mark.parametrize("command", ["report", "cost", "profile"])
def test_a_command_whose_extra_is_missing_names_it(command: str, tmp_path: Path) -> None:
    told = specwatch("bench", command, str(tmp_path), before=WITHOUT_EXTRAS)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr == "specwatch: numpy is not installed: pip install '.[bench]'\n"


def test_results_of_others_are_read_without_an_extra(tmp_path: Path) -> None:
    cells = ("--out", str(tmp_path), "--target", "70B", "--engine", "eagle3", "--class", "chat")
    told = specwatch("bench", "import", str(BENCH), "--gpu-hour", "4", *cells, before=WITHOUT_EXTRAS)
    assert (told.returncode, told.stderr) == (0, "")
    assert "2,541" in told.stdout
