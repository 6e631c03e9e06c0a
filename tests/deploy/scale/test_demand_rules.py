from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from alerts.promtool_run import PROMTOOLS
from deploy.scale.promtool_rules import SETTINGS, promtool_says, write_rules
from specwatch_alerts.origin import Origin
from specwatch_deploy.scale.demand_rules import DEMAND, FREED, PART, demand_query
from tools.tool_paths import find_tool

OWN = '{namespace="llm", model="m"}'
ROUND = f"round({DEMAND}, 0.001)"


def engine(pod: str, *, model: str = "m", namespace: str = "llm", **values: str) -> dict[str, str]:
    """A pod's series; 3 requests a second that take 4 s each unless said otherwise."""
    own = f'namespace="{namespace}",pod="{pod}",instance="{pod}:9477",model="{model}",engine="0"'
    usual = {
        "specwatch_requests_running": "12x120",
        "specwatch_requests_waiting": "0x120",
        "specwatch_kv_cache_usage_ratio": "0.1x120",
        "specwatch_requests_total": "0+45x120",
        "specwatch_engine_e2e_latency_seconds_sum": "0+180x120",
        "specwatch_engine_e2e_latency_seconds_count": "0+45x120",
        "specwatch_engine_queue_wait_seconds_sum": "0x120",
        "specwatch_engine_queue_wait_seconds_count": "0+45x120",
        "specwatch_generation_tokens_total": "0+9000x120",
        "specwatch_drafts_total": "0+3000x120",
        "specwatch_accepted_tokens_total": "0+6000x120",
    }
    names = {name.removeprefix("specwatch_"): name for name in usual}
    usual |= {names.get(key, f"specwatch_{key}"): value for key, value in values.items()}
    labels = {
        "specwatch_requests_total": ',outcome="stop"',
        "specwatch_payoff_speedup_ratio": ',bound="upper",batch="16"',
    }
    return {f"{name}{{{own}{labels.get(name, '')}}}": value for name, value in usual.items() if value}


IDLE = {
    "requests_running": "0x120",
    "requests_total": "45x120",
    "engine_e2e_latency_seconds_sum": "180x120",
    "engine_e2e_latency_seconds_count": "45x120",
    "engine_queue_wait_seconds_count": "45x120",
    "generation_tokens_total": "9000x120",
    "drafts_total": "3000x120",
    "accepted_tokens_total": "6000x120",
    "kv_cache_usage_ratio": "0x120",
}


def test_a_steady_load_is_arrivals_times_service_time_over_what_a_pod_carries(tmp_path: Path) -> None:
    assert not promtool_says(tmp_path, engine("a"), {ROUND: [(OWN, 1.0)]})


def test_idle_is_an_explicit_zero(tmp_path: Path) -> None:
    assert not promtool_says(tmp_path, engine("a", **IDLE), {DEMAND: [(DEMAND + OWN, 0.0)]})


def test_an_engine_that_never_had_a_request_is_zero_too(tmp_path: Path) -> None:
    fresh = dict.fromkeys(IDLE, "0x120")
    assert not promtool_says(tmp_path, engine("a", **fresh), {DEMAND: [(DEMAND + OWN, 0.0)]})


@pytest.mark.parametrize("at", ["10m15s", "11m", "15m"])
def test_targets_lost_is_no_sample_at_once(tmp_path: Path, at: str) -> None:
    lost = {
        name: values.split("x")[0] + "x40 stale" for name, values in engine("a").items()
    }  # 41 samples: until 10 minutes
    assert not promtool_says(tmp_path, lost, {DEMAND: [], demand_query(SETTINGS): []}, at=at)


def test_one_element_for_pods_ranks_replica_sets_and_models(tmp_path: Path) -> None:
    series = engine("old-1") | engine("new-1") | engine("other", model="big") | engine("far", namespace="dev")
    series |= {name.replace('engine="0"', 'engine="1"'): values for name, values in engine("new-1").items()}
    assert not promtool_says(
        tmp_path,
        series,
        {
            ROUND: [(OWN, 3.0), ('{namespace="llm", model="big"}', 1.0)],
            f"round({demand_query(SETTINGS)}, 0.001)": [("{}", 3.0)],
        },
        settings=(SETTINGS, replace(SETTINGS, model="big")),
    )


def test_load_on_another_model_or_namespace_changes_nothing(tmp_path: Path) -> None:
    busy = {"requests_waiting": "500x120", "request_oldest_waiting_seconds": "300x120"}
    series = engine("a") | engine("b", model="big", **busy) | engine("c", namespace="dev", **busy)
    assert not promtool_says(tmp_path, series, {ROUND: [(OWN, 1.0)]})


WAIT_PART = f'{OWN[:-1]}, part="wait"}}'


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        pytest.param("1", 1.083, id="one waits: slots for what is in flight"),
        pytest.param("6", 1.5, id="a short queue, likewise"),
        pytest.param("100", 4.0, id="a long one: four times the pods, no more"),
        pytest.param("1e9", 4.0, id="any"),
    ],
)
def test_a_queue_wait_asks_for_slots_up_to_four_times_the_pods(
    tmp_path: Path, waiting: str, expected: float
) -> None:
    queue = engine("a", requests_waiting=f"0x55 {waiting}x60")
    assert not promtool_says(tmp_path, queue, {f'round({PART}{{part="wait"}}, 0.001)': [(WAIT_PART, expected)]})


def test_no_queue_asks_for_no_more_than_what_runs(tmp_path: Path) -> None:
    full = engine("a", requests_running="16x120")
    assert not promtool_says(tmp_path, full, {f'round({PART}{{part="wait"}}, 0.001)': [(WAIT_PART, 1.0)]})


def test_pods_that_have_just_come_do_not_multiply_the_wait(tmp_path: Path) -> None:
    """They have not had the time to shorten the queue."""
    queue = engine("a", requests_waiting="0x40 500x80") | {
        name: f"_x56 {values}" for name, values in engine("new", requests_waiting="500x120").items()
    }
    assert not promtool_says(tmp_path, queue, {f'{PART}{{part="wait"}}': [(PART + WAIT_PART, 4.0)]}, at="14m30s")
    assert not promtool_says(tmp_path, queue, {f'{PART}{{part="wait"}}': [(PART + WAIT_PART, 8.0)]}, at="16m")


def test_the_age_of_the_oldest_request_is_a_wait_as_well(tmp_path: Path) -> None:
    """24 wait at 16 a second: 1.5 s, so up to 2.5 times the pods; the oldest is older than that."""
    quick = engine(
        "a",
        requests_waiting="24x120",
        requests_total="0+240x120",
        engine_e2e_latency_seconds_count="0+240x120",
        engine_queue_wait_seconds_count="0+240x120",
    )
    assert not promtool_says(tmp_path, quick, {ROUND: [(OWN, 2.5)]})
    quick |= {'specwatch_request_oldest_waiting_seconds{namespace="llm",pod="a",traffic_class="chat"}': "4x120"}
    assert not promtool_says(tmp_path, quick, {ROUND: [(OWN, 3.0)]})


def test_a_full_kv_cache_is_demand(tmp_path: Path) -> None:
    full = engine("a", kv_cache_usage_ratio="0.99x120") | engine("b", kv_cache_usage_ratio="0.99x120")
    quiet = {
        name: ("0x120" if "running" in name else "0x120" if "kv" not in name else values)
        for name, values in full.items()
    }
    assert not promtool_says(tmp_path, quiet, {ROUND: [(OWN, 2.2)]})


def test_demand_rises_within_a_minute_when_acceptance_halves(tmp_path: Path) -> None:
    """The service time of finished requests is still the old one."""
    drift = engine("a", accepted_tokens_total="0+6000x60 361500+1500x59")
    assert not promtool_says(
        tmp_path, drift, {f"({DEMAND} > bool 1.7) * ({DEMAND} <= bool 2.01)": [(OWN, 1.0)]}, at="16m"
    )


def test_drafts_that_stop_while_tokens_flow_are_a_length_of_one(tmp_path: Path) -> None:
    off = engine("a", accepted_tokens_total="0+6000x60 360000x60", drafts_total="0+3000x60 180000x60")
    assert not promtool_says(tmp_path, off, {ROUND: [(OWN, 2.5)]}, at="16m")


def test_better_acceptance_lowers_nothing_ahead_of_time(tmp_path: Path) -> None:
    better = engine("a", accepted_tokens_total="0+1500x60 97500+7500x60")
    assert not promtool_says(tmp_path, better, {ROUND: [(OWN, 1.0)]}, at="16m")


def test_refused_requests_are_load(tmp_path: Path) -> None:
    refused = engine("a") | {
        'specwatch_requests_rejected_total{namespace="llm",pod="a",model="m",engine="0",reason="queue"}': "0+45x120"
    }
    assert not promtool_says(tmp_path, refused, {ROUND: [(OWN, 2.0)]})


def test_a_restart_of_an_engine_is_no_spike(tmp_path: Path) -> None:
    restarted = engine("a") | engine("b")
    for name, values in engine("c").items():
        restarted[name] = values.replace("x120", "x40").replace("0.1x40", "0.1x120") + (
            " 0+45x80"
            if "requests_total" in name or "count" in name
            else " 0x80"
            if "_sum" not in name
            else " 0+180x80"
        )
    assert not promtool_says(
        tmp_path, restarted, {f"max_over_time({DEMAND}[10m]) < bool 3.2": [(OWN, 1.0)]}, at="15m"
    )


@pytest.mark.parametrize("value", ["1e9", "NaN", "+Inf", "-5"])
def test_nonsense_from_an_engine_cannot_ask_for_many_pods_by_its_wait(tmp_path: Path, value: str) -> None:
    odd = engine("a") | {
        'specwatch_request_oldest_waiting_seconds{namespace="llm",pod="a",traffic_class="chat"}': " ".join(
            [value] * 121
        )
    }
    odd |= {name: "100x120" for name in odd if "requests_waiting{" in name}
    assert not promtool_says(tmp_path, odd, {f"{DEMAND} <= bool 4.0": [(OWN, 1.0)]})


def test_cutting_speculation_frees_what_it_slows(tmp_path: Path) -> None:
    burning = engine("a", payoff_speedup_ratio="0.6x120", requests_total="0+150x120")
    assert not promtool_says(tmp_path, burning, {f"round({FREED}, 0.01)": [(OWN, 1.33)]})
    paying = engine("a", payoff_speedup_ratio="1.4x120", requests_total="0+150x120")
    assert not promtool_says(tmp_path, paying, {FREED: [(FREED + OWN, 0.0)]})


VLLM: Mapping[str, str] = {
    "vllm:num_requests_running": "12x120",
    "vllm:num_requests_waiting": "0x120",
    "vllm:kv_cache_usage_perc": "0.1x120",
    "vllm:request_success_total": "0+45x120",
    "vllm:request_inference_time_seconds_sum": "0+180x120",
    "vllm:request_inference_time_seconds_count": "0+45x120",
}
SGLANG: Mapping[str, str] = {
    "sglang:num_running_reqs": "12x120",
    "sglang:num_queue_reqs": "0x120",
    "sglang:token_usage": "0.1x120",
    "sglang:num_requests_total": "0+45x120",
    "sglang:e2e_request_latency_seconds_sum": "0+225x120",
    "sglang:e2e_request_latency_seconds_count": "0+45x120",
    "sglang:queue_time_seconds_sum": "0+45x120",
    "sglang:queue_time_seconds_count": "0+45x120",
}


@pytest.mark.parametrize(("origin", "names"), [(Origin.VLLM, VLLM), (Origin.SGLANG, SGLANG)])
def test_bare_engines_give_the_same_demand(tmp_path: Path, origin: Origin, names: Mapping[str, str]) -> None:
    series = {
        f'{name}{{namespace="llm",pod="{pod}",instance="{pod}:8000",model_name="m"}}': values
        for name, values in names.items()
        for pod in ("a", "b")
    }
    assert not promtool_says(tmp_path, series, {ROUND: [(OWN, 2.0)]}, origin=origin)
    idle = dict.fromkeys(series, "0x120")
    assert not promtool_says(tmp_path, idle, {DEMAND: [(DEMAND + OWN, 0.0)]}, origin=origin)
    lost = {name: f"{values.split('x')[0]}x40 stale" for name, values in series.items()}
    assert not promtool_says(tmp_path, lost, {DEMAND: []}, origin=origin)


def test_tensor_parallel_ranks_repeat_their_replica(tmp_path: Path) -> None:
    own = 'namespace="llm",pod="a",instance="a:30000",model_name="m",dp_rank="0"'
    series = {
        f'{name}{{{own},tp_rank="{rank}"}}': values
        for name, values in SGLANG.items()
        for rank in ((0, 1) if "num_r" in name or "usage" in name else (0,))
        if "num_requests" not in name or rank == 0
    }
    assert not promtool_says(tmp_path, series, {ROUND: [(OWN, 1.0)]}, origin=Origin.SGLANG)


def test_verifications_without_a_counted_token_change_nothing(tmp_path: Path) -> None:
    """SGLang counts tokens when requests finish, verifications before that."""
    counted = {"sglang:generation_tokens_total": "0x120", "sglang:spec_verify_calls_total": "0+3000x120"}
    series = {
        f'{name}{{namespace="llm",pod="a",instance="a:1",model_name="m"}}': values
        for name, values in {**SGLANG, **counted}.items()
    }
    assert not promtool_says(tmp_path, series, {ROUND: [(OWN, 1.0)]}, origin=Origin.SGLANG)


@pytest.mark.parametrize("origin", list(Origin))
def test_pods_that_two_monitors_scrape_count_once(tmp_path: Path, origin: Origin) -> None:
    queue = {"requests_waiting": "6x120", "requests_rejected_total": "0+45x120"}
    series = engine("a", **queue) | engine("b", **queue)
    for names in (VLLM, SGLANG):
        series |= {
            f'{name}{{namespace="llm",pod="a",instance="a:1",model_name="m"}}': v for name, v in names.items()
        }
    once = {name.replace("}", ',job="llm/one",endpoint="metrics"}'): values for name, values in series.items()}
    both = once | {name.replace("llm/one", "llm/two"): values for name, values in once.items()}
    both |= {name.replace("}", ',job="svc",service="vllm",endpoint="http"}'): v for name, v in series.items()}
    part: Mapping[str, list[tuple[str, float]]] = {
        "round(sum by (part) (specwatch:scale_demand_part:replicas), 0.001)": []
    }
    said = promtool_says(tmp_path, once, part, origin=origin)
    assert "part=" in said
    assert promtool_says(tmp_path, both, part, origin=origin) == said


@pytest.mark.parametrize("origin", list(Origin))
@pytest.mark.parametrize("model", ["m", 'org/odd "name" \\ here', "{{ $labels }}"])
def test_promtool_takes_the_rules(tmp_path: Path, origin: Origin, model: str) -> None:
    rules = write_rules(tmp_path, [replace(SETTINGS, model=model)], origin)
    for promtool in PROMTOOLS:
        done = subprocess.run(
            [find_tool(promtool), "check", "rules", rules], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert yaml.safe_load(rules.read_text())["groups"][0]["rules"][0]["labels"]["model"] == model
