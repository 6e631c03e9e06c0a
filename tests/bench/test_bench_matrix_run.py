from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bench.matrix_text import matrix, written
from specwatch_bench.bench_error import BenchError
from specwatch_bench.cell import Cell, Start
from specwatch_bench.cell_file import read_cell
from specwatch_bench.figures import Figures
from specwatch_bench.matrix_run import MatrixRun
from specwatch_bench.run_settings import RunSettings
from specwatch_exporters.replay.settings import ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread

BROKEN = {"name": "broken", "arguments": ["--no-such-option"]}


class Heard:
    """A view that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)

    def starting(self, start: Start, cells: int) -> None:
        self.lines.append(f"start {start.engine.name} {cells}")

    def ready(self, seconds: float) -> None:
        assert seconds >= 0

    def failed(self, reason: str, last_lines: Sequence[str]) -> None:
        self.lines.append(f"failed: {reason}: {' '.join(last_lines)}")

    def measuring(self, cell: Cell, now: float, ended: int) -> None:
        assert now >= -cell.level.warmup
        assert ended >= 0

    def measured(self, cell: Cell, figures: Figures, length: float | None, notices: Sequence[str]) -> None:
        assert figures.failed == 0
        assert length is None or length > 1
        assert all(notices)
        self.lines.append(f"measured {cell.name}")


def settings(folder: Path, **changes: Any) -> RunSettings:
    usual: dict[str, Any] = {
        "out": folder / "out",
        "python": sys.executable,
        "environment": dict(os.environ),
        "shapes": folder / "shapes",
        "models": folder / "models",
    }
    return RunSettings(**{**usual, **changes})


def run(
    folder: Path, *, engines: Any = None, retry_failed: bool = False, **changes: Any
) -> tuple[Counter[str], Heard]:
    heard = Heard()
    made = matrix(**({"engines": engines} if engines else {}), **changes)
    return asyncio.run(MatrixRun(made, settings(folder, retry_failed=retry_failed), heard).run()), heard


def files(folder: Path) -> list[Path]:
    return sorted((folder / "out" / "cells").iterdir())


def children(parent: int) -> set[int]:
    """Processes that this one has started and that are there."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if fields[0] != "Z" and int(fields[1]) == parent:
                found.add(int(path.parent.name))
    return found


def test_a_started_engine_is_measured_and_stopped_and_not_measured_again(tmp_path: Path) -> None:
    before = children(os.getpid())
    tally, heard = run(tmp_path)
    assert (tally["ok"], tally["done before"]) == (2, 0)
    assert heard.lines == ["start eagle3 2", "measured eagle3--chat--c1", "measured eagle3--chat--c4"]
    assert children(os.getpid()) <= before
    head, *rest = read_cell(files(tmp_path)[1])
    requests = [line for line in rest if line["kind"] == "request"]
    pages = [line for line in rest if line["kind"] == "page"]
    end = rest[-1]
    assert head["synthetic_acceptance"] is None
    assert head["version"] == ReplaySettings().version
    assert head["command"][0] == "python"
    assert [page["when"] for page in pages] == ["before", "after"]
    assert "vllm:spec_decode_num_drafts_total" in pages[0]["text"]
    assert end["requests"] == len(requests) == len({line["i"] for line in requests})
    assert any(line["sent"] < 0 for line in requests)
    assert all(sum(line["sizes"]) == line["out"] == line["asked"] for line in requests)
    assert {line["outcome"] for line in requests} == {"ok"}
    assert 1.0 < end["acceptance_length"] < 4.0
    assert end["figures"]["tokens"] > 0
    assert "an upper limit for p99" in end["notices"][0]
    again, heard = run(tmp_path)
    assert (again["ok"], again["done before"], heard.lines) == (0, 2, [])


def test_a_torn_cell_is_measured_again(tmp_path: Path) -> None:
    run(tmp_path)
    first = files(tmp_path)[0]
    first.write_bytes(first.read_bytes()[:500])
    tally, _ = run(tmp_path)
    assert (tally["ok"], tally["done before"]) == (1, 1)


def test_an_engine_that_does_not_start_is_an_outcome_and_the_matrix_goes_on(tmp_path: Path) -> None:
    engines = [BROKEN, {"name": "eagle3", "arguments": ["--speed", 50]}]
    tally, heard = run(tmp_path, engines=engines)
    assert (tally["engine_failed"], tally["ok"]) == (2, 2)
    assert "ended with status 2" in heard.lines[1]
    assert "--no-such-option" in heard.lines[1]
    end = list(read_cell(files(tmp_path)[0]))[-1]
    assert end["outcome"] == "engine_failed"
    assert "--no-such-option" in " ".join(end["last_lines"])
    assert run(tmp_path, engines=engines)[0]["done before"] == 4
    assert run(tmp_path, engines=engines, retry_failed=True)[0]["engine_failed"] == 2


def test_an_engine_that_is_not_installed_is_an_outcome(tmp_path: Path) -> None:
    tally, heard = run(tmp_path, engines=[{"name": "t", "engine": "trtllm", "model": "m"}])
    assert tally["engine_failed"] == 2
    assert "trtllm-serve: No such file" in heard.lines[1]


def test_an_engine_that_dies_is_an_outcome(tmp_path: Path) -> None:
    dying = tmp_path / "dying.py"
    dying.write_text(
        "import os, sys, threading\n"
        "from specwatch_exporters.replay.__main__ import main\n"
        "threading.Timer(3, os._exit, [7]).start()\n"
        "main(['--speed', '50', *sys.argv[sys.argv.index('--port'):][:2]])\n"
    )
    script = written(tmp_path, f'#!/bin/sh\nexec {sys.executable} {dying} "$@"\n', "python")
    script.chmod(0o755)
    made = matrix(
        engines=[{"name": "v", "engine": "vllm", "model": "m"}],
        levels=[{"concurrency": [1, 2], "seconds": 5, "warmup": 0, "drain": 1, "datasets": ["chat"]}],
    )
    heard = Heard()
    run_of_it = MatrixRun(made, settings(tmp_path, python=str(script)), heard)
    tally = asyncio.run(run_of_it.run())
    assert tally["engine_died"] == 2
    assert "ended with status 7" in heard.lines[1]


def test_a_running_engine_is_measured_by_its_address_with_poisson_arrivals(tmp_path: Path) -> None:
    with ReplayThread(ReplaySettings(speed=50.0)) as replay:
        tally, _ = run(
            tmp_path,
            engines=[{"name": "there", "engine": "url", "url": replay.url + "/"}],
            levels=[{"rate": 40, "seconds": 1, "warmup": 0.2, "datasets": ["code"]}],
        )
    assert tally["ok"] == 1
    requests = [line for line in read_cell(files(tmp_path)[0]) if line["kind"] == "request"]
    assert all(line["late"] >= 0 for line in requests)
    assert {line["class"] for line in requests} == {"code"}
    assert 15 < len(requests) < 110


def test_what_does_not_end_in_the_drain_is_cut_and_said(tmp_path: Path) -> None:
    level = {"concurrency": 3, "seconds": 0.5, "warmup": 0, "drain": 0, "datasets": ["code"]}
    run(tmp_path, engines=[{"name": "slow"}], levels=[level])
    lines = list(read_cell(files(tmp_path)[0]))
    cut = [line for line in lines if line.get("outcome") == "stopped"]
    assert len(cut) == 3
    assert all(0 < line["out"] < line["asked"] for line in cut)
    assert lines[-1]["notices"][-1] == "3 requests cut after 0 s of draining"


def test_an_address_without_an_engine_leaves_no_cell(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="does not answer with 200"):
        run(tmp_path, engines=[{"name": "there", "engine": "url", "url": "http://127.0.0.1:9"}])
    assert not (tmp_path / "out" / "cells").exists()


def test_a_level_goes_on_until_its_quantile_can_be_told(tmp_path: Path) -> None:
    level = {
        "concurrency": 16,
        "seconds": 0.1,
        "most_seconds": 20,
        "warmup": 0,
        "quantile": 0.8,
        "datasets": ["code"],
    }
    run(tmp_path, engines=[{"name": "e", "arguments": ["--speed", 50]}], levels=[level])
    end = list(read_cell(files(tmp_path)[0]))[-1]
    assert end["figures"]["requests"] >= 17
    assert end["notices"] == []
    assert end["seconds"] < 20


def test_what_does_not_fit_into_the_time_is_left(tmp_path: Path) -> None:
    made, heard = matrix(), Heard()
    tally = asyncio.run(MatrixRun(made, settings(tmp_path, stop_after=5.0), heard).run())
    assert tally["left for the next run"] == 2
    assert "2 cells left for the next run" in heard.lines[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"engines": ("off",)}, "--engines: there is no engine 'off'"),
    ],
)
def test_a_wrong_option_is_one_line_before_anything_starts(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(BenchError, match=words):
        MatrixRun(matrix(), settings(tmp_path, **changes), Heard())
    assert not (tmp_path / "out").exists()


def test_sigterm_stops_the_engine_and_keeps_what_is_finished(tmp_path: Path) -> None:
    text = """
name: small
target: replayed
engine: replay
engines: [{name: e, arguments: [--speed, 50]}]
datasets: [{name: chat, prompt: 10, output: 10}]
levels: [{concurrency: 1, seconds: 0.2, warmup: 0, drain: 2}, {concurrency: 2, seconds: 60, warmup: 0}]
"""
    written(tmp_path, text, "m.yaml")
    command = [
        sys.executable,
        "-m",
        "specwatch_bench.run_matrix",
        str(tmp_path / "m.yaml"),
        "--out",
        str(tmp_path / "out"),
    ]
    log = tmp_path / "log"
    with log.open("w") as said, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said) as process:
        end = time.monotonic() + 60
        while not list(tmp_path.glob("out/cells/*.gz")) and time.monotonic() < end:
            time.sleep(0.05)
        engines = children(process.pid)
        process.terminate()
        assert process.wait(60) == 130, log.read_text()
    assert len(engines) == 1
    assert len(files(tmp_path)) == 1
    assert not any(Path(f"/proc/{engine}").exists() for engine in engines)
