"""Per-token latency at fixed batch size: load is not drift, slow tokens are."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.latency_cusum import (
    FLOOR_SD,
    LEAST_INTERVALS,
    LatencyCusum,
    TimeBaseline,
    Times,
    log_ratio,
)

CASE = Path(__file__).parents[1] / "cases" / "34-dynamic-k-collapse" / "results.json"
BASES = {
    "1": TimeBaseline(0.006, 5.0),
    "8": TimeBaseline(0.009, 5.0),
    "32": TimeBaseline(0.020, 5.0),
    "+": TimeBaseline(0.077, 5.0),
}
H = 13.56


def cusum(ratio: float = 1.1, threshold: float = H) -> LatencyCusum:
    return LatencyCusum(BASES, ratio=ratio, threshold=threshold)


def seen(factor: float = 1.0, **samples: float) -> dict[str, Times]:
    counts = {name.removeprefix("b"): value for name, value in (samples or {"b1": 1e4, "b8": 1e4}).items()}
    return {name: Times(factor * BASES[name].mean * count, count) for name, count in counts.items()}


@pytest.mark.parametrize("load", [{"b1": 2e3}, {"b8": 1e4}, {"b32": 5e4}, {"b1": 10, "b32": 1e5}, {}])
def test_more_load_is_no_drift(load: dict[str, float]) -> None:
    """Tokens take three times as long in a batch of 32; each bucket is compared with itself."""
    test = cusum()
    assert [test.update(seen(**load)) for _ in range(500)] == [0.0] * 500


@pytest.mark.parametrize("ratio", [1.1, 1.3])
@pytest.mark.parametrize("load", [{"b1": 1e4}, {"b8": 1e3, "b32": 1e5}])
def test_slower_tokens_alarm_and_not_in_one_interval(ratio: float, load: dict[str, float]) -> None:
    test = cusum(ratio)
    scores = [test.update(seen(1.4, **load)) for _ in range(LEAST_INTERVALS + 1)]
    assert scores[0] <= 1.0 / LEAST_INTERVALS + 1e-9
    assert scores[-1] >= 1.0


def test_a_pause_of_two_intervals_is_no_alarm() -> None:
    test = cusum()
    scores = [test.update(seen(factor)) for factor in (1.0, 30.0, 30.0, 1.0, 1.0, 1.0)]
    assert max(scores) < 1.0
    assert scores[-1] == 0.0


def test_less_than_half_the_change_is_none() -> None:
    test = cusum(1.1)
    assert [test.update(seen(1.04)) for _ in range(500)][-1] == 0.0
    assert [test.update(seen(0.7)) for _ in range(500)][-1] == 0.0


def test_faster_is_its_own_alternative() -> None:
    test = cusum(1 / 1.1)
    assert [test.update(seen(0.88)) for _ in range(20)][-1] >= 1.0
    test.reset()
    assert [test.update(seen(1.3)) for _ in range(20)][-1] == 0.0


def test_the_likelihood_ratio_is_at_most_one_on_average() -> None:
    """Normal log means with the assumed variance, by numerical integration."""
    samples, test = 1000.0, LatencyCusum(BASES, ratio=1.1, threshold=1e9)
    sd = math.sqrt(BASES["8"].variance / samples + FLOOR_SD**2)
    steps = [(-8.0 + 16.0 * i / 4000, 16.0 / 4000) for i in range(4001)]
    for spread in (0.5, 1.0):
        found = sum(
            math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * width
            * math.exp(test.increment({"8": Times(BASES["8"].mean * math.exp(spread * sd * z) * samples, samples)}))
            for z, width in steps
        )  # fmt: skip
        assert found <= 1.0 + 1e-6


def test_false_alarms_keep_the_bound() -> None:
    source, threshold, lengths = random.Random(5), 4.0, []
    sd = math.sqrt(BASES["8"].variance / 1e4 + FLOOR_SD**2)
    for _ in range(60):
        test, interval = cusum(threshold=threshold), 0
        while interval < 1000:
            interval += 1
            mean = BASES["8"].mean * math.exp(source.gauss(0.0, sd))
            if test.update({"8": Times(mean * 1e4, 1e4)}) >= 1.0:
                break
        lengths.append(interval)
    assert sum(lengths) / len(lengths) >= math.exp(threshold)


def test_weights_are_by_precision_and_the_floor_is_common() -> None:
    pooled = log_ratio({**seen(1.2, b1=100.0), **seen(1.0, b8=300.0)}, BASES)
    assert pooled is not None
    assert pooled[0] == pytest.approx(0.25 * math.log(1.2))
    assert pooled[1] == pytest.approx(400 / 5.0)
    most = math.log(1.1) ** 2 / 2 / FLOOR_SD**2
    assert LatencyCusum(BASES, ratio=1.1, threshold=1e9).increment(seen(1.1, b1=1e12, b8=1e12)) <= most + 1e-6


@pytest.mark.parametrize(
    "nothing",
    [{}, {"64": Times(1.0, 10.0)}, {"8": Times(0.0, 0.0)}, {"8": Times(0.0, 5.0)}, {"8": Times(-1.0, 5.0)}],
)
def test_what_cannot_be_compared_is_no_evidence(nothing: dict[str, Times]) -> None:
    assert cusum().increment(nothing) == 0.0


@given(
    st.dictionaries(st.sampled_from(["1", "8", "32", "+", "64"]), st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)))
)
def test_no_volume_breaks_it(found: dict[str, tuple[float, float]]) -> None:
    for ratio in (1.1, 1.3, 1 / 1.1):
        test = cusum(ratio)
        score = test.update({bucket: Times(*each) for bucket, each in found.items()})
        assert 0.0 <= score <= 1.0
        again = LatencyCusum(BASES, ratio=ratio, threshold=H, state=test.state())
        assert again.update(seen(1.2)) == test.update(seen(1.2))


@pytest.mark.parametrize("change", [{"ratio": 1.0}, {"ratio": -1.0}, {"threshold": 0.0}])
def test_parameters_out_of_range_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not usable"):
        LatencyCusum(BASES, **{"ratio": 1.1, "threshold": 5.0, **change})


@pytest.mark.parametrize("base", [TimeBaseline(0.0, 1.0), TimeBaseline(1.0, 0.0)])
def test_a_baseline_of_nothing_is_refused(base: TimeBaseline) -> None:
    with pytest.raises(ValueError, match="mean and variance"):
        LatencyCusum({"1": base}, ratio=1.1, threshold=5.0)


def test_the_reported_cost_of_speculation_that_drafts_nothing_is_found() -> None:
    """K = 0 with the drafter loaded: 6.6 % slower at 2 requests, 21.6 % at 189, no token drafted."""
    rows = json.loads(CASE.read_text())
    tpot = {(row["config"], row["concurrency"]): row["tpot_ms"] / 1e3 for row in rows if "tpot_ms" in row}
    for concurrency, bucket, most in ((2, "2", 60), (189, "+", 6)):
        plain, taxed = tpot["no_spec", concurrency], tpot["dsd K=0", concurrency]
        test = LatencyCusum({bucket: TimeBaseline(plain, 5.0)}, ratio=1.1, threshold=H)
        scores = [test.update({bucket: Times(1e4 * taxed, 1e4)}) for _ in range(most)]
        assert scores[-1] >= 1.0
