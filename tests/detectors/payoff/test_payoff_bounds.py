from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.payoff.length_estimate import LengthEstimate, estimate_length
from specwatch_detectors.payoff.payoff import Verdict, judge, nothing_drafted, speedup, speedup_bounds
from specwatch_detectors.payoff.step_cost import Basis, Cost
from specwatch_detectors.window import Window, window

Q = st.lists(st.floats(0, 1), min_size=1, max_size=8)
VOLUME = st.one_of(st.floats(0, 1e9), st.integers(0, 1_000_000_000))
RATIO = st.floats(0.2, 20)
ERROR = st.one_of(st.none(), st.floats(0, 0.5))


def traffic(drafts: float, q: list[float]) -> Window:
    accepted, left = [], drafts
    for value in q:
        left *= value
        accepted.append(left)
    return window(drafts, accepted)


def length_of(value: float, error: float = 0.01, most: float = 4.0) -> LengthEstimate:
    return LengthEstimate(value, error, most, effective=1000.0, coverage=1.0)


@given(st.floats(1, 20), st.floats(1, 20), RATIO, st.floats(0, 10))
def test_speed_up_rises_with_the_length_and_is_1_at_break_even(
    one: float, other: float, ratio: float, prefill: float
) -> None:
    low, high = sorted((one, other))
    assert speedup(low, ratio, prefill) <= speedup(high, ratio, prefill) * (1 + 1e-12)
    assert speedup(ratio, ratio, prefill) == pytest.approx(1.0)
    assert (speedup(one, ratio, prefill) > 1.0 + 1e-9) <= (one > ratio)


@given(VOLUME, Q, st.floats(1, 1e4), RATIO, ERROR, st.floats(0, 10), st.floats(1, 50))
def test_bounds_are_ordered_numbers_at_any_volume(
    drafts: float,
    q: list[float],
    design: float,
    ratio: float,
    error: float | None,
    prefill: float,
    undrafted: float,
) -> None:
    length = estimate_length(traffic(drafts, q), depth=len(q), design=design, request_steps=drafts * undrafted)
    if length is None:
        assert drafts < 1e-6
        return
    assert 1.0 <= length.value <= length.most + 1e-9
    assert 0.0 < length.error < math.inf
    found = speedup_bounds(length, Cost(ratio, error, prefill_share=prefill), 1.0)
    assert 0.0 < found.lower <= found.estimate <= found.upper < math.inf
    answer = judge(length, Cost(ratio, error), Basis.MEASURED, 1.0)
    assert "nan" not in answer.text
    assert (answer.speedup is None) == (length.effective < 30)


@given(Q, st.floats(100, 1e6), st.floats(1, 100))
def test_more_drafts_and_a_smaller_design_effect_narrow_the_bounds(
    q: list[float], drafts: float, design: float
) -> None:
    few = estimate_length(traffic(drafts, q), depth=len(q), design=design)
    many = estimate_length(traffic(drafts * 100, q), depth=len(q), design=design)
    worse = estimate_length(traffic(drafts, q), depth=len(q), design=design * 4)
    assert few is not None
    assert many is not None
    assert worse is not None
    assert many.error < few.error
    assert worse.error == pytest.approx(2 * few.error)


def test_the_error_is_that_of_simulated_drafts() -> None:
    rng = random.Random(5)
    q, drafts, lengths = (0.76, 0.72, 0.69), 400, []
    for _ in range(2000):
        accepted = [0, 0, 0]
        for _ in range(drafts):
            for position, value in enumerate(q):
                if rng.random() >= value:
                    break
                accepted[position] += 1
        lengths.append(1 + sum(accepted) / drafts)
    mean = sum(lengths) / len(lengths)
    seen = math.sqrt(sum((length - mean) ** 2 for length in lengths) / len(lengths))
    found = estimate_length(traffic(drafts, list(q)), depth=3, design=1.0)
    assert found is not None
    assert found.error == pytest.approx(seen, rel=0.06)


def test_steps_without_a_draft_count_as_one_token() -> None:
    found = estimate_length(window(100, [50, 20]), depth=2, design=1.0, request_steps=400)
    assert found is not None
    assert found.value == pytest.approx(1 + 70 / 400)
    assert found.coverage == 0.25
    every = estimate_length(window(100, [50, 20]), depth=2, design=1.0, request_steps=20)
    assert every is not None
    assert every.value == pytest.approx(1.7)


@pytest.mark.parametrize(
    "counts",
    [
        window(1000, accepted_tokens=1500),
        window(1000, [600, 500, 400], draft_tokens=2000),
        window(1000, accepted_tokens=0),
        window(1000, accepted_tokens=3000),
        window(1000, accepted_tokens=9000),
        window(1000, [1000, 1000, 1000]),
        window(1000, [0, 0, 0]),
    ],
    ids=["no positions", "censored", "none", "all", "more than K", "all by position", "none by position"],
)
def test_engines_without_positions_and_extremes_have_an_error_too(counts: Window) -> None:
    found = estimate_length(counts, depth=3, design=2.0)
    assert found is not None
    assert 1.0 <= found.value <= 4.0
    assert found.error > 0.0


@pytest.mark.parametrize(
    ("length", "cost", "basis", "verdict", "text"),
    [
        (length_of(2.4, 0.0263), Cost(1.3087, 0.0), Basis.MEASURED, Verdict.PAYS, "pays 1.83x (1.79 to 1.87)"),
        (
            length_of(1.2),
            Cost(1.5, 0.0),
            Basis.MEASURED,
            Verdict.DOES_NOT_PAY,
            "does not pay: 0.80x (0.79 to 0.81)",
        ),
        (
            length_of(1.5, 0.05),
            Cost(1.5, 0.0),
            Basis.MEASURED,
            Verdict.CANNOT_TELL,
            "cannot tell: 1.00x (0.93 to 1.07) is too close to 1",
        ),
        (
            length_of(2.4),
            Cost(1.2, 0.1),
            Basis.ESTIMATED,
            Verdict.PAYS,
            "pays 2.00x (1.67 to 2.39), estimated",
        ),
        (
            length_of(2.4),
            Cost(1.2, None, caveats=("extrapolated",)),
            Basis.MEASURED,
            Verdict.PAYS,
            "pays 2.00x (1.98 to 2.02), extrapolated",
        ),
        (
            replace(length_of(2.4), effective=12.3),
            Cost(1.2),
            Basis.MEASURED,
            Verdict.CANNOT_TELL,
            "cannot tell: too few drafts (12.3 independent, 30 are needed)",
        ),
    ],
)
def test_the_verdict_in_words(
    length: LengthEstimate, cost: Cost, basis: Basis, verdict: Verdict, text: str
) -> None:
    found = judge(length, cost, basis)
    assert (found.verdict, found.text) == (verdict, text)
    assert found.break_even == cost.ratio
    assert ("error of step times unknown" in found.caveats) == (cost.relative_error is None)


@pytest.mark.parametrize(
    ("idle", "verdict", "gain"),
    [(1.0656, Verdict.DOES_NOT_PAY, 0.938), (1.0, Verdict.CANNOT_TELL, 1.0), (None, Verdict.CANNOT_TELL, None)],
)
def test_an_engine_that_drafts_nothing_pays_the_tax(
    idle: float | None, verdict: Verdict, gain: float | None
) -> None:
    found = nothing_drafted(Cost(1.5, idle_ratio=idle))
    assert found.verdict is verdict
    assert "nothing is drafted" in found.text
    assert (None if found.speedup is None else found.speedup.estimate) == (
        None if gain is None else pytest.approx(gain, abs=1e-3)
    )
