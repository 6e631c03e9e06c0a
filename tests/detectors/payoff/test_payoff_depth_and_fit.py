from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.chain import unconditional
from specwatch_detectors.payoff.depth_rule import best_depth, positions_paying
from specwatch_detectors.payoff.fit import StepRow, fit_constants
from specwatch_detectors.payoff.linear_steps import StepConstants
from specwatch_detectors.payoff.profile_file import load_profile
from specwatch_detectors.payoff.step_cost import Cost, Load

TRUE = StepConstants(5.886e-3, 21.0e-6, 39.3e-9, 1.207e-3)


def eagle_seconds(batch: int, deepest: int) -> list[float]:
    costs = [load_profile("llama-3.1-8b-h100").cost_of("eagle").at(Load(batch, k, 500)) for k in range(deepest + 1)]
    found = [cost for cost in costs if isinstance(cost, Cost)]
    assert found[0].plain_seconds is not None
    return [found[0].plain_seconds, *(cost.spec_seconds or 0.0 for cost in found[1:])]


@pytest.mark.parametrize(
    ("batch", "q", "depth"),
    [
        (1, 0.66, 5),  # weights are read anyway: every position pays
        (512, 0.66, 2),  # compute is full: the third position costs more than it brings
        (512, 0.3, 0),  # nothing pays
    ],
)
def test_the_larger_the_batch_the_shallower_the_draft(batch: int, q: float, depth: int) -> None:
    assert best_depth(unconditional((q,) * 5), eagle_seconds(batch, 5)) == depth


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7), st.sampled_from([1, 8, 64, 512]))
def test_no_other_depth_gives_more_tokens_per_second(q: list[float], batch: int) -> None:
    p, seconds = unconditional(q), eagle_seconds(batch, len(q))
    best = best_depth(p, seconds)
    rates = [(1 + sum(p[:depth])) / seconds[depth] for depth in range(len(p) + 1)]
    assert rates[best] == pytest.approx(max(rates))
    # At the best depth, every position but the first, which bears the fixed cost, is worth its price.
    if best > 1:
        assert all(positions_paying(p[:best], seconds[: best + 1])[best - 1 :])


def test_the_positions_that_do_not_earn_their_price() -> None:
    assert positions_paying((0.7, 0.4, 0.1), (10.0, 11.0, 12.0, 13.0)) == (True, True, False)


@pytest.mark.parametrize("rule", [best_depth, positions_paying])
def test_lengths_must_fit(rule: object) -> None:
    with pytest.raises(ValueError, match="2 positions need 3 step times, not 2"):
        rule((0.5, 0.4), (1.0, 1.1))  # type: ignore[operator]


def rows(*, noise: float, forward: bool) -> list[StepRow]:
    rng = random.Random(3)
    found = []
    for batch, context, drafted in itertools.product((1, 8, 32, 64), (100, 1000, 4000), (0, 3)):
        tokens, kv_tokens = batch * (1 + drafted), batch * context
        spread = 1.0 + rng.gauss(0.0, noise)
        part = TRUE.forward(tokens, kv_tokens) * spread
        found.append(StepRow(tokens, kv_tokens, part + TRUE.overhead, part if forward else None))
    return found


def test_exact_rows_give_the_constants_back() -> None:
    found = fit_constants(rows(noise=0.0, forward=True))
    assert found.overhead_known
    assert found.constants.fixed == pytest.approx(TRUE.fixed)
    assert found.constants.per_token == pytest.approx(TRUE.per_token)
    assert found.constants.per_kv_token == pytest.approx(TRUE.per_kv_token)
    assert found.constants.overhead == pytest.approx(TRUE.overhead)
    assert found.relative_error < 1e-9


def test_step_times_alone_give_the_fixed_parts_as_one() -> None:
    found = fit_constants(rows(noise=0.0, forward=False))
    assert not found.overhead_known
    assert found.constants.overhead == 0.0
    assert found.constants.fixed == pytest.approx(TRUE.fixed + TRUE.overhead)


def test_noise_shows_as_the_error() -> None:
    found = fit_constants(rows(noise=0.02, forward=False))
    assert 0.01 < found.relative_error < 0.04
    assert found.constants.per_token == pytest.approx(TRUE.per_token, rel=0.2)
    assert found.constants.per_kv_token == pytest.approx(TRUE.per_kv_token, rel=0.2)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([StepRow(1, 10, 0.01)] * 3, "3 steps are too few"),
        ([StepRow(float(n), n * 500.0, 0.01 + n) for n in range(1, 9)], "rise together"),
        ([StepRow(1, 10, 0.01)] * 9, "rise together"),
        ([StepRow(n, 0, 0.01) for n in range(1, 9)], "nothing to fit a price to"),
        ([StepRow(1, float("nan"), 0.01)] * 9, "must be numbers"),
        ([StepRow(1, -1, 0.01)] * 9, "must be numbers"),
        ([StepRow(n, n % 3 + 1, 9.0 - n) for n in range(1, 9)], "negative constant"),
    ],
)
def test_rows_that_cannot_be_fitted(bad: list[StepRow], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_constants(bad)
