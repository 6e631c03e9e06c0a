"""Step-time profiles from cells: a load whose step times are known, and the results that were measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from specwatch_bench.bench_error import BenchError
from specwatch_bench.cell_file import read_cell, write_cell
from specwatch_bench.profile_cell import read_steps
from specwatch_bench.profile_estimate import estimate
from specwatch_bench.profile_steps import steps_of
from specwatch_bench.profile_table import StepTable, profile_of, read_table, table_lines
from specwatch_bench.request_record import OK, RequestRecord
from specwatch_detectors.payoff import profile_file
from specwatch_detectors.payoff.payoff import speedup
from specwatch_detectors.payoff.profile_file import load_profile
from specwatch_detectors.payoff.step_cost import Cost, Load
from tools.command_run import status_of

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"
PROFILES = Path(profile_file.__file__).parent / "profiles"
TEXTS = ("name", "label", "target", "hardware", "engine", "source")
MEASURED = ("llama-70b-fp8", "qwen3-coder-30b")
PROMPT = 200


@cache
def table(name: str) -> StepTable:
    return read_table(RESULTS / name)


def closed_loop(
    step: float, price: float, *, slots: int = 8, length: int = 40, late_first: bool = False, seconds: float = 10.0
) -> list[RequestRecord]:
    """Requests of an engine whose step takes `step`, and `price` more for each prompt token computed in it."""
    chunks: dict[int, list[float]] = {}
    sent: dict[int, float] = {}
    done: list[RequestRecord] = []
    running: dict[int, int] = {}
    waiting: list[int] = []
    now, number = 0.0, 0
    while now < seconds:
        while len(running) + len(waiting) < slots:
            waiting.append(number)
            sent[number], chunks[number] = now, []
            number += 1
        admitted = waiting[:1]
        waiting = waiting[1:]
        now += step + price * PROMPT * len(admitted)
        for request in list(running):
            chunks[request].append(now)
            running[request] -= 1
            if not running[request]:
                del running[request]
                done.append(record(request, sent[request], chunks[request]))
        for request in admitted:
            if not late_first:
                chunks[request].append(now)
            running[request] = length + request % 7
    return done


def record(number: int, sent: float, moments: list[float]) -> RequestRecord:
    gaps = [after - before for before, after in zip((sent, *moments), moments, strict=False)]
    whole = tuple(round(gap * 1e6) for gap in gaps)
    return RequestRecord(
        number, "chat", round(sent * 1e6), None, whole, (1,) * len(whole), sum(whole), PROMPT, len(whole), 99, OK
    )


@pytest.mark.parametrize("late_first", [False, True])
@pytest.mark.parametrize("price", [0.0, 0.0001])
def test_step_time_and_price_of_a_prompt_token_come_out_of_the_chunks(price: float, *, late_first: bool) -> None:
    steps = steps_of(closed_loop(0.020, price, late_first=late_first), 8.0)
    quiet = [step.seconds for step in steps if step.quiet]
    assert len(quiet) > 50
    assert quiet == pytest.approx([0.020] * len(quiet), rel=1e-3)
    mean = sum(step.seconds for step in steps) / len(steps)
    prompts = sum(step.prompt_tokens for step in steps) / len(steps)
    assert (mean - 0.020) / prompts == pytest.approx(price, rel=0.05, abs=1e-7)


@pytest.mark.parametrize("name", MEASURED)
def test_the_shipped_profile_is_what_the_command_makes_of_the_results(name: str) -> None:
    made, kept = profile_of(table(name)), json.loads((PROFILES / f"{name}-h200-bench.json").read_text())
    assert list(_numbers(made)) == pytest.approx(list(_numbers(kept)), rel=2e-3, abs=1e-9)  # numpy's last digits
    assert [made[key] for key in TEXTS] == [kept[key] for key in TEXTS]
    shipped = load_profile(f"{name}-h200-bench")
    for word in ("dummy weights", "synthetic acceptance", "one run of 8 to 12 s"):
        assert word in shipped.label
    assert (shipped.engine, shipped.hardware) == ("vLLM 0.25.1", "1 x NVIDIA H200")


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _numbers(part)
    elif isinstance(value, list):
        for part in value:
            yield from _numbers(part)
    elif isinstance(value, int | float):
        yield float(value)


@pytest.mark.parametrize("name", MEASURED)
def test_the_step_times_give_the_ratio_of_tokens_per_second_that_was_measured(name: str) -> None:
    prices = table(name).prices
    assert len(prices) >= 10
    for price in prices:
        where = f"{price.method} K={price.depth} at {price.batch}"
        assert price.measured.lower <= price.gained.value <= price.measured.upper, where
        assert price.gained.value == pytest.approx(price.measured.value, rel=0.06), where


def test_readers_of_the_profile_get_the_same_answer() -> None:
    """S of the lookup, with the run's own length, drafted tokens and prompts, is S of the table."""
    profile = load_profile("llama-70b-fp8-h200-bench")
    for price in table("llama-70b-fp8").prices:
        cost = profile.cost_of(price.method).at(Load(price.batch, price.depth * price.own.share))
        assert isinstance(cost, Cost)
        prompts = (price.own.prompt_per_output + price.plain.prompt_per_output) / 2.0
        assert cost.spec_prefill_share is not None
        f, g = cost.prefill_share * prompts, cost.spec_prefill_share * prompts
        found = speedup(price.own.length, cost.ratio, f, g)
        assert found == pytest.approx(price.gained.value, rel=0.1), (price.method, price.depth, price.batch)


def test_cells_in_which_kernels_were_compiled_are_left_out_with_the_reason() -> None:
    found = table("gpt-oss-120b")
    assert [(price.method, price.batch) for price in found.prices] == [("eagle3", 1)]
    reasons = dict(found.left_out)
    for batch in (32, 64, 128):
        assert "of the time went into steps of over 0.5 s" in reasons[f"off--chat--c{batch}"]
        assert "of the time went into steps of over 0.5 s" in reasons[f"eagle3-k3--chat--c{batch}"]
    with pytest.raises(BenchError, match="no method has two batch sizes"):
        profile_of(found)


def test_a_client_that_joined_steps_is_found_out() -> None:
    (path,) = (RESULTS / "qwen3-coder-30b-fp8" / "cells").glob("off--chat--c128--*")
    cell = read_steps(path)
    assert cell is not None
    assert "between chunks and the engine" in cell.refused
    assert "no cell has a counterpart" in "\n".join(table_lines(table("llama-70b-awq")))


def test_the_error_of_few_steps_is_larger_than_that_of_many() -> None:
    (path,) = (RESULTS / "llama-70b-fp8" / "cells").glob("off--chat--c32--*")
    cell = read_steps(path)
    assert cell is not None
    whole = estimate([cell], draws=100)
    assert 0.0 < whole.seconds[1:].std() < 0.02 * whole.seconds[0]
    assert estimate([cell], draws=100).seconds.tolist() == whole.seconds.tolist(), "the draws are seeded"


def specwatch(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    return status_of(monkeypatch, "bench", "profile", *arguments)


def test_the_command_prints_the_table_and_writes_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.json"
    assert specwatch(monkeypatch, str(RESULTS / "qwen3-coder-30b"), "--out", str(out)) == 0
    shown = capsys.readouterr().out
    assert "| eagle3 | 3 | 64 |" in shown
    assert "left out: eagle3-k3--chat--c32:" in shown
    assert load_profile(out).methods == ("eagle3", "ngram")


def test_wrong_folders_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert specwatch(monkeypatch, str(tmp_path)) == 2
    assert "no cells of a closed loop" in capsys.readouterr().err
    (tmp_path / "a--b--c1--x.jsonl.gz").write_bytes(b"no gzip")
    assert specwatch(monkeypatch, str(tmp_path)) == 2
    assert "not a whole cell" in capsys.readouterr().err
    assert specwatch(monkeypatch, str(RESULTS / "gpt-oss-120b"), "--out", str(tmp_path / "x.json")) == 2
    assert "no profile: " in capsys.readouterr().err
    assert not (tmp_path / "x.json").exists()


def test_two_targets_in_one_folder_are_refused(tmp_path: Path) -> None:
    for name in ("llama-70b-fp8", "qwen3-coder-30b"):
        (path,) = (RESULTS / name / "cells").glob("off--chat--c1--*")
        write_cell(tmp_path / path.name, read_cell(path))
    with pytest.raises(BenchError, match="cells of 2 targets"):
        read_table(tmp_path)
