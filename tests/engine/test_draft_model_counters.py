from __future__ import annotations

from pathlib import Path

import pytest

from engine.completions_client import (
    TrueFigures,
    completion_request,
    final_body,
    parse_record,
    send_raw,
    varied_prompts,
)
from engine.engine_load import DRAFT_POSITIONS, send_load
from engine.engine_process import MODEL_NAME, EngineProcess
from engine.metric_page import MetricPage, engine_figures, fetch_page, settled, sidecar_figures, until
from engine.prometheus_process import prometheus_scraping
from engine.sidecar_process import Sidecar, inspect_json

pytestmark = [pytest.mark.engine, pytest.mark.timeout(420)]


def engine_now(engine: EngineProcess) -> TrueFigures:
    return engine_figures(fetch_page(f"{engine.url}/metrics"), DRAFT_POSITIONS)


def is_idle(page: MetricPage) -> bool:
    return page.total("vllm:num_requests_running") + page.total("vllm:num_requests_waiting") == 0


def test_sidecar_counts_what_the_responses_say(draft_engine: EngineProcess, draft_sidecar: Sidecar) -> None:
    before = sidecar_figures(draft_sidecar.page(), DRAFT_POSITIONS)
    truth = send_load(draft_engine.url).true_figures(DRAFT_POSITIONS)
    assert 0.2 < truth.accepted_tokens / truth.draft_tokens < 0.6
    wanted = before.plus(truth)
    assert settled(lambda: sidecar_figures(draft_sidecar.page(), DRAFT_POSITIONS), wanted) == wanted
    assert engine_now(draft_engine) == wanted


def test_sidecar_counts_streams_and_early_stops(draft_engine: EngineProcess, draft_sidecar: Sidecar) -> None:
    before = sidecar_figures(draft_sidecar.page(), DRAFT_POSITIONS)
    streaming = {"stream": True, "stream_options": {"include_usage": True}}
    streamed = send_load(draft_engine.url, 12, seed=3, max_tokens=23, **streaming)
    stopped = send_load(draft_engine.url, 12, seed=4, stop_token_ids=list(range(300, 400)))
    assert {record.finish_reason for record in stopped.records} >= {"stop"}
    wanted = before.plus(streamed.true_figures(DRAFT_POSITIONS)).plus(stopped.true_figures(DRAFT_POSITIONS))
    assert settled(lambda: sidecar_figures(draft_sidecar.page(), DRAFT_POSITIONS), wanted) == wanted


def test_sidecar_follows_the_engine_where_it_counts_more_than_clients_get(
    draft_engine: EngineProcess, draft_sidecar: Sidecar
) -> None:
    start = engine_now(draft_engine)
    # vLLM finds a stop string in its frontend while the engine is already some steps further.
    stopped = send_load(draft_engine.url, 12, seed=5, stop=["thread", "widget", "e"])
    received = start.plus(stopped.true_figures(DRAFT_POSITIONS))
    # It goes on for a moment after a client has left, and counts the tokens but not the request.
    for prompt in varied_prompts(4, seed=9):
        with pytest.raises(TimeoutError):
            send_raw(draft_engine.url, completion_request(MODEL_NAME, prompt, max_tokens=800), timeout=0.5)
    until(lambda: fetch_page(f"{draft_engine.url}/metrics"), is_idle)

    def both() -> tuple[TrueFigures, TrueFigures]:
        return sidecar_figures(draft_sidecar.page(), DRAFT_POSITIONS), engine_now(draft_engine)

    ours, own = until(both, lambda pair: pair[0] == pair[1])
    assert ours == own
    assert own.drafts > received.drafts
    assert own.requests == received.requests


def test_sidecar_names_the_engine_and_the_state(draft_engine: EngineProcess, draft_sidecar: Sidecar) -> None:
    send_load(draft_engine.url, 8, seed=5)
    page = until(draft_sidecar.page, lambda page: page.total("specwatch_speculation_state", state="active") == 1)
    assert page.total("specwatch_speculation_state", state="active") == 1
    assert page.total("specwatch_engine_info", kind="vllm", version="0.32.0") == 1
    assert page.total("specwatch_num_speculative_tokens", model=MODEL_NAME) == DRAFT_POSITIONS
    assert page.total("specwatch_scrape_success") == 1
    assert page.total("specwatch_engine_restarts_total") == 0
    assert not page.select("specwatch_scrape_warnings", code="internal")


def test_sidecar_carries_the_latency_histograms_over(draft_engine: EngineProcess, draft_sidecar: Sidecar) -> None:
    send_load(draft_engine.url, 8, seed=6)
    own = fetch_page(f"{draft_engine.url}/metrics")
    pairs = {
        "vllm:request_queue_time_seconds": "specwatch_engine_queue_wait_seconds",
        "vllm:time_to_first_token_seconds": "specwatch_engine_time_to_first_token_seconds",
        "vllm:e2e_request_latency_seconds": "specwatch_engine_e2e_latency_seconds",
        "vllm:inter_token_latency_seconds": "specwatch_engine_inter_token_step_seconds",
    }
    wanted = {ours: own.buckets(theirs) for theirs, ours in pairs.items()}

    def carried_over() -> dict[str, dict[float, float]]:
        page = draft_sidecar.page()
        return {ours: page.buckets(ours) for ours in pairs.values()}

    assert settled(carried_over, wanted) == wanted


def test_inspect_reads_the_live_page(draft_engine: EngineProcess) -> None:
    send_load(draft_engine.url, 8, seed=7)
    own = engine_now(draft_engine)
    report = inspect_json(f"{draft_engine.url}/metrics")
    assert report["engine"] == "vllm"
    assert report["resets"] == 0
    (model,) = report["models"]
    assert (model["model"], model["state"], model["engines"]) == (MODEL_NAME, "active", 1)
    assert (model["drafts"], model["draft_tokens"]) == (own.drafts, own.draft_tokens)
    assert model["accepted_tokens"] == own.accepted_tokens
    assert model["acceptance_rate"] == pytest.approx(own.accepted_tokens / own.draft_tokens)
    assert model["mean_acceptance_length"] == pytest.approx(1 + own.accepted_tokens / own.drafts)
    assert model["per_position"] == pytest.approx([count / own.drafts for count in own.per_position])
    reached = (own.drafts, *own.per_position)
    assert model["conditional"] == pytest.approx([reached[at + 1] / reached[at] for at in range(DRAFT_POSITIONS)])
    assert (model["running"], model["waiting"]) == (0, 0)
    assert 0 <= model["kv_cache_usage"] <= 1


def test_inspect_reads_one_response(draft_engine: EngineProcess, tmp_path: Path) -> None:
    body = {
        "model": MODEL_NAME,
        "prompt": "def read(self):",
        "max_tokens": 24,
        "temperature": 0,
        "ignore_eos": True,
    }
    streaming = {"stream": True, "stream_options": {"include_usage": True}}
    for name, request in {"whole.json": body, "stream.sse": body | streaming}.items():
        answer = send_raw(draft_engine.url, request)
        (tmp_path / name).write_bytes(answer)
        record = parse_record(final_body(answer))
        (model,) = inspect_json(str(tmp_path / name))["models"]
        assert (model["drafts"], model["draft_tokens"]) == (len(record.drafted), sum(record.drafted)), name
        assert model["accepted_tokens"] == sum(record.accepted), name


def test_prometheus_beside_the_engine_agrees(
    draft_engine: EngineProcess, draft_sidecar: Sidecar, tmp_path: Path
) -> None:
    targets = {"engine": draft_engine.url, "sidecar": draft_sidecar.url}
    addresses = {job: url.removeprefix("http://") for job, url in targets.items()}
    with prometheus_scraping(addresses, tmp_path) as prometheus:
        send_load(draft_engine.url, 24, seed=8)
        own = engine_now(draft_engine)
        wanted: dict[str, float | None] = {
            "sum(specwatch_drafts_total)": own.drafts,
            "sum(specwatch_draft_tokens_total)": own.draft_tokens,
            "sum(specwatch_accepted_tokens_total)": own.accepted_tokens,
            "sum(specwatch_generation_tokens_total)": own.generation_tokens,
            "sum(specwatch_prompt_tokens_total)": own.prompt_tokens,
            "sum(specwatch_requests_total)": own.requests,
            "sum(vllm:spec_decode_num_drafts_total)": own.drafts,
            "sum(vllm:spec_decode_num_accepted_tokens_total)": own.accepted_tokens,
            'up{job="sidecar"}': 1,
            "max(specwatch_scrape_success)": 1,
        }
        assert settled(lambda: {ask: prometheus.value(ask) for ask in wanted}, wanted) == wanted
        by_position = prometheus.query("sum by (position) (specwatch_accepted_tokens_per_position_total)")
        assert by_position == {(("position", str(at)),): count for at, count in enumerate(own.per_position)}
        rate = prometheus.value("sum(specwatch_accepted_tokens_total) / sum(specwatch_draft_tokens_total)")
        assert rate == pytest.approx(own.accepted_tokens / own.draft_tokens)


def test_a_frozen_engine_is_no_restart(draft_engine: EngineProcess, draft_sidecar: Sidecar) -> None:
    before = sidecar_figures(draft_sidecar.page(), DRAFT_POSITIONS)
    with draft_engine.frozen():
        assert not until(draft_sidecar.scrape_succeeded, lambda good: not good)
        assert until(lambda: draft_sidecar.failures("timeout"), lambda count: count > 0) > 0
    wanted = before.plus(send_load(draft_engine.url, 8, seed=10).true_figures(DRAFT_POSITIONS))
    assert settled(lambda: sidecar_figures(draft_sidecar.page(), DRAFT_POSITIONS), wanted) == wanted
    assert draft_sidecar.restarts() == 0
