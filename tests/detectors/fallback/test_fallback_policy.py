"""The policy by examples and by invariants over whole lives of a deployment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.fallback.policy_life import ROUND_S, SETTINGS, Life, around, told
from specwatch_detectors.fallback.decision import Act, Veto
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.policy import begin, decide, unlatch
from specwatch_detectors.reading import DriftState


def test_a_draft_that_pays_is_left_alone() -> None:
    life = Life(lambda _: 1.8).until(86_400.0)
    assert {d.act for _, d in life.decisions} == {Act.STAY}
    assert life.lost_s == 0.0


def test_a_stale_draft_is_left_for_ngram_and_comes_back_after_two_paying_probes() -> None:
    life = Life(lambda now: 0.9 if 3600.0 <= now < 8 * 3600.0 else 1.8).until(86_400.0)
    acts = life.acts()
    assert acts[0] == (Act.SWITCH, Level.NGRAM)
    assert acts[-2:] == [(Act.END_PROBE, Level.NGRAM), (Act.SWITCH, Level.DRAFT)]
    assert life.state.level is Level.DRAFT
    left = next(at for at, d in life.decisions if d.act is Act.SWITCH)
    # A quarter of the capacity is lost from 3,600 s on; the switch costs 60 s of it.
    assert 3600.0 + 60.0 / 0.25 <= left <= 3600.0 + 60.0 / 0.25 + 3 * ROUND_S


def test_off_is_best_when_nothing_else_pays() -> None:
    life = Life(lambda _: 0.8, ngram=0.95).until(3600.0)
    assert life.acts()[0] == (Act.SWITCH, Level.OFF)


def test_a_loss_smaller_than_its_bounds_is_no_reason() -> None:
    rules = replace(SETTINGS, levels=(Level.DRAFT, Level.OFF))
    life = Life(lambda _: 0.975, rules=rules).until(86_400.0)
    assert life.acts() == []


@pytest.mark.parametrize(
    ("changes", "veto"),
    [
        ({"rollout": True}, Veto.ROLLOUT),
        ({"scaling": True}, Veto.SCALING),
        ({"measured_at": None}, Veto.STALE),
        ({"measured_at": 0.0}, Veto.STALE),
        ({"effective_drafts": 5.0}, Veto.LOW_VOLUME),
        ({"speedup": {}}, Veto.UNKNOWN),
        ({"adapts": "K by batch size"}, Veto.ADAPTS),
    ],
)
def test_what_vetoes(changes: dict[str, object], veto: Veto) -> None:
    life = Life(lambda _: 0.5).until(86_400.0, **changes)
    assert life.switches == 0
    assert life.decisions[-1][1].veto is veto
    assert life.decisions[-1][1].reason


@pytest.mark.parametrize("verdict", list(DriftState))
@pytest.mark.parametrize(("draft", "left"), [(1.8, False), (0.8, True)])
def test_what_decides_is_the_payoff_and_no_verdict(verdict: DriftState, draft: float, left: bool) -> None:
    """A draft may drift and still pay; where only speed fell, the draft is left only if S says so."""
    life = Life(lambda _: draft).until(7200.0, drift=verdict)
    assert (life.switches > 0) is left


def test_an_engine_that_adapts_gets_advice() -> None:
    life = Life(lambda _: 0.5).until(7200.0, adapts="K by batch size")
    assert life.decisions[-1][1].act is Act.RECOMMEND
    assert life.decisions[-1][1].level is Level.NGRAM


def test_the_way_home_after_days_takes_no_longer_than_the_longest_wait_and_one_more_probe() -> None:
    """Without it the doubled wait grows with the drift: after three days it was up to six hours."""
    bad = 72 * 3600.0
    life = Life(lambda now: 0.9 if 3600.0 <= now < bad else 1.8).until(bad)
    assert life.acts()[0] == (Act.SWITCH, Level.NGRAM)
    longest = SETTINGS.probe_most_s + SETTINGS.probe_first_s + 2 * SETTINGS.probe_s
    life.until(bad + longest)
    assert life.state.level is Level.DRAFT
    probing = sum(ROUND_S for _, decision in life.decisions if decision.act in {Act.PROBE, Act.END_PROBE})
    assert probing < 0.1 * bad


def test_an_estimate_that_was_wrong_is_taken_back_and_not_believed_for_a_day() -> None:
    """As in a mix shift: nothing fits the new traffic, n-gram least of all, and n-gram was only estimated."""
    life = Life(lambda _: 1.09, ngram=0.79, stated=1.18).until(0.9 * 86_400.0)
    assert life.went() == [Level.NGRAM, Level.DRAFT]
    left, back = (at for at, d in life.decisions if d.act is Act.SWITCH)
    assert back - left == SETTINGS.dwell_s
    assert life.state.doubted is Level.NGRAM
    assert "the estimate was wrong" in next(d.reason for at, d in life.decisions if at == back)
    assert FallbackState.from_json(life.state.as_json()) == life.state
    life.until(1.5 * 86_400.0)
    assert life.went() == [Level.NGRAM, Level.DRAFT] * 2


def test_in_doubt_of_ngram_a_draft_that_loses_is_left_for_none() -> None:
    life = Life(lambda now: 1.09 if now < 3 * 3600.0 else 0.7, ngram=0.79, stated=1.18).until(6 * 3600.0)
    assert life.went() == [Level.NGRAM, Level.DRAFT, Level.OFF]


def test_a_right_estimate_and_a_draft_that_gets_worse_still_is_no_mistake() -> None:
    life = Life(lambda now: 1.05 if now < 3600.0 else 0.9, ngram=1.15, stated=1.18).until(6 * 3600.0)
    assert life.went() == [Level.NGRAM]
    assert life.state.doubted is None


def test_a_flapping_draft_is_latched_on_the_fallback_and_an_operator_frees_it() -> None:
    life = Life(lambda now: 0.5 if (now // 3600.0) % 2 else 1.8).until(86_400.0)
    assert life.state.latched
    assert life.state.level is Level.NGRAM
    assert life.switches < SETTINGS.flips_per_day
    assert life.decisions[-1][1].veto is Veto.LATCHED
    life.state = unlatch(life.state)
    life.draft = lambda _: 1.8
    life.until(3 * 86_400.0)
    assert life.state.level is Level.DRAFT


def test_a_new_revision_is_probed_at_once() -> None:
    life = Life(lambda now: 0.5 if now < 6 * 3600.0 else 1.8)
    life.until(6 * 3600.0, revision="draft 1")
    wait = life.state.probe_wait_s
    assert wait > SETTINGS.probe_first_s
    assert life.state.probe_at is not None
    assert life.state.probe_at > 6 * 3600.0 + 10 * ROUND_S
    life.until(6 * 3600.0 + 2 * ROUND_S, revision="draft 2")
    assert [d.act for _, d in life.decisions[-2:]] == [Act.PROBE, Act.END_PROBE]
    assert life.state.wins == 1


def test_a_gap_is_not_regret() -> None:
    state = begin(SETTINGS, 0.0)
    state, _ = decide(state, told(2000.0, 0.9), SETTINGS)
    state, _ = decide(state, told(80_000.0, 0.9), SETTINGS)
    assert state.regret_s <= 600.0 * 0.25 + 1e-9


spans = st.lists(
    st.tuples(st.floats(600.0, 40_000.0), st.sampled_from([0.3, 0.8, 0.95, 1.0, 1.15, 1.25, 1.8])),
    min_size=1,
    max_size=8,
)


def stepwise(parts: list[tuple[float, float]]) -> Callable[[float], float]:
    def value(now: float) -> float:
        for length, speed in parts:
            if now < length:
                return speed
            now -= length
        return parts[-1][1]

    return value


flapping = st.lists(st.floats(900.0, 6000.0), min_size=24, max_size=30).map(
    lambda lengths: [(length, 1.8 if n % 2 else 0.3) for n, length in enumerate(lengths)]
)


@given(flapping, st.integers(2, 4), st.sampled_from([0.9, 1.2]), st.sampled_from([0.0, 900.0]))
@settings(max_examples=10)
def test_never_more_flips_than_allowed_and_always_a_reason(
    parts: list[tuple[float, float]], most: int, ngram: float, dwell_s: float
) -> None:
    rules = replace(SETTINGS, flips_per_day=most, dwell_s=dwell_s, probe_first_s=120.0, probe_most_s=300.0)
    life = Life(stepwise(parts), ngram, rules).until(1.2 * 86_400.0)
    flips = [at for at, d in life.decisions if d.act is Act.SWITCH]
    assert flips, "there is something to limit"
    for at in flips:
        assert sum(1 for other in flips if at <= other < at + 86_400.0) <= most
    for _, decision in life.decisions:
        assert any(letter.isdigit() for letter in decision.reason) or "time to see" in decision.reason, decision


LONGEST_S = (
    SETTINGS.dwell_s + SETTINGS.probe_most_s + SETTINGS.probe_wins * (SETTINGS.probe_first_s + SETTINGS.probe_s)
)
"""From a draft that is good again to home: the least stay, the longest wait, and as many probes as must pay."""


@given(spans)
@settings(max_examples=15)
def test_it_comes_home_once_the_draft_is_good_for_good(parts: list[tuple[float, float]]) -> None:
    """In time, unless the day's switches are spent; then it says so, and comes home once somebody has looked."""
    end = sum(length for length, _ in parts)
    life = Life(stepwise([*parts, (1e9, 1.8)])).until(end)
    life.until(end + LONGEST_S)
    if life.state.level is not Level.DRAFT:
        assert life.state.latched
        latched = max(at for at, d in life.decisions if d.act is Act.LATCH)
        recent = [at for at, d in life.decisions if d.act is Act.SWITCH and latched - 86_400.0 < at <= latched]
        assert len(recent) >= SETTINGS.flips_per_day - 1
        life.state = unlatch(life.state)
        life.until(life.now + LONGEST_S)
    assert life.state.level is Level.DRAFT


@given(spans, st.sampled_from([0.9, 1.2]))
@settings(max_examples=15)
def test_loss_is_bounded_against_the_best_fixed_choice_in_hindsight(
    parts: list[tuple[float, float]], ngram: float
) -> None:
    """At most twice the loss of the best level kept all the time, plus a sum for each change of the drafter.

    The sum: what is lost before it is left (a switch's cost, the least stay, two rounds), the switch and the one
    back, and what is lost on a fallback until probes have found out that the drafter is good again. It holds
    without the first part, too: against knowing the future. The limit of switches is out of the way: what it costs
    is its purpose.
    """
    horizon = 2 * 86_400.0
    draft = stepwise(parts)
    life = Life(draft, ngram, replace(SETTINGS, flips_per_day=1000)).until(horizon)
    rounds = [ROUND_S * (n + 1) for n in range(int(horizon / ROUND_S))]
    best = [max(draft(at), ngram, 1.0) for at in rounds]
    fixed = min(
        sum(ROUND_S * (1.0 - draft(at) / top) for at, top in zip(rounds, best, strict=True)),
        sum(ROUND_S * (1.0 - ngram / top) for top in best),
        sum(ROUND_S * (1.0 - 1.0 / top) for top in best),
    )
    worst = 1.0 - min(1.0, *(speed for _, speed in parts)) / max(ngram, 1.0)
    away = 1.0 - max(ngram, 1.0) / 1.8
    leaving = SETTINGS.switch_cost_s + (SETTINGS.dwell_s + 2.0 * ROUND_S) * worst
    changes = len(parts) * (leaving + 2.0 * SETTINGS.switch_cost_s + LONGEST_S * away)
    assert life.lost_s <= 2.0 * fixed + changes
    assert life.lost_s <= changes


UNKNOWN: dict[str, dict[str, Any]] = {
    "old": {"measured_at": 0.0},
    "never measured": {"measured_at": None},
    "nothing known": {"speedup": {}},
    "too little traffic": {"effective_drafts": 29.0},
    "rollout": {"rollout": True},
    "scaling": {"scaling": True},
}


@given(st.lists(st.tuples(st.sampled_from([*UNKNOWN, "known"]), st.sampled_from([0.3, 1.0, 1.8])), max_size=60))
@settings(max_examples=40)
def test_nothing_is_ever_done_on_what_is_unknown(rounds: list[tuple[str, float]]) -> None:
    """Whatever went before, at home and away, in a probe or not: no switch and no new probe; a probe is ended."""
    quick = replace(SETTINGS, dwell_s=0.0, switch_cost_s=0.0, probe_first_s=60.0, flips_per_day=100)
    state = begin(quick, 0.0)
    for step, (unknown, draft) in enumerate(rounds, start=1):
        now = 1000.0 * step
        probe = around(draft) if state.probe_began is not None else None
        inputs = replace(told(now, draft, probe=probe), **UNKNOWN.get(unknown, {}))
        after, decision = decide(state, inputs, quick)
        if unknown != "known":
            assert after.level is state.level
            assert after.flips == state.flips
            assert after.probe_began is None
            assert decision.act is (Act.STAY if state.probe_began is None else Act.END_PROBE)
        state = after


def test_memory_survives_json() -> None:
    life = Life(lambda now: 0.5 if now > 3600.0 else 1.8).until(20_000.0)
    assert FallbackState.from_json(life.state.as_json()) == life.state
    with pytest.raises(ValueError, match="not a state"):
        FallbackState.from_json({"level": "draft"})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"levels": (Level.DRAFT,)}, "two or more"),
        ({"levels": (Level.OFF, Level.DRAFT)}, "in the order"),
        ({"margin": 0.9}, "margin"),
        ({"flips_per_day": 1}, "flips_per_day"),
        ({"dwell_s": -1.0}, "negative"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(SETTINGS, **changes)  # type: ignore[arg-type]
