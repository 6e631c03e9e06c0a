from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_bench.live_acceptance import LiveAcceptance
from specwatch_bench.vllm_live_rates import FileRates, conditional, patch
from specwatch_exporters.replay.clock import Clock


class Tensor(list[float]):
    """As much of a tensor as the engine's side uses."""

    def new_tensor(self, values: list[float]) -> Tensor:
        return Tensor(values)

    def copy_(self, values: Tensor) -> None:
        self[:] = values


class Sampler:
    """A rejection sampler as vLLM has it."""

    def __init__(self, rates: list[float] | None) -> None:
        self.synthetic_conditional_rates = None if rates is None else Tensor(rates)

    def forward(self, number: int, *, more: int) -> int:
        return number + more


def patched(live: LiveAcceptance) -> type[Sampler]:
    class Patched(Sampler):
        pass

    patch(Patched, "forward", FileRates(Path(live.environment({})["SPECWATCH_BENCH_ACCEPTANCE_FILE"])))
    return Patched


def stepped(sampler: Sampler) -> None:
    """A step, behind the interval at which the file is looked at."""
    time.sleep(0.11)
    assert sampler.forward(3, more=4) == 7


def confirmed(live: LiveAcceptance, rates: tuple[float, ...]) -> str | None:
    return asyncio.run(live.confirmed(rates))


def test_a_running_sampler_takes_new_rates_and_says_so(tmp_path: Path) -> None:
    live = LiveAcceptance(tmp_path)
    sampler = patched(live)([0.5, 0.5])
    for rates, expected in (((0.8, 0.4), [0.8, 0.5]), ((0.9, 0.0), [0.9, 0.0])):
        live.set(rates)
        stepped(sampler)
        assert sampler.synthetic_conditional_rates == pytest.approx(expected)
        assert confirmed(live, rates) is None


def test_a_sampler_that_compares_draft_and_target_is_left_alone(tmp_path: Path) -> None:
    live = LiveAcceptance(tmp_path)
    live.set((0.5,))
    stepped(patched(live)(None))
    assert not list(tmp_path.glob("*.taken"))


def test_rates_of_another_length_are_reported_and_not_taken(tmp_path: Path) -> None:
    live = LiveAcceptance(tmp_path)
    sampler = patched(live)([0.5, 0.5])
    live.set((0.5,))
    stepped(sampler)
    assert sampler.synthetic_conditional_rates == [0.5, 0.5]
    assert confirmed(live, (0.5,)) == "the engine took other rates: 1 rates for 2 positions"


def test_an_engine_without_the_plugin_is_noticed(tmp_path: Path) -> None:
    now = [0.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    live = LiveAcceptance(tmp_path, Clock(monotonic=lambda: now[0], sleep=sleep))
    live.set((0.5,))
    problem = confirmed(live, (0.5,))
    assert problem is not None
    assert "did not take" in problem


def test_another_python_finds_the_entry_point(tmp_path: Path) -> None:
    live = LiveAcceptance(tmp_path)
    code = (
        "import json; from importlib.metadata import entry_points\n"
        "(found,) = [e for e in entry_points(group='vllm.general_plugins') if e.name == 'specwatch_bench_live']\n"
        "found.load()(); print(json.dumps([found.module, found.attr]))"
    )
    environment = {**os.environ, **live.environment({"PYTHONPATH": "before"})}
    assert environment["PYTHONPATH"].endswith(os.pathsep + "before")
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["specwatch_bench_live_rates", "register"]


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8))
def test_conditional_rates_multiply_back(values: list[float]) -> None:
    rates = sorted(values, reverse=True)
    product: Any = 1.0
    for rate, step in zip(rates, conditional(rates), strict=True):
        product *= step
        assert product == pytest.approx(rate)
