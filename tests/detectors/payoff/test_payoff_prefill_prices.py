"""A prompt token may cost more or less in a step with speculation; crossovers of a run's own acceptance."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.payoff.crossover import crossovers, words
from specwatch_detectors.payoff.payoff import break_even, speedup
from specwatch_detectors.payoff.profile_file import load_profile, profile_from_json
from specwatch_detectors.payoff.step_cost import Cost, Load

BODY: dict[str, Any] = {
    "format": 1,
    "name": "mine",
    "label": "one run",
    "target": "a model",
    "hardware": "a GPU",
    "gpus": 1,
    "engine": "vLLM",
    "source": "a bench",
    "context_tokens": 500,
    "prompt_per_output": 2.0,
    "batches": [1, 10, 100],
    "plain_seconds": [0.020, 0.020, 0.040],
    "plain_prefill_seconds_per_token": [0.0002, 0.0001, 0.0001],
    "methods": {
        "eagle3": [
            {
                "depth": 3,
                "tokens_per_step": 2.51,
                "batches": [1, 10, 100],
                "seconds": [0.022, 0.030, 0.120],
                "prefill_seconds_per_token": [0.0003, 0.0001, 0.00005],
            }
        ],
        "ngram": [{"depth": 3, "tokens_per_step": 1.1, "batches": [1, 10], "seconds": [0.025, 0.025]}],
    },
}


@given(st.floats(1, 10), st.floats(0, 5), st.floats(0, 5), st.floats(0.1, 5))
def test_break_even_is_where_the_speed_up_is_one(ratio: float, plain: float, spec: float, prompts: float) -> None:
    cost = Cost(ratio, prefill_share=plain, spec_prefill_share=spec)
    needed = break_even(cost, prompts)
    if needed is None:
        assert 1.0 + (plain - spec) * prompts <= 0.0
        assert speedup(1e9, ratio, plain * prompts, spec * prompts) <= 1.0
    else:
        assert speedup(needed, ratio, plain * prompts, spec * prompts) == pytest.approx(1.0, rel=1e-6)


def test_without_a_price_of_its_own_break_even_is_the_ratio() -> None:
    assert break_even(Cost(1.5, prefill_share=3.0), 2.0) == pytest.approx(1.5)


def test_prices_are_looked_up_by_batch_size() -> None:
    found = profile_from_json(BODY).cost_of("eagle3").at(Load(55, 3.0))
    assert isinstance(found, Cost)
    assert found.prefill_share == pytest.approx(55 * 0.0001 / 0.030)
    assert found.spec_prefill_share == pytest.approx(55 * 0.000075 / 0.030)
    lookup = profile_from_json(BODY).cost_of("ngram").at(Load(5, 3.0))
    assert isinstance(lookup, Cost)
    assert lookup.spec_prefill_share is None


def test_the_crossover_is_where_the_runs_own_acceptance_stops_paying() -> None:
    eagle, ngram = crossovers(profile_from_json(BODY))
    assert (eagle.length, eagle.last) == (2.51, 100)
    ((first, last),) = eagle.losing_alone
    # With x = B - 10, rho is (30 + x) over (20 + x / 4.5), and 2.51 at x = 45.7.
    assert (first, last) == (56, 100)
    assert eagle.losing == (), "a prompt token is cheaper in the large steps of speculation"
    assert words(eagle.losing_alone, eagle.last) == "does not pay at 56 to 100"
    assert words(ngram.losing_alone, ngram.last) == "pays at none"
    assert words(((5, 5), (7, 9)), 20) == "does not pay at 5, 7 to 9, pays again up to 20"


@pytest.mark.parametrize(
    ("key", "value"),
    [("batches", [1, 10]), ("prefill_seconds_per_token", [0.1]), ("tokens_per_step", -1), ("acceptance", "x")],
)
def test_a_run_that_does_not_fit_together_is_refused(key: str, value: object) -> None:
    body = copy.deepcopy(BODY)
    run = body["methods"]["eagle3"][0]
    if key == "acceptance":
        del run["tokens_per_step"]
    run[key] = value
    with pytest.raises(ValueError, match=key if key != "batches" else "seconds"):
        profile_from_json(body)


def test_the_longest_k_of_a_profile_at_its_largest_batch_is_no_extrapolation() -> None:
    found = load_profile("llama-70b-fp8-h200-bench").cost_of("peagle").at(Load(128, 7.0))
    assert isinstance(found, Cost)
    assert found.caveats == ()
    assert found.ratio == pytest.approx(4.65, abs=0.05)
