"""The profiles of the laboratory's table give its throughput ratios back."""

from __future__ import annotations

import json

import pytest

from specwatch_detectors.payoff import lab_profile
from specwatch_detectors.payoff.measured_steps import MeasuredSteps
from specwatch_detectors.payoff.payoff import speedup
from specwatch_detectors.payoff.profile_file import load_profile, shipped_names
from specwatch_detectors.payoff.step_cost import Basis, Cost, Load, Unknown
from specwatch_exporters.replay.profiles import BATCHES, SHAPES, Shape

MEASURED = [
    pytest.param(shape.name, method, column, id=f"{shape.name}-{method}-{batch}")
    for shape in SHAPES.values()
    for method, measured in shape.methods.items()
    if measured.depth
    for column, batch in enumerate(BATCHES)
]
PUBLISHED = {("llama-70b-fp8", "eagle3"): (2.27, 1.60, 1.67)}


def cost_at(shape: str, method: str, batch: float, drafted: float) -> Cost:
    cost = load_profile(f"{shape}-h200").cost_of(method).at(Load(batch, drafted))
    assert isinstance(cost, Cost)
    return cost


@pytest.mark.parametrize(("shape", "method", "column"), MEASURED)
def test_the_runs_own_traffic_gives_the_measured_speed_up(shape: str, method: str, column: int) -> None:
    methods = SHAPES[shape].methods
    measured = methods[method]
    cost = cost_at(shape, method, BATCHES[column], measured.depth)
    profile = load_profile(f"{shape}-h200")
    assert profile.prompt_per_output is not None
    found = speedup(measured.tau, cost.ratio, cost.prefill_share * profile.prompt_per_output)
    assert found == pytest.approx(measured.throughput[column] / methods["off"].throughput[column], rel=2e-4)
    if (shape, method) in PUBLISHED:
        assert found == pytest.approx(PUBLISHED[shape, method][column], abs=0.005)


@pytest.mark.parametrize(("shape", "method", "column"), MEASURED)
def test_decode_alone_gains_more_and_breaks_even_at_the_same_length(shape: str, method: str, column: int) -> None:
    measured = SHAPES[shape].methods[method]
    cost = cost_at(shape, method, BATCHES[column], measured.depth)
    assert speedup(measured.tau, cost.ratio) > speedup(measured.tau, cost.ratio, cost.prefill_share)
    assert speedup(cost.ratio, cost.ratio, 0.3) == pytest.approx(1.0)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=lambda shape: shape.name)
def test_the_files_are_what_the_script_makes_and_say_what_they_are(shape: Shape) -> None:
    body = lab_profile.lab_profile(shape)
    path = lab_profile.FOLDER / f"{shape.name}-h200.json"
    assert json.loads(path.read_text()) == body
    assert load_profile(path).label == "dummy weights, synthetic acceptance, one run"


def test_every_shipped_profile_loads_under_its_own_name() -> None:
    assert shipped_names() == (
        "llama-3.1-8b-h100",
        "llama-70b-fp8-h200",
        "llama-70b-fp8-h200-bench",
        "qwen3-coder-30b-h200",
        "qwen3-coder-30b-h200-bench",
    )
    assert [load_profile(name).name for name in shipped_names()] == list(shipped_names())


def test_the_known_part_of_the_error_shrinks_with_the_drafts_of_the_run() -> None:
    errors = [cost_at("llama-70b-fp8", "eagle3", batch, 3).relative_error for batch in BATCHES]
    assert errors == [0.0265, 0.0108, 0.0054]


def test_beyond_the_largest_batch_the_price_is_marked_and_does_not_fall() -> None:
    last = cost_at("llama-70b-fp8", "eagle3", 32, 3)
    for batch in (33, 64, 128):
        beyond = cost_at("llama-70b-fp8", "eagle3", batch, 3)
        assert beyond.caveats == ("extrapolated",)
        assert beyond.ratio >= last.ratio - 1e-12
    assert last.caveats == ()
    assert isinstance(load_profile("llama-70b-fp8-h200").cost_of("eagle3").at(Load(129, 3)), Unknown)


@pytest.mark.parametrize(
    ("drafted", "caveats"),
    [(3, ()), (2.95, ()), (2, ("inferred from another K",)), (6, ("inferred from another K",)), (6.1, None)],
)
def test_another_number_of_draft_tokens_is_inferred_and_marked(
    drafted: float, caveats: tuple[str, ...] | None
) -> None:
    found = load_profile("llama-70b-fp8-h200").cost_of("eagle3").at(Load(8, drafted))
    if caveats is None:
        assert isinstance(found, Unknown)
        assert "K up to 3" in found.reason
    else:
        assert isinstance(found, Cost)
        assert found.caveats == caveats


def test_a_method_that_was_not_run_is_named() -> None:
    found = load_profile("llama-70b-fp8-h200").cost_of("mtp").at(Load(8, 1))
    assert found == Unknown("the profile has no step times for mtp (it has eagle3, ngram, peagle)")


@pytest.mark.parametrize(("asked", "own"), [("p-eagle", "peagle"), ("P_EAGLE", "peagle"), ("n-gram", "ngram")])
def test_a_method_is_found_however_its_name_is_spelled(asked: str, own: str) -> None:
    profile = load_profile("llama-70b-fp8-h200-bench")
    assert profile.cost_of(asked) == profile.cost_of(own)
    assert profile.cost_of(asked).basis is Basis.MEASURED
    assert isinstance(profile.cost_of(asked).at(Load(8, 3)), Cost)


def test_methods_are_listed() -> None:
    profile = load_profile("qwen3-coder-30b-h200")
    assert isinstance(profile.steps, MeasuredSteps)
    assert profile.methods == ("eagle3",)
    assert load_profile("llama-3.1-8b-h100").methods == ("eagle", "ngram")
