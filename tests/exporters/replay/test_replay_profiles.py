from __future__ import annotations

import pytest

from specwatch_exporters.replay.profiles import BATCHES, LAB_OUTPUT_TOKENS, LAB_PROMPT_TOKENS, SHAPES
from specwatch_exporters.replay.scheduler import Scheduler
from specwatch_exporters.replay.sequence import Submission
from specwatch_exporters.replay.settings import ReplaySettings

CELLS = [
    pytest.param(shape.name, method, batch, rate, id=f"{shape.name}-{method}-{batch}")
    for shape in SHAPES.values()
    for method, measured in shape.methods.items()
    for batch, rate in zip(BATCHES, measured.throughput, strict=True)
]
DRAFTERS = [(shape.name, method) for shape in SHAPES.values() for method in shape.methods if method != "off"]


def closed_loop_throughput(profile: str, method: str, concurrency: int, requests: int) -> float:
    """Output tokens per second of the laboratory's load on simulated time."""
    plain = ReplaySettings(profile=profile, method=method)
    acceptance = dict.fromkeys(plain.class_names, plain.measured.acceptance) if plain.depth else {}
    settings = ReplaySettings(profile=profile, method=method, slots=64, acceptance=acceptance)
    scheduler = Scheduler(settings)
    now, tokens, sent = 0.0, 0, 0
    while True:
        while sent < requests and len(scheduler.running) + len(scheduler.waiting) < concurrency:
            kind = settings.class_named(None)
            scheduler.submit(Submission(str(sent), kind, LAB_PROMPT_TOKENS, LAB_OUTPUT_TOKENS), now)
            sent += 1
        result = scheduler.step(now)
        if result is None:
            return tokens / now
        now, tokens = result.ended, tokens + result.generation_tokens


@pytest.mark.parametrize(("profile", "method", "batch", "rate"), CELLS)
def test_the_measured_load_gives_the_measured_throughput(
    profile: str, method: str, batch: int, rate: float
) -> None:
    assert closed_loop_throughput(profile, method, batch, 20 * batch) == pytest.approx(rate, rel=0.03)


def test_the_arithmetic_of_the_example_in_the_docstring() -> None:
    measured = SHAPES["llama-70b-fp8"].methods["eagle3"]
    assert measured.tau == pytest.approx(2.69)
    assert measured.gross_step_seconds()[0] == pytest.approx(2.69 / 108.9)


@pytest.mark.parametrize(("profile", "method"), DRAFTERS)
def test_steps_get_longer_with_batch_and_with_drafting(profile: str, method: str) -> None:
    shape = SHAPES[profile]
    depth = shape.methods[method].depth
    times = [shape.step_seconds(method, batch, depth) for batch in range(1, 129)]
    assert times == sorted(times)
    assert times[0] > 0
    for batch in (1, 5, 8, 20, 32, 64):
        by_depth = [shape.step_seconds(method, batch, depth_now) for depth_now in range(depth + 1)]
        assert by_depth == sorted(by_depth)
        assert by_depth[0] == shape.step_seconds("off", batch, 0)


def test_speed_divides_every_step() -> None:
    usual, fast = ReplaySettings(), ReplaySettings(speed=10)
    assert usual.step_seconds(8, 256, 3) == pytest.approx(10 * fast.step_seconds(8, 256, 3))
