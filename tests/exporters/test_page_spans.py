"""Two pages of one engine: what happened between them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exporters.page_text import codes, read, vllm
from specwatch_exporters.inspection import Content, InspectionError, inspect

TESTS = Path(__file__).parent.parent


def test_since_gives_increases_and_no_reset() -> None:
    report = read(vllm(110, 330, 215), since=vllm(100, 300, 200))
    (model,) = report["models"]
    assert (model["drafts"], model["draft_tokens"], model["accepted_tokens"]) == (10, 30, 15)
    assert (report["resets"], codes(report)) == (0, set())


def test_since_counts_a_reset_and_never_a_negative() -> None:
    report = read(vllm(10, 30, 20), since=vllm(100, 300, 200))
    (model,) = report["models"]
    assert (model["drafts"], model["accepted_tokens"], report["resets"]) == (10, 20, 1)
    assert "reset" in codes(report)


def test_since_resets_one_engine_of_two() -> None:
    before = vllm(100, 300, 200, engine="0") + vllm(50, 150, 100, engine="1")
    after = vllm(110, 330, 215, engine="0") + vllm(5, 15, 9, engine="1")
    report = read(after, since=before)
    (model,) = report["models"]
    assert (model["drafts"], model["accepted_tokens"], report["resets"]) == (15, 24, 1)


def test_tokens_without_drafts_are_off_and_silence_is_idle() -> None:
    running = read(vllm(100, 300, 200, tokens=900), since=vllm(100, 300, 200, tokens=500))
    assert (running["models"][0]["state"], codes(running)) == ("off", {"not_drafting"})
    assert running["models"][0]["acceptance_rate"] is None
    silent = read(vllm(100, 300, 200, tokens=500), since=vllm(100, 300, 200, tokens=500))
    assert silent["models"][0]["state"] == "idle"


def test_since_of_two_engines_or_the_wrong_way_round_is_refused() -> None:
    sglang = 'sglang:num_running_reqs{model_name="m"} 1\n'
    with pytest.raises(InspectionError, match="not one engine"):
        read(vllm(10, 30, 15), since=sglang)
    start = "process_start_time_seconds 5\n"
    with pytest.raises(InspectionError, match="swap"):
        read(start + vllm(10, 30, 15), since=start + vllm(20, 60, 30))
    with pytest.raises(InspectionError, match="swap"):
        read(
            "process_start_time_seconds 5\n" + vllm(10, 30, 15),
            since="process_start_time_seconds 90\n" + vllm(2, 6, 3),
        )


def test_since_says_when_the_models_differ() -> None:
    report = read(vllm(10, 30, 15).replace('"m"', '"new"'), since=vllm(10, 30, 15))
    assert "models_differ" in codes(report)


def test_replicas_by_a_label_that_no_engine_writes_do_not_restart_each_other() -> None:
    def page(first: int, second: int) -> str:
        return "".join(
            vllm(n, n, 1).replace('model_name="m"', f'model_name="m",replica="{r}"')
            for n, r in ((first, "a"), (second, "b"))
        )

    report = read(page(5, 1010), since=page(1000, 1000))
    assert (report["models"][0]["drafts"], report["models"][0]["engines"], report["resets"]) == (15, 2, 1)


def test_tensorrt_llms_iterations_that_start_again_are_a_restart() -> None:
    def batch(*numbers: object) -> str:
        return json.dumps([{"iter": number, "iterLatencyMS": 1.0} for number in numbers])

    assert read(batch(1, 2), since=batch(900, 901))["resets"] == 1
    assert "drain_gap" in codes(read(batch(5, 6), since=batch(1, 2)))
    assert read(batch(None, "x"), since=batch(None, "x"))["resets"] == 0


def test_negative_sums_make_the_mean_unknown() -> None:
    name = "vllm:request_queue_time_seconds"
    labels = '{engine="0",model_name="m"}'

    def page(total: float, count: int) -> str:
        bucket = f'{name}_bucket{{engine="0",model_name="m",le="%s"}} {count}\n'
        return bucket % "0.3" + bucket % "+Inf" + f"{name}_sum{labels} {total}\n{name}_count{labels} {count}\n"

    first = read(page(-5.0, 10))
    assert (first["models"][0]["latency"]["queue_wait_seconds"]["mean"], "bad_value" in codes(first)) == (
        None,
        True,
    )
    later = read(page(90.0, 20), since=page(100.0, 10))
    assert later["models"][0]["latency"]["queue_wait_seconds"]["mean"] is None
    assert "sum_decreased" in codes(later)


def test_engine_and_since_are_for_metrics_pages() -> None:
    log = (TESTS / "cases/22-vllm-log-line-variants/vllm.log").read_bytes()
    with pytest.raises(InspectionError, match="--engine is for metrics pages"):
        inspect(Content("b.log", log), engine="vllm")
    with pytest.raises(InspectionError, match="--since is for metrics pages"):
        inspect(Content("b.log", log), Content("a.log", log))
    report = inspect(Content("page", vllm(1, 1, 1).encode()), engine="sglang")
    assert [notice.code for notice in report.notices] == ["no_engine"]
