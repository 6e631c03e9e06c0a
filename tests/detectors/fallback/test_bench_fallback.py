"""The simulation behind `make bench-fallback`: its parts by their laws, and a few days of it as a whole."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_fallback.clairvoyant import Clairvoyant, best_schedule
from bench_fallback.contender import Contender, Kind, Order, Seen, View
from bench_fallback.fixed_rules import RETRY_S, FixedThreshold, Nothing, OneWayGate
from bench_fallback.fleet import Fleet
from bench_fallback.incident import Drift, Month, Span, draw_month
from bench_fallback.kind import KINDS, OUTPUT_TOKENS
from bench_fallback.lever import IN_ENGINE, LEVERS, Lever
from bench_fallback.month_run import Log, run_month
from bench_fallback.ours import Ours
from bench_fallback.plan import PODS, QUICK, ROUND_S, ROUND_TICKS, TICK_S
from bench_fallback.report import NAMES, report
from bench_fallback.request_level import Traffic, simulate
from bench_fallback.run import read_arguments
from bench_fallback.score import Score, lost_seconds, score
from bench_fallback.slo import normal_below
from bench_fallback.steps import DRAFT, NGRAM, OFF, SIZES, Steps, batch_for, profile_steps, step_at
from bench_fallback.table import spread
from bench_fallback.world import World, make_world
from specwatch_detectors.payoff.profile_file import load_profile

POOLS = LEVERS["pools"]
DAYS = 1
HOUR = 3600.0
DAY = Month(
    (Drift("harmless", 4 * HOUR, 2 * HOUR, 0.97), Drift("harmful", 9 * HOUR, 3 * HOUR, 0.4)),
    mix_shift=Span(20 * HOUR, HOUR),
    outages=(Span(17 * HOUR, HOUR),),
    rollouts=(),
)
ROW = (0.024, 0.035, 0.040)
PLAIN = (0.021, 0.0215, 0.0273)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(1, DAYS, DAY)


@pytest.fixture(scope="module")
def scores(world: World) -> dict[str, tuple[Log, Score]]:
    everybody: Sequence[Contender] = (
        Nothing(),
        OneWayGate(),
        FixedThreshold(POOLS),
        FixedThreshold(POOLS, NGRAM),
        Ours(POOLS),
        Clairvoyant.of(world, POOLS),
    )
    logs = {each.name: run_month(world, each, 1) for each in everybody}
    return {name: (log, score(world, log)) for name, log in logs.items()}


@given(st.floats(0.01, 32.0), st.sampled_from([ROW, PLAIN]))
def test_the_batch_of_a_pace_is_the_inverse_of_pace_of_a_batch(
    batch: float, row: tuple[float, float, float]
) -> None:
    assert batch_for(batch / step_at(batch, row), row) == pytest.approx(batch, rel=1e-9)


def test_step_times_are_the_profiles() -> None:
    steps = profile_steps(load_profile("llama-70b-fp8-h200"))
    assert isinstance(steps, Steps)
    assert steps.table[DRAFT].tolist() == [0.024343, 0.035125, 0.039521]
    assert steps.table[OFF].tolist() == [0.020743, 0.021539, 0.027326]


def test_the_usual_mix_accepts_what_the_profiles_runs_did(world: World) -> None:
    usual = slice(0, 1440)
    assert world.chain[DRAFT][usual].sum(axis=1).mean() == pytest.approx(1.69, abs=0.1)
    assert world.chain[NGRAM][usual].sum(axis=1).mean() == pytest.approx(0.85, abs=0.1)
    assert sum(kind.share for kind in KINDS) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("row", "length", "per_pod", "tolerance"),
    [(ROW, 2.69, 3.0, 0.02), (ROW, 2.69, 5.0, 0.02), (ROW, 1.9, 5.0, 0.03), (PLAIN, 1.0, 3.5, 0.05)],
)
def test_the_fleet_by_ticks_agrees_with_request_by_request(
    row: tuple[float, float, float], length: float, per_pod: float, tolerance: float
) -> None:
    pods, prefill, spread, seconds = 6, 1e-4, 0.15 * (length - 1.0) + 0.02, 400.0
    traffic = Traffic(per_pod * pods, np.ones(1), np.array([length]), np.array([spread]), seconds)
    by_request = simulate(traffic, pods, row, prefill, np.random.default_rng(1))
    fleet = Fleet(replace(IN_ENGINE), prefill, pods=[pods, 0, 0])
    steps = OUTPUT_TOKENS / length
    rng, batches, good = np.random.default_rng(2), [], []
    for _ in range(40):
        arrivals = float(rng.poisson(traffic.rate * TICK_S))
        served = fleet.tick(arrivals, (steps,) * 3, (row,) * 3, rollout=False)[DRAFT]
        assert served is not None
        batches.append(served.batch)
        tail = statistics.NormalDist(length, spread).cdf(served.step_s / 0.040)
        good.append((1.0 - tail) * (served.wait_s < 0.8))
    assert statistics.mean(batches) == pytest.approx(by_request.batch, rel=0.07)
    assert statistics.mean(good) == pytest.approx(by_request.good, abs=tolerance)


actions = st.lists(
    st.tuples(st.sampled_from(["move", "probe", "end"]), st.integers(0, 2), st.booleans(), st.integers(1, 40)),
    max_size=25,
)


@given(actions, st.sampled_from(list(LEVERS.values())))
@settings(max_examples=60)
def test_no_pod_is_lost_or_made_and_all_arrive(doings: list[tuple[str, int, bool, int]], lever: Lever) -> None:
    fleet, now = Fleet(lever, 1e-4), 0.0
    for what, level, staged, ticks in doings:
        if fleet.settled and what == "move":
            fleet.move(level, now, staged=staged)
        elif fleet.settled and what == "probe" and fleet.goal != DRAFT and not fleet.probing:
            fleet.probe(now)
        elif what == "end" and fleet.probing:
            fleet.end_probe(now)
        for _ in range(ticks):
            now += TICK_S
            fleet.advance(now)
            assert sum(fleet.pods) + fleet.out == PODS
            assert min(fleet.pods) >= 0
    if fleet.probing:
        fleet.end_probe(now)
    for _ in range(400):
        now += TICK_S
        fleet.advance(now)
    assert fleet.pods[fleet.goal] == PODS


@given(st.lists(st.floats(0.0, 2500.0), min_size=1, max_size=60))
def test_every_request_is_served_refused_or_waits(arrivals: list[float]) -> None:
    fleet = Fleet(POOLS, 1e-4)
    came = left = 0.0
    for count in arrivals:
        served = fleet.tick(count, (71.0, 100.0, 192.0), (ROW, ROW, PLAIN), rollout=False)[DRAFT]
        assert served is not None
        came += count
        left += served.requests + served.refused
        assert came == pytest.approx(left + served.queue)
        assert served.batch <= SIZES[-1]


def test_a_staged_movement_goes_by_one_five_and_all() -> None:
    fleet, seen = Fleet(POOLS, 1e-4), []
    fleet.move(NGRAM, 0.0, staged=True)
    for tick in range(60):
        fleet.advance(tick * float(TICK_S))
        seen.append(fleet.pods[NGRAM])
    assert list(dict.fromkeys(seen)) == [0, 1, 5, 10, 15, 20]
    assert seen.count(1) >= 6  # watched for a minute
    assert fleet.settled


def test_normal_tail() -> None:
    values = np.linspace(-6.0, 6.0, 41)
    exact = [statistics.NormalDist().cdf(value) for value in values.tolist()]
    assert normal_below(values).tolist() == pytest.approx(exact, abs=2e-7)


def test_a_spread_is_students_interval() -> None:
    assert spread([1.0, 2.0, 3.0], 3, " h") == "2.000 ± 2.484 h"
    assert spread([2.0], 1) == "2.0"


def seen(rate: float, requests: float = 1000.0) -> Seen:
    return Seen(1000.0, (1500.0 * rate, 900.0 * rate, 600.0 * rate), 1000.0, requests, 8.0, 1.3, PODS)


def view(now: float, rate: float | None, *, level: int = DRAFT, revision: int = 0) -> View:
    inside: list[Seen | None] = [None, None, None]
    inside[level] = None if rate is None else seen(rate)
    return View(now, 0, tuple(inside), outage=False, rollout=False, adapts=False, revision=revision)


def test_a_threshold_holds_for_five_minutes_and_comes_back_after_an_hour() -> None:
    rule, fleet = FixedThreshold(IN_ENGINE), Fleet(IN_ENGINE, 1e-4)
    orders: list[tuple[float, Order]] = []
    for number in range(1, 200):
        now = number * float(ROUND_S)
        order = rule.round(view(now, 0.5 if number < 10 else 0.1), fleet)
        if order is not None:
            orders.append((now, order))
    assert [order.level for _, order in orders] == [OFF, DRAFT, OFF]
    assert orders[0][0] == 19 * ROUND_S
    assert orders[1][0] - orders[0][0] == RETRY_S


def test_the_gate_trips_once_and_only_a_rollout_arms_it_again() -> None:
    gate, fleet = OneWayGate(), Fleet(IN_ENGINE, 1e-4)
    orders = [gate.round(view(30.0 * n, 0.1), fleet) for n in range(50)]
    found = [order for order in orders if order is not None]
    assert [order.level for order in found] == [OFF]
    again = gate.round(view(2000.0, None, revision=1), fleet)
    assert again is not None
    assert (again.kind, again.level) == (Kind.MOVE, DRAFT)


def test_months_differ_and_fit_into_thirty_days() -> None:
    months = [draw_month(np.random.default_rng(seed)) for seed in range(20)]
    assert len({month.drifts[1].start for month in months}) == 20
    for month in months:
        ends = [drift.end for drift in month.drifts]
        assert all(later.start > end for end, later in zip(ends, month.drifts[1:], strict=False))
        assert ends[-1] < 30 * 86_400.0
        assert len(month.drifts) == 10


def test_who_knows_the_future_switches_where_it_pays_only(world: World) -> None:
    free = best_schedule(world, 0.0)
    lost = 1.0 - world.speedup / world.speedup.max(axis=0)
    by_round = lost.reshape(3, -1, ROUND_TICKS).mean(axis=2)
    chosen = by_round[free, np.arange(by_round.shape[1])]
    assert chosen == pytest.approx(by_round.min(axis=0))
    assert set(best_schedule(world, 1e9).tolist()) == {DRAFT}
    flips = [int(np.abs(np.diff(best_schedule(world, cost))).astype(bool).sum()) for cost in (0.0, 30.0, 300.0)]
    assert flips == sorted(flips, reverse=True)


def test_a_day_with_a_harmless_and_a_harmful_drift(world: World, scores: dict[str, tuple[Log, Score]]) -> None:
    harmless, harmful = scores["specwatch"][1].drifts
    assert not harmless.harmful
    assert harmful.harmful
    assert harmful.acted_s is not None
    assert harmful.acted_s < 1800.0
    assert harmful.returned_s is not None
    lost = {name: lost_seconds(world, log) for name, (log, _) in scores.items()}
    assert lost["clairvoyant"] < lost["specwatch"] < lost["no fallback"] < lost["one-way gate"]
    ours = scores["specwatch"][1]
    assert ours.false_switches <= 1  # to n-gram in the mix shift, by an estimate that it then doubts
    assert ours.lost_in_shift_s < 600.0
    assert ours.latches == 0
    assert scores["no fallback"][1].missed == 1


def test_shares_and_requests_add_up(scores: dict[str, tuple[Log, Score]]) -> None:
    for log, found in scores.values():
        assert log.share.sum(axis=0).max() <= 1.0 + 1e-9
        offered, gone = log.offered.sum(), log.served.sum() + log.refused.sum() + log.queue[:, -1].sum()
        assert gone == pytest.approx(offered, rel=1e-3)
        assert sum(found.causes.values()) == pytest.approx(found.lost_s, abs=1e-6)
        assert found.strict <= found.good <= min(found.ttft, 1.0)


def test_the_report_names_everybody(scores: dict[str, tuple[Log, Score]]) -> None:
    found = {("pools", name): each for name, (_, each) in scores.items()}
    text = report([found, found], replace(QUICK, days=DAYS), 0.1)
    assert all(name in text for name in NAMES)
    assert "nan" not in text
    assert "simulated" in text.lower()
    assert "dummy weights" in text


def test_arguments() -> None:
    plan, chosen = read_arguments(["--quick", "--json", "-"])
    assert plan == QUICK
    assert chosen.json == "-"
    with pytest.raises(SystemExit):
        read_arguments(["--seeds", "0"])
