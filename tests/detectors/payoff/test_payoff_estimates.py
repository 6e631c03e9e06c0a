from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.payoff.estimate import (
    EstimatedCost,
    Ratio,
    StepTimesBook,
    ratio_from_token_times,
    ratio_of,
)
from specwatch_detectors.payoff.step_cost import Basis, Cost, Load, Unknown
from specwatch_detectors.payoff.step_times import StepTimes


def times(
    mean: float, *, batch: float = 8.0, intervals: int = 20, samples: int = 100, noise: float = 0.0
) -> StepTimes:
    rng = random.Random(1)
    found = StepTimes()
    for number in range(intervals):
        found = found.observed(samples, samples * mean * abs(1 + rng.gauss(0, noise)), batch, 10.0 * number)
    return found


@pytest.mark.parametrize(
    ("idle_ms", "plain_ms", "batch", "tax"),
    [(15.317, 14.374, 2.0, 0.0656), (93.820, 77.164, 189.0, 0.2159)],
)
def test_the_reported_tax_of_drafting_nothing(idle_ms: float, plain_ms: float, batch: float, tax: float) -> None:
    """Times per token at K = 0 against no speculation, as reported for vLLM's K by batch size."""
    found = ratio_of(times(idle_ms / 1e3, batch=batch), times(plain_ms / 1e3, batch=batch), ("idle", "off"))
    assert isinstance(found, Ratio)
    assert found.value - 1 == pytest.approx(tax, abs=1e-4)


def test_the_error_comes_from_how_intervals_differ() -> None:
    steady, noisy = times(0.02), times(0.02, noise=0.1, intervals=400)
    assert steady.relative_error == pytest.approx(0.0, abs=1e-6)
    assert noisy.relative_error == pytest.approx(0.1 / 20, rel=0.1)
    found = ratio_of(noisy, times(0.01, noise=0.1, intervals=400))
    assert isinstance(found, Ratio)
    assert found.value == pytest.approx(2.0, rel=0.03)
    assert found.relative_error == pytest.approx(0.1 / 20 * 2**0.5, rel=0.15)


@pytest.mark.parametrize(
    ("on", "off", "reason"),
    [
        (StepTimes(), times(0.02), "speculation on: 0 samples in 0 intervals"),
        (times(0.03), StepTimes(), "speculation off: 0 samples"),
        (times(0.03, intervals=7), times(0.02), "700 samples in 7 intervals"),
        (times(0.03, samples=2), times(0.02), "40 samples in 20 intervals"),
        (times(0.03, batch=8), times(0.02, batch=5), "mean batch differs"),
        (times(0.03).observed(100, 90.0, 8.0, 300.0), times(0.02), "vary too much"),
    ],
)
def test_where_the_sides_cannot_be_compared_it_says_why(on: StepTimes, off: StepTimes, reason: str) -> None:
    found = ratio_of(on, off)
    assert isinstance(found, Unknown)
    assert reason in found.reason


def test_times_per_token_give_the_ratio_through_the_length() -> None:
    found = ratio_from_token_times(times(0.012), times(0.02), 2.5)
    assert isinstance(found, Ratio)
    assert found.value == pytest.approx(1.5)
    assert isinstance(ratio_from_token_times(StepTimes(), times(0.02), 2.5), Unknown)


def filled() -> StepTimesBook:
    book = StepTimesBook()
    for number in range(20):
        now = 10.0 * number
        book.observe("off", 8, 100, 2.0, now)
        book.observe("eagle3", 7, 100, 3.0, now)
        book.observe("idle", 8, 100, 2.1, now)
        book.observe("unknown", 8, 100, 9.0, now)
    return book


def test_a_book_gives_costs_by_bucket_marked_as_estimated() -> None:
    cost = filled().cost("eagle3", now=200.0)
    assert (cost.basis, cost.name, cost.gpus) == (Basis.ESTIMATED, "none", 1)
    found = cost.at(Load(6.0, 3.0))
    assert isinstance(found, Cost)
    assert found.ratio == pytest.approx(1.5)
    assert found.idle_ratio == pytest.approx(1.05)
    assert found.spec_seconds == pytest.approx(0.03)
    assert found.prefill_share == 0.0
    elsewhere = cost.at(Load(32.0, 3.0))
    assert isinstance(elsewhere, Unknown)
    assert elsewhere.reason.startswith("no profile, and no estimate at batch 32: step times with speculation on:")


def test_a_book_goes_on_from_its_state() -> None:
    book = filled()
    again = StepTimesBook(state=json.loads(json.dumps(book.state())))
    assert again.state() == book.state()
    assert again.cost("eagle3", 200.0) == book.cost("eagle3", 200.0)


def test_what_lies_too_far_back_or_was_forgotten_does_not_count() -> None:
    book = filled()
    assert isinstance(book.cost("eagle3", now=8 * 86_400.0).at(Load(8, 3)), Unknown)
    book.forget()
    assert book.state() == {}


@pytest.mark.parametrize(
    "state",
    [{"off|7": [0.0] * 8}, {"off|8": [0.0] * 7}, {"off|8": "x"}, {"off": [0.0] * 8}, {"off|8": [-1.0] * 8}],
)
def test_a_state_of_something_else_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not "):
        StepTimesBook(state=state)


@pytest.mark.parametrize("values", [(-1, 1, 1), (1, float("nan"), 1), (1, 1, float("inf"))])
def test_a_count_that_falls_is_refused(values: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="not negative"):
        StepTimes().observed(*values, 0.0)


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e6)), max_size=30),
    st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e6)), max_size=30),
)
def test_any_volume_gives_a_positive_number_or_a_reason(
    on: list[tuple[float, float]], off: list[tuple[float, float]]
) -> None:
    sides = []
    for pairs in (on, off):
        side = StepTimes()
        for number, (count, seconds) in enumerate(pairs):
            side = side.observed(count, seconds, 8.0, float(number))
        sides.append(side)
    found = EstimatedCost("eagle3", {"8": sides[0]}, {"8": sides[1]}).at(Load(8, 3))
    if isinstance(found, Cost):
        assert 0.0 < found.ratio < float("inf")
        assert found.relative_error is not None
        assert 0.0 <= found.relative_error <= 0.2
    else:
        assert found.reason
