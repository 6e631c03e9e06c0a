from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporters.proxy.proxy_rig import CHAT, LIMITS, ask, body_of, eventually, request, sample, sidecar, values
from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread

CLASSES = ("chat", "code", "math")
FAST = 50.0
APART = 2.0
"""So slow that a busy machine does not put all of an answer into one packet, which has no gaps."""


@contextmanager
def engine_behind(
    settings: ReplaySettings | None = None, **flags: str | bool
) -> Iterator[tuple[ReplayThread, RequestSidecar]]:
    chosen = settings or ReplaySettings(per_request=PerRequest.DETAILED, timings=True, speed=FAST, slots=8)
    with (
        ReplayThread(chosen) as engine,
        sidecar(engine.url, LIMITS, speculation_method="eagle3", **flags) as running,
    ):
        yield engine, running


def page(url: str) -> dict[str, float]:
    """Totals of an engine's counters over all labels."""
    with urllib.request.urlopen(f"{url}/metrics") as response:
        text = response.read().decode()
    totals: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for found in family.samples:
            totals[found.name] = totals.get(found.name, 0.0) + found.value
    return totals


def chat(stream: bool, **fields: Any) -> bytes:
    body = {"messages": [{"role": "user", "content": "tell me"}], "max_tokens": 40, "ignore_eos": True, **fields}
    return json.dumps({**body, "stream": stream}).encode()


def send(running: RequestSidecar, body: bytes, traffic_class: str = "chat") -> bytes:
    headers = {"Content-Type": "application/json", "x-specwatch-class": traffic_class}
    return ask(running.port, request(CHAT, body, headers=headers))


def load(running: RequestSidecar, count: int, *, stream: bool, usage: bool) -> None:
    """Requests of three classes from 16 clients at once."""
    fields = {"stream_options": {"include_usage": True}} if usage else {}

    def one(number: int) -> bytes:
        return send(running, chat(stream, **fields), CLASSES[number % 3])

    with ThreadPoolExecutor(16) as clients:
        assert all(got.startswith(b"HTTP/1.1 200 OK") for got in clients.map(one, range(count)))


@pytest.mark.parametrize("way", ["stream", "stream_asked_for", "whole"])
def test_sums_over_requests_equal_the_engines_counters(way: str) -> None:
    count = 48
    with engine_behind(request_usage=way == "stream_asked_for") as (engine, running):
        load(running, count, stream=way != "whole", usage=way == "stream")
        eventually(lambda: sample(running, "specwatch_request_finished_total") == count)
        told = page(engine.url)
        drafts = told["vllm:spec_decode_num_drafts_total"]
        accepted = told["vllm:spec_decode_num_accepted_tokens_total"]
        tokens = told["vllm:generation_tokens_total"]
        expected = {
            "specwatch_request_finished_total": count,
            "specwatch_request_drafts_total": drafts,
            "specwatch_request_draft_tokens_total": told["vllm:spec_decode_num_draft_tokens_total"],
            "specwatch_request_accepted_tokens_total": accepted,
            "specwatch_request_accepted_tokens_per_position_total": told[
                "vllm:spec_decode_num_accepted_tokens_per_pos_total"
            ],
            "specwatch_request_draft_tokens_per_position_total": told["vllm:spec_decode_num_draft_tokens_total"],
            "specwatch_request_acceptance_length_tokens_count": drafts,
            "specwatch_request_acceptance_length_tokens_sum": drafts + accepted,
            "specwatch_request_acceptance_ratio_count": count,
            "specwatch_request_output_tokens_total": tokens,
            "specwatch_request_prompt_tokens_total": told["vllm:prompt_tokens_total"],
            "specwatch_request_queue_wait_seconds_count": told["vllm:request_queue_time_seconds_count"],
            "specwatch_request_time_to_first_token_seconds_count": count,
            "specwatch_request_e2e_latency_seconds_count": count,
            "specwatch_request_inter_token_seconds_count": 0 if way == "whole" else tokens - count,
        }
        assert {name: sample(running, name) for name in expected} == expected
        waited = sample(running, "specwatch_request_queue_wait_seconds_sum")
        assert waited == pytest.approx(told["vllm:request_queue_time_seconds_sum"], rel=1e-6)
        gaps = sample(running, "specwatch_request_inter_chunk_seconds_sum")
        assert sample(running, "specwatch_request_inter_token_seconds_sum") == pytest.approx(gaps)
        assert sample(running, "specwatch_request_in_flight") == 0
        assert sample(running, "specwatch_request_unread_total") == 0


def test_every_class_has_its_own_acceptance() -> None:
    rates = {"chat": (0.9, 0.9, 0.9), "code": (0.5, 0.25, 0.1), "math": (0.0, 0.0, 0.0)}
    settings = ReplaySettings(per_request=PerRequest.SUMMARY, acceptance=rates, speed=FAST)
    with engine_behind(settings) as (_, running):
        load(running, 30, stream=True, usage=True)
        eventually(lambda: sample(running, "specwatch_request_finished_total") == 30)
        found = {}
        for name in CLASSES:
            accepted = sample(running, "specwatch_request_accepted_tokens_total", traffic_class=name)
            found[name] = accepted / sample(running, "specwatch_request_draft_tokens_total", traffic_class=name)
        assert found["math"] == 0
        assert 0.1 < found["code"] < 0.5 < found["chat"]


def test_a_batch_of_many_is_told_from_a_batch_of_one() -> None:
    with engine_behind(ReplaySettings(speed=APART, slots=8)) as (_, running):
        send(running, chat(stream=True))
        eventually(lambda: sample(running, "specwatch_request_finished_total") == 1)
        alone = values(running, "specwatch_request_inter_chunk_seconds_count")
        assert {dict(labels)["batch"] for labels in alone} == {"1"}
        load(running, 48, stream=True, usage=False)
        eventually(lambda: sample(running, "specwatch_request_finished_total") == 49)
        assert sample(running, "specwatch_request_inter_chunk_seconds_count", batch="8") > 0


def test_without_record_and_usage_the_rest_is_still_known() -> None:
    with engine_behind(ReplaySettings(speed=APART)) as (_, running):
        send(running, chat(stream=True))
        eventually(lambda: sample(running, "specwatch_request_finished_total", outcome="success") == 1)
        assert sample(running, "specwatch_request_time_to_first_token_seconds_count") == 1
        assert sample(running, "specwatch_request_e2e_latency_seconds_count") == 1
        assert sample(running, "specwatch_request_inter_chunk_seconds_count") > 0
        assert sample(running, "specwatch_request_without_record_total", traffic_class="chat") == 1
        assert sample(running, "specwatch_request_unread_total", reason="response_no_usage") == 1
        for unknown in (
            "inter_token_seconds",
            "acceptance_ratio",
            "acceptance_length_tokens",
            "queue_wait_seconds",
        ):
            assert values(running, f"specwatch_request_{unknown}_count") == {}


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (chat(stream=True, model="no-such-model"), "rejected"),
        (b"no json", "rejected"),
    ],
)
def test_what_the_engine_refuses_is_rejected(body: bytes, outcome: str) -> None:
    with engine_behind() as (_, running):
        send(running, body)
        eventually(lambda: sample(running, "specwatch_request_finished_total", outcome=outcome) == 1)
        names = {dict(labels)["model"] for labels in values(running, "specwatch_request_finished_total")}
        assert names == {"unknown"}


@pytest.mark.parametrize(
    ("mode", "outcome"), [("500", "error"), ("503", "error"), ("cut", "cut"), ("truncate", "cut")]
)
def test_a_failing_engine_is_told_apart(mode: str, outcome: str) -> None:
    with engine_behind() as (engine, running):
        engine.fail(mode=mode, target="completions")
        send(running, chat(stream=True))
        eventually(lambda: sample(running, "specwatch_request_finished_total", outcome=outcome) == 1)


def test_an_engine_that_is_away_is_unreachable() -> None:
    with engine_behind() as (engine, running):
        engine.stop()
        assert send(running, chat(stream=True)).startswith(b"HTTP/1.1 502")
        eventually(lambda: sample(running, "specwatch_request_finished_total", outcome="unreachable") == 1)


def test_the_oldest_waiting_request_is_the_first_without_a_token() -> None:
    with engine_behind() as (engine, running):
        engine.fail(mode="stall")
        with ThreadPoolExecutor(2) as clients:
            streamed = clients.submit(send, running, chat(stream=True), "code")
            whole = clients.submit(send, running, chat(stream=False), "math")
            eventually(lambda: sample(running, "specwatch_request_in_flight") == 2)
            eventually(
                lambda: sample(running, "specwatch_request_oldest_waiting_seconds", traffic_class="code") > 0.05
            )
            assert sample(running, "specwatch_request_oldest_waiting_seconds", traffic_class="math") == 0
            engine.fail(mode="none")
            assert streamed.result().startswith(b"HTTP/1.1 200")
            assert whole.result().startswith(b"HTTP/1.1 200")
        eventually(lambda: sample(running, "specwatch_request_in_flight") == 0)
        assert sample(running, "specwatch_request_oldest_waiting_seconds") == 0


def test_other_paths_pass_and_are_not_counted() -> None:
    with engine_behind() as (engine, running):
        for path in ("/health", "/version", "/v1/models"):
            with urllib.request.urlopen(engine.url + path) as direct:
                wanted = direct.read()
            assert body_of(ask(running.port, request(path, method="GET"))) == wanted
        assert values(running, "specwatch_request_finished_total") == {}


def test_pages_of_the_admin_port_hold_no_secret() -> None:
    body = chat(stream=True, stream_options={"include_usage": True}, user="s3cret-user")
    with engine_behind() as (_, running):
        headers = {
            "Content-Type": "application/json",
            "Authorization": "Bearer s3cret-key",
            "x-specwatch-class": '</script>{evil="1"}\n',
        }
        ask(
            running.port,
            request(CHAT + "?key=s3cret-query", body, headers={**headers, "x-specwatch-class": "A b/c"}),
        )
        eventually(lambda: sample(running, "specwatch_request_finished_total") == 1)
        admin = f"http://127.0.0.1:{running.admin_port}"
        for path in ("/", "/metrics", "/status.json", "/healthz", "/readyz"):
            with urllib.request.urlopen(admin + path) as response:
                text = response.read().decode()
            assert "s3cret" not in text
            assert "tell me" not in text
        with urllib.request.urlopen(admin + "/status.json") as response:
            status = json.loads(response.read())
        outcomes = status["classes"]["a-b-c"]["outcomes"]
        assert {name: count for name, count in outcomes.items() if count} == {"success": 1}
        assert status["classes"]["a-b-c"]["mean_acceptance_length"] > 1
