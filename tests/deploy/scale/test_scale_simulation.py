from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deploy.scale.promtool_rules import promtool_says
from specwatch_deploy.scale.demand_rules import DEMAND
from specwatch_deploy.scale.gpu_behavior import gpu_behavior
from specwatch_deploy.scale.hpa import Bounds
from specwatch_deploy.scale.simulation.clairvoyant import plan_cost
from specwatch_deploy.scale.simulation.comparison import Comparison, Result, run_one, run_world
from specwatch_deploy.scale.simulation.contenders import PEERS, SimulationSettings, ours
from specwatch_deploy.scale.simulation.engine_counters import EngineCounters
from specwatch_deploy.scale.simulation.engine_speed import LENGTH, EngineSpeed
from specwatch_deploy.scale.simulation.hpa_contender import HpaContender
from specwatch_deploy.scale.simulation.samples import Sample, quantile
from specwatch_deploy.scale.simulation.simulated_pod import SimulatedPod
from specwatch_deploy.scale.simulation.simulated_request import SimulatedRequest
from specwatch_deploy.scale.simulation.traces import TRACES, trace_named
from specwatch_deploy.scale.simulation.traffic import Span, Trace, arrivals
from specwatch_deploy.scale.simulation.view import View

SMALL = SimulationSettings(speed=EngineSpeed.of_profile(8), bounds=Bounds(1, 10))
RATE = 0.7
"""One pod of 8 slots serves it."""


def stepped(*points: tuple[float, float], seconds: float = 1800.0, **more: Any) -> Trace:
    def rate(at: float) -> float:
        return next(value for start, value in reversed(points) if start <= at)

    return replace(Trace("small", "small", seconds, rate), **more)


def constant(rate: float, **more: Any) -> Trace:
    return stepped((0.0, rate), **more)


def test_a_request_alone_takes_its_tokens_at_the_pace_of_a_batch_of_one() -> None:
    speed, counters = EngineSpeed.of_profile(8), EngineCounters()
    pod, request = SimulatedPod(0, (0.0, 0.0), speed, LENGTH, counters), SimulatedRequest(10.0, 100, 269)
    pod.submit(10.0, request)
    end = pod.next_end(10.0)
    assert end == pytest.approx(10.0 + 100 * speed.prefill + 100 * speed.steps[1])
    pod.finish(end)
    assert request.ended == end
    assert counters.finished == 1
    assert counters.tokens / counters.steps == pytest.approx(LENGTH)


def test_a_full_batch_gives_the_throughput_that_was_measured() -> None:
    """1,687.9 tokens per second at batch 32 in a closed loop of 256 and 192 tokens."""
    speed, counters = EngineSpeed.of_profile(32), EngineCounters()
    pod, now = SimulatedPod(0, (0.0, 0.0), speed, LENGTH, counters), 0.0
    for _ in range(2000):
        while pod.in_flight < 32:
            pod.submit(now, SimulatedRequest(now, 256, 192))
        now = pod.next_end(now)
        pod.finish(now)
    assert counters.tokens / now == pytest.approx(1687.9, rel=0.03)


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), crash=st.booleans())
def test_no_request_is_lost_but_by_a_crash_and_none_is_served_before_it_came(seed: int, crash: bool) -> None:
    trace = constant(1.0, seconds=900.0, crashes=(300.0, 330.0) if crash else ())
    ran = run_world(trace, replace(SMALL, seed=seed), ours(SMALL))
    assert all(request.started >= request.arrived for request in ran.requests)
    assert all(request.ended > request.started for request in ran.requests if request.ended < math.inf)
    assert crash or not any(request.lost for request in ran.requests)
    assert all(1 <= replicas <= 10 for _, replicas, _, _ in ran.rounds)


def test_runs_are_the_same_again() -> None:
    trace = constant(RATE, seconds=900.0)
    assert run_one(trace, SMALL, ours(SMALL)) == run_one(trace, SMALL, ours(SMALL))


def test_three_times_the_load_brings_what_is_needed_and_at_most_four_times_the_pods() -> None:
    wide = replace(SMALL, bounds=Bounds(1, 100))
    found = run_one(stepped((0.0, RATE), (600.0, 3.0 * RATE)), wide, ours(wide))
    before = max(replicas for at, replicas, _, _ in found.rounds if at < 600.0)
    soon = [replicas for at, replicas, _, _ in found.rounds if 600.0 <= at < 690.0]
    assert 3 <= max(soon) <= 4 * before


def test_constant_load_changes_replicas_at_most_once_per_window_of_scaling_in() -> None:
    found = run_one(constant(4.0, seconds=3600.0), SMALL, ours(SMALL))
    assert found.score.changes <= 3300.0 / gpu_behavior(SMALL.start_s).down.window_s
    assert found.score.most - found.score.least <= 3


def test_a_drift_raises_the_demand_before_a_burn_alert_of_the_queue_wait_could_fire() -> None:
    """That one needs 14.4 % of five minutes' requests late, and two minutes more."""
    trace = constant(5.0 * RATE, lengths=((900.0, 0.686),))
    contender = ours(SMALL)
    assert isinstance(contender, HpaContender)
    seen: list[tuple[float, float]] = []
    signal = contender.signal

    def watched(view: View) -> list[float]:
        answer = list(signal(view))
        seen.append((view.at, answer[0] if answer else math.nan))
        return answer

    contender.signal = watched
    ran = run_world(trace, SMALL, contender)
    before = max(demand for at, demand in seen if 600.0 < at < 900.0)
    risen = next(at for at, demand in seen if at > 900.0 and demand > 1.1 * before)
    lately = [request for request in ran.requests if risen - 300.0 < request.arrived <= risen]
    late = sum(request.arrived + 1.0 < min(request.started, risen) for request in lately)
    assert risen < 960.0
    assert late / len(lately) < 0.144


def test_an_outage_of_prometheus_takes_no_pod_away_and_a_null_as_zero_does() -> None:
    trace = constant(5.0 * RATE, outage=Span(700.0, 1600.0), seconds=2400.0)

    def during(result: Result) -> list[int]:
        return [replicas for at, replicas, _, _ in result.rounds if 715.0 < at < 1600.0]

    found = during(run_one(trace, SMALL, ours(SMALL)))
    assert min(found) == found[0]
    waiting = next(peer for peer in PEERS if peer.name == "waiting count")
    assert min(during(run_one(trace, SMALL, waiting.make(SMALL, 1.0)))) < found[0]


def test_a_crash_loop_is_no_spike() -> None:
    trace = constant(5.0 * RATE, crashes=tuple(600.0 + 120.0 * number for number in range(6)))
    found = run_one(trace, SMALL, ours(SMALL))
    calm = run_one(constant(5.0 * RATE), SMALL, ours(SMALL))
    assert found.score.most <= calm.score.most + 3


def test_the_simulations_demand_is_the_rules(tmp_path: Path) -> None:
    """The same scrapes through promtool and through Python, over a step, its backlog and its end."""
    trace = stepped((0.0, RATE), (600.0, 3.0 * RATE), seconds=1200.0)
    contender = ours(SMALL)
    assert isinstance(contender, HpaContender)
    scrapes: list[Sample] = []
    demands: dict[float, float] = {}
    signal = contender.signal

    def watched(view: View) -> list[float]:
        answer = list(signal(view))
        last = view.samples.last
        assert last is not None
        demands[last.at] = answer[0]
        return answer

    contender.signal = watched
    recorded = run_world_with_scrapes(trace, contender, scrapes)
    assert recorded > 60
    series = as_series(scrapes)
    demand = replace(SMALL.demand(), namespace="llm", model="m")
    for at in (400.0, 630.0, 660.0, 690.0, 750.0, 900.0, 1100.0):
        moment = max(when for when in demands if when <= at)
        expected = demands[moment]
        near = f"abs({DEMAND} - {expected:.4f}) <= bool {0.06 * expected + 0.05:.4f}"
        wrong = promtool_says(
            tmp_path,
            series,
            {near: [('{namespace="llm", model="m"}', 1.0)]},
            at=f"{int(moment)}s",
            settings=(demand,),
        )
        assert not wrong, f"{moment}: {expected} {wrong}"


def run_world_with_scrapes(trace: Trace, contender: HpaContender, scrapes: list[Sample]) -> int:
    signal = contender.signal

    def kept(view: View) -> list[float]:
        last = view.samples.last
        known = {sample.at for sample in scrapes}
        scrapes.extend(sample for sample in view.samples.window(view.at, 1e9) if sample.at not in known)
        assert last is not None
        return list(signal(view))

    contender.signal = kept
    run_world(trace, SMALL, contender)
    return len(scrapes)


def as_series(scrapes: list[Sample]) -> dict[str, str]:
    """The scrapes as the sidecar's series; counters of all pods under one."""
    own = 'namespace="llm",model="m",engine="0"'

    def all_pods(of: str) -> str:
        return " ".join(f"{getattr(sample.counters, of):.6g}" for sample in scrapes)

    total = f'{own},pod="all",instance="all"'
    found = {
        f'specwatch_requests_total{{{total},outcome="stop"}}': all_pods("finished"),
        f"specwatch_engine_e2e_latency_seconds_count{{{total}}}": all_pods("finished"),
        f"specwatch_engine_e2e_latency_seconds_sum{{{total}}}": " ".join(
            f"{sample.counters.inference_s + sample.counters.wait_s:.8g}" for sample in scrapes
        ),
        f"specwatch_engine_queue_wait_seconds_count{{{total}}}": all_pods("finished"),
        f"specwatch_engine_queue_wait_seconds_sum{{{total}}}": " ".join(
            f"{sample.counters.wait_s:.8g}" for sample in scrapes
        ),
        f"specwatch_drafts_total{{{total}}}": " ".join(f"{sample.counters.steps:.8g}" for sample in scrapes),
        f"specwatch_accepted_tokens_total{{{total}}}": " ".join(
            f"{sample.counters.tokens - sample.counters.steps:.8g}" for sample in scrapes
        ),
    }
    for pod in sorted({pod for sample in scrapes for pod in sample.running}):
        labels = f'{own},pod="{pod}",instance="{pod}"'
        for name, of in (("running", "running"), ("waiting", "waiting")):
            values = [getattr(sample, of).get(pod) for sample in scrapes]
            found[f"specwatch_requests_{name}{{{labels}}}"] = gaps(values)
        oldest = [sample.oldest if sample.running.get(pod) is not None else None for sample in scrapes]
        found[f'specwatch_request_oldest_waiting_seconds{{namespace="llm",pod="{pod}",traffic_class="c"}}'] = (
            " ".join("_" if value is None else f"{value:.4g}" for value in oldest)
        )
    return found


def gaps(values: list[int | None]) -> str:
    """Values, `_` before a pod's first and a stale marker behind its last."""
    words, there = [], False
    for value in values:
        words.append("stale" if value is None and there else "_" if value is None else str(value))
        there = value is not None
    return " ".join(words)


def test_a_quantile_of_buckets_is_as_prometheus_computes_it() -> None:
    def sample(at: float, counts: list[int]) -> Sample:
        return Sample(at, {}, {}, 0.0, 0.0, EngineCounters(waits=counts))

    window = [sample(0.0, [0, 0, 0]), sample(15.0, [10, 10, 0])]
    assert quantile(0.5, window, lambda found: found.waits, (1.0, 2.0)) == pytest.approx(1.0)
    assert quantile(0.75, window, lambda found: found.waits, (1.0, 2.0)) == pytest.approx(1.5)
    assert quantile(0.5, window[:1], lambda found: found.waits, (1.0, 2.0)) is None
    assert quantile(0.99, [window[0], sample(15.0, [0, 0, 4])], lambda found: found.waits, (1.0, 2.0)) == 2.0


def test_two_plans_may_share_the_time() -> None:
    points = [(0.9, 100.0), (1.0, 200.0)]
    assert plan_cost(points, 0.95) == pytest.approx(150.0)
    assert plan_cost(points, 0.8) == 100.0
    assert plan_cost(points[:1], 0.95) is None


def test_arrivals_follow_the_rate() -> None:
    trace = stepped((0.0, 1.0), (900.0, 3.0))
    counts = [sum(low <= found.arrived < low + 900.0 for found in arrivals(trace, 7)) for low in (0.0, 900.0)]
    assert counts == pytest.approx([900, 2700], rel=0.1)


def test_traces_have_names_of_their_own_and_are_found_by_them() -> None:
    assert [trace_named(trace.name) for trace in TRACES] == list(TRACES)
    assert trace_named("nothing") is None


def test_the_best_peer_costs_no_more() -> None:
    def result(name: str, cost: float, attained: float) -> Result:
        score = run_one(constant(RATE, seconds=600.0), SMALL, ours(SMALL)).score
        return Result(name, replace(score, pod_seconds=cost, attained=attained), ())

    found = Comparison(TRACES[0], result("o", 100, 0.9), (result("a", 101, 1.0), result("b", 99, 0.8)), ())
    assert found.best_peer is not None
    assert found.best_peer.name == "b"
