"""vLLM's log as a history."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path

import pytest

from specwatch_detectors.explain.window_log import read_log
from specwatch_detectors.explain.window_row import LogError
from specwatch_detectors.history import HistoryError, clock
from specwatch_detectors.history_file import read_history
from specwatch_detectors.history_log import read_log_history
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.replaying import replay
from specwatch_detectors.threshold import Budget

HEAD = "(APIServer pid=1) INFO {day} {time} [metrics.py:100] "
BODY = (
    "SpecDecoding metrics: Mean acceptance length: {length:.2f}, Accepted throughput: {speed:.2f} tokens/s, "
    "Drafted throughput: 120.00 tokens/s, Accepted: {accepted} tokens, Drafted: 1200 tokens, Per-position "
    "acceptance rate: {rates}, Avg Draft acceptance rate: {rate:.1f}%"
)
START = (
    "INFO {day} {time} [core.py:93] Initializing a V1 LLM engine (v0.20.0) with config: model='m', tokenizer='m'"
)


def spec(*accepted: int) -> str:
    """A line of 400 drafts with K = 3."""
    total = sum(accepted)
    rates = ", ".join(f"{count / 400:.3f}" for count in accepted)
    return BODY.format(length=1 + total / 400, speed=total / 10, accepted=total, rates=rates, rate=total / 12)


def at(seconds: int, day: str = "06-06") -> dict[str, str]:
    return {"day": day, "time": f"{10 + seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"}


def line(seconds: int, *accepted: int, day: str = "06-06") -> str:
    return HEAD.format(**at(seconds, day)) + spec(*accepted)


def test_each_line_is_a_window_at_its_time() -> None:
    text = "\n".join([line(0, 240, 140, 80), "other", line(10, 200, 100, 60)])
    history = read_log_history(text, "vllm.log", 2026)
    model = history.models["unknown"]
    assert [clock(one.at) for one in model.intervals] == ["2026-06-06 10:00:00", "2026-06-06 10:00:10"]
    assert [one.total.accepted for one in model.intervals] == [(240, 140, 80), (200, 100, 60)]
    assert (history.interval_s, model.depth) == (10, 3)
    assert "no zone" in history.notes[0]


def test_a_collectors_stamp_wins_over_the_engines_own_time() -> None:
    wrapped = [
        json.dumps({"log": line(10 * index, 200, 100, 60), "time": f"2025-11-22T07:00:{10 * index:02d}.5Z"})
        for index in range(3)
    ]
    history = read_log_history("\n".join(wrapped), "vllm.log", 2026)
    assert clock(history.models["unknown"].intervals[0].at) == "2025-11-22 07:00:10"
    assert history.notes == ()


def test_a_log_that_runs_into_the_new_year_does_not_run_backwards() -> None:
    text = "\n".join(line(10 * index, 200, 100, 60, day=day) for day in ("12-31", "01-01") for index in range(5))
    times = [clock(one.at) for one in read_log_history(text, "vllm.log", 2026).models["unknown"].intervals]
    assert (times[0], times[5]) == ("2025-12-31 10:00:00", "2026-01-01 10:00:00")
    assert times == sorted(times)


def test_a_start_between_lines_is_a_restart() -> None:
    text = [START.format(**at(0)), line(10, 200, 100, 60), START.format(**at(20)), line(30, 200, 100, 60)]
    model = read_log_history("\n".join(text), "vllm.log", 2026).models["m"]
    assert [(change.what, clock(change.at)[-8:]) for change in model.changes] == [("restart", "10:00:20")]


def test_lines_of_uncertain_drafts_are_left_out_and_counted() -> None:
    odd = (
        line(10, 200, 100, 60)
        .replace("Drafted: 1200", "Drafted: 111700")
        .replace("Accepted: 360", "Accepted: 36000")
    )
    history = read_log_history("\n".join([line(0, 200, 100, 60), odd, line(20, 200, 100, 60)]), "vllm.log", 2026)
    assert len(history.models["unknown"].intervals) == 2
    assert "1 lines whose number of draft steps is not certain were left out" in history.notes


def drop(lines: int, change: int, seed: int = 3) -> str:
    """Conditional acceptance of 0.6, and of 0.35 from a line on."""
    rng = random.Random(seed)
    found = []
    for index in range(lines):
        share = 0.6 if index < change else 0.35
        counts = [400]
        for _ in range(3):
            counts.append(sum(rng.random() < share for _ in range(counts[-1])))
        found.append(line(10 * index, *counts[1:]))
    return "\n".join(found) + "\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_drop_in_a_log_is_found(tmp_path: Path, *, packed: bool) -> None:
    path = tmp_path / "vllm.log"
    text = drop(720, 400).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    os.utime(path, (1_780_000_000, 1_780_000_000))
    history = read_history(path)
    settings = MonitorSettings(budget=Budget(1.0, history.interval_s))
    alarms = replay(history.models["unknown"], settings).alarms
    assert len(alarms) == 1
    assert clock(alarms[0].at)[:15] == "2026-06-06 11:0"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[2026-05-09 12:00:01 TP0] Decode batch, #running-req: 4, accept len: 2.61, #queue-req: 0", "ratios"),
        (spec(200, 100, 60), "no time"),
        (line(0, 200, 100, 60), "two points"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(HistoryError, match=words):
        read_log_history(text, "some.log", 2026)


def test_explain_points_to_replay(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    path.write_text(line(0, 200, 100, 60))
    with pytest.raises(LogError, match="detect replay"):
        read_log(path)
