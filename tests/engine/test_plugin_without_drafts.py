"""The plugin where vLLM does not speculate and was told to keep no statistics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.engine_load import send_load
from engine.engine_process import MODEL_NAME, EngineProcess
from engine.metric_page import fetch_page, settled
from engine.plugin_engine import engine_with_plugin, install_plugin

pytestmark = [pytest.mark.engine, pytest.mark.timeout(420)]

QUIET = ("--no-enable-per-request-metrics", "--disable-log-stats")


@pytest.fixture(scope="module")
def engine(models: Path, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    assert models.is_dir()
    site = install_plugin(tmp_path_factory.mktemp("plugin-site"))
    with engine_with_plugin(site, logs / "plugin-quiet.log", extra=QUIET) as engine:
        yield engine


def test_requests_are_measured_all_the_same(engine: EngineProcess) -> None:
    truth = send_load(engine.url, 24, seed=51).true_figures(0)

    def finished() -> float:
        page = fetch_page(f"{engine.url}/metrics")
        name = "specwatch_request_finished_total"
        return page.total(name) if page.select(name) else 0

    wanted = float(truth.requests)
    assert settled(finished, wanted) == wanted
    page = fetch_page(f"{engine.url}/metrics")
    assert page.total("specwatch_request_output_tokens_total") == truth.generation_tokens
    off = {"model": MODEL_NAME, "traffic_class": "unknown", "speculation": "off"}
    for name in ("queue_wait", "e2e_latency", "time_to_first_token"):
        assert page.total(f"specwatch_request_{name}_seconds_count", **off) == truth.requests, name
    steps = page.total("specwatch_request_inter_chunk_seconds_count", **off)
    assert steps == page.total("specwatch_request_inter_token_seconds_count", **off)
    assert steps == truth.generation_tokens - truth.requests


def test_off_is_a_method_and_no_number(engine: EngineProcess) -> None:
    page = fetch_page(f"{engine.url}/metrics")
    assert page.total("specwatch_speculation_info", model=MODEL_NAME, method="off") == 1
    of_drafts = {name for name in page.names() if "draft" in name or "accept" in name}
    assert not [name for name in of_drafts if name.startswith("specwatch_")]
    assert not page.select("specwatch_num_speculative_tokens")
    assert not page.select("specwatch_plugin_errors_total")
