"""An engine that adapts by itself is seen, never left, and always come home to; the operator's word is the last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from detectors.fallback.policy_life import SETTINGS, Life, around, told
from detectors.fallback.series_samples import MODEL, NOW, Samples, source
from specwatch_detectors.fallback.adaptation import adaptation, changes_by_itself
from specwatch_detectors.fallback.config_table import ConfigError
from specwatch_detectors.fallback.decision import Act, Veto
from specwatch_detectors.fallback.fallback_config import config_of
from specwatch_detectors.fallback.fallback_source import SeriesSource, SourceSettings
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.fallback.page_source import LEVEL_LABEL, PageSource
from specwatch_detectors.fallback.policy import begin, decide

HOUR_S = 3600.0
CONFIG: dict[str, Any] = {
    "model": MODEL,
    "audit_log": "fallback.jsonl",
    "source": {"prometheus": "http://prometheus.example.com:9090"},
    "lever": {"kind": "none"},
}


def declared(samples: Samples, level: str, what: str, at: float = NOW) -> None:
    samples.add("specwatch_speculation_adapts_info", [(at, 1.0)], specwatch_level=level, what=what)


def depths(samples: Samples, level: str, *values: float, apart: float = 600.0, **labels: str) -> None:
    times = [NOW - apart * (len(values) - 1 - n) for n in range(len(values))]
    own = {"specwatch_level": level, **labels}
    samples.add("specwatch_num_speculative_tokens", list(zip(times, values, strict=True)), **own)


def adapts(samples: Samples, level: Level = Level.DRAFT, since: float = 0.0, **settings: Any) -> str:
    return source(samples, **settings).observe(NOW, level, since).adapts


def test_what_the_engine_in_force_is_configured_to_change_is_seen() -> None:
    samples = Samples()
    declared(samples, "draft", "K by batch")
    declared(samples, "draft", "adaptive verification")
    assert adapts(samples) == "K by batch, adaptive verification"
    assert adapts(samples, Level.NGRAM) == ""
    old = Samples()
    declared(old, "draft", "K by batch", at=NOW - 200.0)
    assert adapts(old) == ""


@pytest.mark.parametrize(
    ("values", "apart", "seen"),
    [
        ((3, 3, 3, 3, 3), 600.0, False),
        ((3, 1, 3, 0), 600.0, True),
        ((3, 1, 3, 3), 600.0, False),
        ((3, 1, 3, 0), 1900.0, False),
    ],
)
def test_a_k_that_changed_three_times_within_an_hour_adapts(
    values: Sequence[float], apart: float, seen: bool
) -> None:
    samples = Samples()
    depths(samples, "draft", *values, apart=apart, instance="a")
    depths(samples, "draft", 3, 3, instance="b")
    assert ("3 times within an hour" in adapts(samples)) is seen
    assert adapts(samples, Level.NGRAM) == ""


def test_where_levels_share_pods_a_change_of_level_is_no_change_by_itself() -> None:
    samples = Samples()
    depths(samples, "", 3, 5, 3, 5, 5)
    shared = LevelRule()
    assert adapts(samples, Level.NGRAM, since=NOW - 700.0, rule=shared) == ""
    assert adapts(samples, Level.NGRAM, since=NOW - 3000.0, rule=shared)


@pytest.mark.parametrize(("said", "expected"), [("the gate", "the gate"), ("", ""), (None, "K by batch")])
def test_the_operators_word_is_the_last(said: str | None, expected: str) -> None:
    samples = Samples()
    declared(samples, "draft", "K by batch")
    assert adapts(samples, adapts=said) == expected


@pytest.mark.parametrize(
    ("told_so", "expected"), [({}, None), ({"adapts": "a gate"}, "a gate"), ({"adapts": False}, "")]
)
def test_the_configuration_says_it(told_so: dict[str, Any], expected: str | None) -> None:
    assert config_of({**CONFIG, **told_so}).seen.adapts == expected


@pytest.mark.parametrize("value", [True, "", 3, ["K"]])
def test_a_configuration_that_does_not_say_what_adapts_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match=r"^adapts must be what the engine changes by itself"):
        config_of({**CONFIG, "adapts": value})


def test_pages_remember_k_for_the_hour_that_it_takes() -> None:
    depth = iter([3.0, 1.0, 3.0, 0.0])

    def page() -> list[Metric]:
        family = GaugeMetricFamily("specwatch_num_speculative_tokens", "K", labels=["model"])
        family.add_metric([MODEL], next(depth))
        return [family]

    settings = SourceSettings(MODEL, Level.DRAFT, LevelRule(LEVEL_LABEL))
    seen = SeriesSource(PageSource({Level.DRAFT: [page]}), settings)
    found = [seen.observe(NOW + n * 1100.0, Level.DRAFT, 0.0).adapts for n in range(4)]
    assert found[:3] == ["", "", ""]
    assert "3 times" in found[3]


@given(st.lists(st.tuples(st.floats(0.1, 900.0), st.sampled_from([0.0, 1.0, 3.0])), max_size=30))
def test_no_more_than_two_changes_are_never_called_adaptive(steps: list[tuple[float, float]]) -> None:
    now, samples = 0.0, []
    for wait, value in steps:
        now += wait
        samples.append((now, value))
    changes = [after[0] for before, after in pairwise(samples) if before[1] != after[1]]
    three = any(last - first <= HOUR_S for first, last in zip(changes, changes[2:], strict=False))
    assert changes_by_itself(samples) is three
    assert bool(adaptation([], [samples])) is three


GOOD_AGAIN_S = 6 * HOUR_S


def never(_: float) -> float:
    return 0.5


def good_again(now: float) -> float:
    return 0.5 if now < GOOD_AGAIN_S else 1.8


@pytest.mark.parametrize(("draft", "home"), [(never, False), (good_again, True)])
def test_an_engine_that_adapts_is_never_left_and_always_come_home_to(
    draft: Callable[[float], float], home: bool
) -> None:
    """Coming home gives the decision back to the engine; nothing else is done."""
    life = Life(draft)
    life.state = begin(SETTINGS, 0.0, Level.NGRAM)
    life.until(12 * HOUR_S, adapts="K by batch")
    assert life.went() == ([Level.DRAFT] if home else [])
    life.draft = never
    life.until(24 * HOUR_S, adapts="K by batch")
    assert life.went() == ([Level.DRAFT] if home else [])
    if home:
        assert life.decisions[-1][1].act is Act.RECOMMEND
        assert life.decisions[-1][1].veto is Veto.ADAPTS


def test_a_fallback_that_adapts_is_not_left_for_none() -> None:
    state = replace(begin(SETTINGS, 0.0, Level.NGRAM), regret_s=1e4, probe_at=None)
    inputs = replace(told(5000.0, 0.5, ngram=0.7), adapts="K by batch", speedup={Level.NGRAM: around(0.7)})
    decision = decide(state, inputs, SETTINGS)[1]
    assert (decision.act, decision.level) == (Act.RECOMMEND, Level.OFF)
