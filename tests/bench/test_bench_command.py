from __future__ import annotations

from pathlib import Path

import pytest

from bench.matrix_text import written
from specwatch_bench import run_matrix
from tools.command_run import status_of

TEXT = """
name: small
target: replayed
engine: replay
engines: [{name: "off", arguments: [--method, "off", --speed, 50]}, {name: eagle3, arguments: [--speed, 50]}]
datasets: [{name: chat, prompt: 10, output: 20}]
levels: [{concurrency: 2, seconds: 0.3, warmup: 0, drain: 5}]
"""


def specwatch(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    return status_of(monkeypatch, "bench", "run", *arguments)


def test_a_matrix_runs_from_the_command_line_and_lists_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, out = str(written(tmp_path, TEXT)), str(tmp_path / "out")
    assert specwatch(monkeypatch, matrix, "--out", out, "--engines", "eagle3") == 0
    shown = capsys.readouterr().out
    assert "eagle3: starting, 1 cell to measure" in shown
    assert "tok/s, τ" in shown
    assert specwatch(monkeypatch, matrix, "--out", out, "--list") == 0
    assert [line.split()[1:] for line in capsys.readouterr().out.splitlines()] == [
        ["off--chat--c2", "to", "measure"],
        ["eagle3--chat--c2", "ok"],
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--engines", "nope"], "there is no engine 'nope'"),
        (["--url", "http://127.0.0.1:9"], "say with --engines which"),
        (["--url", "http://127.0.0.1:9", "--engines", "off"], "does not answer with 200"),
    ],
)
def test_a_wrong_option_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    assert specwatch(monkeypatch, str(written(tmp_path, TEXT)), "--out", str(tmp_path / "out"), *arguments) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_the_run_alone_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_matrix.main([str(tmp_path / "none.yaml")]) == 2
    assert capsys.readouterr().err.startswith("bench: ")
    assert run_matrix.main([str(written(tmp_path, TEXT)), "--list", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.count("to measure") == 2
