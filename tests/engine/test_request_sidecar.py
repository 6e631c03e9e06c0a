"""A real vLLM behind the request sidecar: what it saw of each request adds up to what the engine counted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.completions_client import completion_request, run_completions, varied_prompts
from engine.engine_load import DRAFT_POSITIONS
from engine.engine_process import MODEL_NAME, EngineProcess
from engine.metric_page import MetricPage, fetch_page, until
from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.proxy.settings import load

pytestmark = [pytest.mark.engine, pytest.mark.timeout(420)]

REQUESTS = 48
CLIENTS = 16
ENGINE = {
    "drafts": "vllm:spec_decode_num_drafts_total",
    "draft_tokens": "vllm:spec_decode_num_draft_tokens_total",
    "accepted_tokens": "vllm:spec_decode_num_accepted_tokens_total",
    "output": "vllm:generation_tokens_total",
    "prompt": "vllm:prompt_tokens_total",
    "finished": "vllm:e2e_request_latency_seconds_count",
}
REQUEST = {
    "drafts": "specwatch_request_drafts_total",
    "draft_tokens": "specwatch_request_draft_tokens_total",
    "accepted_tokens": "specwatch_request_accepted_tokens_total",
    "output": "specwatch_request_output_tokens_total",
    "prompt": "specwatch_request_prompt_tokens_total",
    "finished": "specwatch_request_finished_total",
}
POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
REQUEST_POSITION = "specwatch_request_accepted_tokens_per_position_total"


@pytest.fixture
def request_sidecar(draft_engine: EngineProcess) -> Iterator[RequestSidecar]:
    listen = {"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0"}
    settings = load({"upstream": draft_engine.url, "speculation_method": "draft_model", **listen}, {})
    with RequestSidecar(settings) as sidecar:
        yield sidecar


def figures(page: MetricPage, names: dict[str, str], position: str) -> dict[str, float]:
    sums = {what: page.total(name) for what, name in names.items()}
    return sums | {f"position {p}": page.total(position, position=str(p)) for p in range(DRAFT_POSITIONS)}


@pytest.mark.parametrize("stream", [False, True])
def test_sums_over_requests_are_the_engines_counts(
    draft_engine: EngineProcess, request_sidecar: RequestSidecar, *, stream: bool
) -> None:
    before = figures(fetch_page(f"{draft_engine.url}/metrics"), ENGINE, POSITION)
    extra = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    prompts = varied_prompts(REQUESTS, seed=31 + stream)
    bodies = [completion_request(MODEL_NAME, prompt, **extra) for prompt in prompts]
    result = run_completions(f"http://127.0.0.1:{request_sidecar.port}", bodies, CLIENTS)
    assert (result.lost, len(result.records)) == (0, REQUESTS)
    admin = f"http://127.0.0.1:{request_sidecar.admin_port}/metrics"
    after = figures(fetch_page(f"{draft_engine.url}/metrics"), ENGINE, POSITION)
    added = {what: after[what] - before[what] for what in after}
    page = until(lambda: fetch_page(admin), lambda page: figures(page, REQUEST, REQUEST_POSITION) == added)
    assert figures(page, REQUEST, REQUEST_POSITION) == added

    lengths = "specwatch_request_acceptance_length_tokens"
    assert page.total(f"{lengths}_count") == added["drafts"]
    assert page.total(f"{lengths}_sum") == added["drafts"] + added["accepted_tokens"]
    for name in ("e2e_latency_seconds", "queue_wait_seconds", "acceptance_ratio"):
        assert page.total(f"specwatch_request_{name}_count") == REQUESTS
    if stream:
        assert page.total("specwatch_request_time_to_first_token_seconds_count") == REQUESTS
        gapped = page.total("specwatch_request_inter_token_seconds_count")
        most = added["output"] - REQUESTS  # at least the first token of a request has no gap before it
        assert most - REQUESTS * DRAFT_POSITIONS <= gapped <= most
    batches = {sample.labels["batch"] for sample in page.select("specwatch_request_e2e_latency_seconds_count")}
    assert max(int(edge) for edge in batches) == CLIENTS
