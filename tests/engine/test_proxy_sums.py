from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from engine.completions_client import TrueFigures, completion_request, varied_prompts
from engine.engine_load import DRAFT_POSITIONS, send_load
from engine.engine_process import MODEL_NAME, EngineProcess
from engine.metric_page import engine_figures, fetch_page, settled
from exporters.proxy.proxy_rig import LIMITS, ask, body_of, eventually, request, sample, sidecar
from specwatch_exporters.proxy.run import RequestSidecar

pytestmark = [pytest.mark.engine, pytest.mark.timeout(420)]
REQUESTS = 48
CLIENTS = 16
NAME = "specwatch_request"


def engine_now(engine: EngineProcess) -> TrueFigures:
    return engine_figures(fetch_page(f"{engine.url}/metrics"), DRAFT_POSITIONS)


def minus(later: TrueFigures, earlier: TrueFigures) -> TrueFigures:
    return TrueFigures(
        later.requests - earlier.requests,
        later.prompt_tokens - earlier.prompt_tokens,
        later.generation_tokens - earlier.generation_tokens,
        later.drafts - earlier.drafts,
        later.draft_tokens - earlier.draft_tokens,
        later.accepted_tokens - earlier.accepted_tokens,
        tuple(late - early for late, early in zip(later.per_position, earlier.per_position, strict=True)),
    )


def sidecar_now(running: RequestSidecar) -> TrueFigures:
    """The same figures out of the request sidecar's histograms and counters."""
    drafts = sample(running, f"{NAME}_acceptance_length_tokens_count")
    return TrueFigures(
        int(sample(running, f"{NAME}_e2e_latency_seconds_count")),
        int(sample(running, f"{NAME}_prompt_tokens_total")),
        int(sample(running, f"{NAME}_output_tokens_total")),
        int(drafts),
        int(sample(running, f"{NAME}_draft_tokens_total")),
        int(sample(running, f"{NAME}_acceptance_length_tokens_sum") - drafts),
        tuple(
            int(sample(running, f"{NAME}_accepted_tokens_per_position_total", position=str(position)))
            for position in range(DRAFT_POSITIONS)
        ),
    )


def send_raw_streams(port: int) -> list[bytes]:
    """Streams whose clients do not ask for usage, 16 at a time; returns their bodies."""
    bodies = [completion_request(MODEL_NAME, prompt, stream=True) for prompt in varied_prompts(REQUESTS, seed=7)]

    def one(body: dict[str, Any]) -> bytes:
        headers = {"Content-Type": "application/json"}
        return body_of(ask(port, request("/v1/completions", json.dumps(body).encode(), headers=headers)))

    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(one, bodies))


@pytest.mark.parametrize("way", ["stream", "stream_asked_for", "whole"])
def test_histograms_sum_up_to_what_the_engine_counts(draft_engine: EngineProcess, way: str) -> None:
    before = engine_now(draft_engine)
    asks = way == "stream_asked_for"
    with sidecar(draft_engine.url, LIMITS, request_usage=asks, speculation_method="draft_model") as running:
        if asks:
            streams = send_raw_streams(running.port)
            assert all(b'"usage"' not in body and body.endswith(b"data: [DONE]\n\n") for body in streams)
        else:
            streaming = {"stream": True, "stream_options": {"include_usage": True}} if way == "stream" else {}
            truth = send_load(f"http://127.0.0.1:{running.port}", REQUESTS, seed=6, **streaming)
            eventually(lambda: sidecar_now(running) == truth.true_figures(DRAFT_POSITIONS))
        eventually(lambda: sample(running, f"{NAME}_finished_total", outcome="success") == REQUESTS)
        found = sidecar_now(running)
        assert settled(lambda: minus(engine_now(draft_engine), before), found) == found
        assert found.requests == REQUESTS
        assert 0.2 < found.accepted_tokens / found.draft_tokens < 0.6
        assert sample(running, f"{NAME}_draft_tokens_per_position_total") == found.draft_tokens
        assert sample(running, f"{NAME}_queue_wait_seconds_count") == REQUESTS
        assert sample(running, f"{NAME}_time_to_first_token_seconds_count") == REQUESTS
        assert sample(running, f"{NAME}_without_record_total") == 0
        assert sample(running, f"{NAME}_unread_total") == 0
        if way != "whole":
            tokens = sample(running, f"{NAME}_inter_token_seconds_count")
            assert tokens == found.generation_tokens - REQUESTS
            gaps = sample(running, f"{NAME}_inter_chunk_seconds_sum")
            assert sample(running, f"{NAME}_inter_token_seconds_sum") == pytest.approx(gaps)


def test_queue_wait_is_the_engines_own(draft_engine: EngineProcess) -> None:
    page = fetch_page(f"{draft_engine.url}/metrics")
    waited = page.total("vllm:request_queue_time_seconds_sum")
    with sidecar(draft_engine.url) as running:
        send_load(f"http://127.0.0.1:{running.port}", REQUESTS, seed=8)
        eventually(lambda: sample(running, f"{NAME}_queue_wait_seconds_count") == REQUESTS)
        page = fetch_page(f"{draft_engine.url}/metrics")
        added = page.total("vllm:request_queue_time_seconds_sum") - waited
        assert sample(running, f"{NAME}_queue_wait_seconds_sum") == pytest.approx(added, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_asking_for_usage_leaves_the_clients_bytes_as_they_are(draft_engine: EngineProcess, path: str) -> None:
    fields = completion_request(MODEL_NAME, "import queue", stream=True)
    if path == "/v1/chat/completions":
        fields["messages"] = [{"role": "user", "content": fields.pop("prompt")}]
    sent = request(path, json.dumps(fields).encode(), headers={"Content-Type": "application/json"})

    def text(port: int) -> bytes:
        return re.sub(rb'"(?:id|created)":\s*(?:"[^"]*"|\d+)', b"", body_of(ask(port, sent)))

    direct = text(int(draft_engine.url.rpartition(":")[2]))
    with sidecar(draft_engine.url, LIMITS, request_usage=True) as running:
        assert text(running.port) == direct
        eventually(lambda: sample(running, f"{NAME}_drafts_total") > 0)
