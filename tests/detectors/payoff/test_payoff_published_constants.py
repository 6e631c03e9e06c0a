"""The published constants of one GPU give the published break-even table and speed-ups."""

from __future__ import annotations

import pytest

from specwatch_detectors.chain import geometric, mean_accepted
from specwatch_detectors.payoff.payoff import speedup
from specwatch_detectors.payoff.profile_file import load_profile
from specwatch_detectors.payoff.step_cost import Cost, Load

PROFILE = load_profile("llama-3.1-8b-h100")
# Batch: tau* at 500 tokens of context for K = 1, 3, 5; n-gram K = 3 with 20 % and 80 % of requests matching; and
# EAGLE K = 3 at 4,000 tokens.
PUBLISHED = {
    1: ((1.30, 1.31, 1.32), (1.01, 1.01), 1.30),
    32: ((1.34, 1.50, 1.66), (1.05, 1.20), 1.35),
    64: ((1.37, 1.65, 1.92), (1.09, 1.34), 1.37),
    128: ((1.41, 1.84, 2.28), (1.14, 1.53), 1.38),
    256: ((1.45, 2.06, 2.68), (1.19, 1.75), 1.39),
    512: ((1.48, 2.26, 3.03), (1.24, 1.94), 1.40),
}
# Half a unit of the last published digit, and what four-digit constants move.
ROUNDING = 0.0076


def ratio(method: str, batch: int, drafted: float, context: float) -> float:
    cost = PROFILE.cost_of(method).at(Load(batch, drafted, context))
    assert isinstance(cost, Cost)
    return cost.ratio


@pytest.mark.parametrize("batch", PUBLISHED)
def test_break_even_of_an_eagle_draft(batch: int) -> None:
    by_depth, _, long_context = PUBLISHED[batch]
    for depth, published in zip((1, 3, 5), by_depth, strict=True):
        assert ratio("eagle", batch, depth, 500) == pytest.approx(published, abs=ROUNDING)
    assert ratio("eagle", batch, 3, 4000) == pytest.approx(long_context, abs=ROUNDING)


@pytest.mark.parametrize("batch", PUBLISHED)
@pytest.mark.parametrize(("column", "matching"), [(0, 0.2), (1, 0.8)])
def test_break_even_of_prompt_lookup(batch: int, column: int, matching: float) -> None:
    assert ratio("ngram", batch, 3 * matching, 500) == pytest.approx(PUBLISHED[batch][1][column], abs=ROUNDING)


@pytest.mark.parametrize(
    ("batch", "depth", "length", "published"),
    [
        (1, 3, 2.4, 1.83),
        (512, 3, 2.4, 1.06),
        # The published loss at K = 5 is that of tau 2.67, which is what the same draft reaches two tokens deeper.
        (512, 5, 2.67, 0.88),
    ],
)
def test_speed_up(batch: int, depth: int, length: float, published: float) -> None:
    assert speedup(length, ratio("eagle", batch, depth, 500)) == pytest.approx(published, abs=0.005)


def test_equal_conditionals_lose_at_five_tokens_too() -> None:
    q = geometric(1.4, 3)[0]
    length = 1.0 + mean_accepted((q,) * 5)
    assert 0.85 < speedup(length, ratio("eagle", 512, 5, 500)) < 0.92


def test_long_context_makes_speculation_pay_at_large_batches() -> None:
    assert ratio("eagle", 512, 3, 4000) < ratio("eagle", 512, 3, 500) - 0.8


@pytest.mark.parametrize(
    ("batch", "context", "caveats"),
    [
        (64, 500.0, ()),
        (65, 500.0, ("extrapolated",)),
        (8, None, ("context assumed",)),
        (128, None, ("extrapolated", "context assumed")),
        (0, 500.0, ()),
    ],
)
def test_what_weakens_the_answer_is_said(batch: int, context: float | None, caveats: tuple[str, ...]) -> None:
    cost = PROFILE.cost_of("eagle").at(Load(batch, 3, context))
    assert isinstance(cost, Cost)
    assert cost.caveats == caveats
    assert cost.idle_ratio is None
