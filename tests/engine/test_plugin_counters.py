"""The plugin inside a real vLLM: its figures against the responses and against vLLM's own histograms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.completions_client import LoadResult, completion_request, send_raw
from engine.engine_load import DRAFT_POSITIONS, draft_config, send_load
from engine.engine_process import MODEL_NAME, EngineProcess
from engine.metric_page import MetricPage, fetch_page, settled, until
from engine.plugin_engine import engine_with_plugin, install_plugin
from engine.sidecar_process import inspect_json

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

REQUESTS = 48
OF_REQUESTS = "specwatch_request"
# vLLM's own histogram, ours, of the same observations.
SAME = {
    "vllm:inter_token_latency_seconds": f"{OF_REQUESTS}_inter_chunk_seconds",
    "vllm:time_to_first_token_seconds": f"{OF_REQUESTS}_time_to_first_token_seconds",
    "vllm:request_queue_time_seconds": f"{OF_REQUESTS}_queue_wait_seconds",
    "vllm:e2e_request_latency_seconds": f"{OF_REQUESTS}_e2e_latency_seconds",
}


@pytest.fixture(scope="module")
def engine(models: Path, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    assert models.is_dir()
    site = install_plugin(tmp_path_factory.mktemp("plugin-site"))
    with engine_with_plugin(site, logs / "plugin-draft.log", draft_config()) as engine:
        yield engine


@pytest.fixture(scope="module")
def load(engine: EngineProcess) -> LoadResult:
    """Load over more requests than slots, half of it streamed."""
    whole = send_load(engine.url, REQUESTS // 2, seed=31)
    streaming = {"stream": True, "stream_options": {"include_usage": True}}
    streamed = send_load(engine.url, REQUESTS // 2, seed=32, **streaming)
    return LoadResult(whole.records + streamed.records, lost=0)


@pytest.fixture(scope="module")
def page(engine: EngineProcess, load: LoadResult) -> MetricPage:
    """vLLM's own page once the plugin has published the last step."""
    wanted = sum(len(record.drafted) for record in load.records)

    def drafts(page: MetricPage) -> float:
        return page.total("specwatch_drafts_total") if page.select("specwatch_drafts_total") else 0

    return until(lambda: fetch_page(f"{engine.url}/metrics"), lambda page: drafts(page) == wanted)


def test_counts_equal_the_sums_over_the_responses(load: LoadResult, page: MetricPage) -> None:
    truth = load.true_figures(DRAFT_POSITIONS)
    assert truth.drafts > 0
    counts = {
        "specwatch_drafts_total": truth.drafts,
        "specwatch_draft_tokens_total": truth.draft_tokens,
        "specwatch_accepted_tokens_total": truth.accepted_tokens,
        f"{OF_REQUESTS}_drafts_total": truth.drafts,
        f"{OF_REQUESTS}_draft_tokens_total": truth.draft_tokens,
        f"{OF_REQUESTS}_accepted_tokens_total": truth.accepted_tokens,
        f"{OF_REQUESTS}_prompt_tokens_total": truth.prompt_tokens,
        f"{OF_REQUESTS}_output_tokens_total": truth.generation_tokens,
        f"{OF_REQUESTS}_finished_total": truth.requests,
    }
    assert {name: page.total(name) for name in counts} == counts
    labels = {"model": MODEL_NAME, "engine": "0", "definition": "vllm-v1-plugin"}
    assert page.total("specwatch_drafts_total", **labels) == truth.drafts


@pytest.mark.parametrize("prefix", ["specwatch", OF_REQUESTS])
def test_positions_equal_the_sums_over_the_responses(load: LoadResult, page: MetricPage, prefix: str) -> None:
    drafted = [step for record in load.records for step in record.drafted]
    accepted = [step for record in load.records for step in record.accepted]
    for name, steps in (("draft", drafted), ("accepted", accepted)):
        metric = f"{prefix}_{name}_tokens_per_position_total"
        seen = [page.total(metric, position=str(at)) for at in range(DRAFT_POSITIONS)]
        assert seen == [sum(step > at for step in steps) for at in range(DRAFT_POSITIONS)], metric


def test_accepted_lengths_are_those_of_the_responses(load: LoadResult, page: MetricPage) -> None:
    lengths = [1 + step for record in load.records for step in record.accepted]
    family = f"{OF_REQUESTS}_acceptance_length_tokens"
    assert page.total(f"{family}_count") == len(lengths)
    assert page.total(f"{family}_sum") == sum(lengths)
    buckets = page.buckets(family)
    assert {edge: buckets[edge] for edge in range(1, DRAFT_POSITIONS + 2)} == {
        edge: sum(length <= edge for length in lengths) for edge in range(1, DRAFT_POSITIONS + 2)
    }


@pytest.mark.parametrize(("theirs", "ours"), SAME.items(), ids=SAME.values())
def test_latencies_are_the_engines_own_in_finer_buckets(page: MetricPage, theirs: str, ours: str) -> None:
    assert page.total(f"{ours}_count") == page.total(f"{theirs}_count")
    assert page.total(f"{ours}_sum") == pytest.approx(page.total(f"{theirs}_sum"))
    known, finer = page.buckets(theirs), page.buckets(ours)
    shared = known.keys() & finer.keys()
    assert {edge: finer[edge] for edge in shared} == {edge: known[edge] for edge in shared}
    assert len(shared) > 2


def test_time_per_token_shares_each_step_among_its_tokens(load: LoadResult, page: MetricPage) -> None:
    family, steps = f"{OF_REQUESTS}_inter_token_seconds", f"{OF_REQUESTS}_inter_chunk_seconds"
    tokens = sum(record.completion_tokens for record in load.records)
    assert page.total(f"{family}_count") == tokens - len(load.records)
    assert page.total(f"{family}_sum") == pytest.approx(page.total(f"{steps}_sum"))


def test_batches_are_counted_per_step_and_label_the_rest(page: MetricPage) -> None:
    steps = page.total("specwatch_step_batch_requests_count", model=MODEL_NAME, engine="0")
    assert steps >= page.total("vllm:iteration_tokens_total_count")
    assert page.buckets("specwatch_step_batch_requests")[16] == steps  # --max-num-seqs
    batches = {sample.labels["batch"] for sample in page.select(f"{OF_REQUESTS}_inter_chunk_seconds_count")}
    assert "16" in batches
    assert batches <= {"1", "2", "4", "8", "16"}


def test_the_page_says_who_counts_and_nothing_went_wrong(page: MetricPage) -> None:
    known = {"model": MODEL_NAME, "method": "draft_model", "definition": "vllm-v1-plugin"}
    assert page.total("specwatch_speculation_info", **known) == 1
    assert page.total("specwatch_num_speculative_tokens") == DRAFT_POSITIONS
    assert page.total("specwatch_build_info") == 1
    assert not page.select("specwatch_plugin_errors_total")


def check_the_scrape_side_reads_the_page_as_without_the_plugin(engine: EngineProcess, load: LoadResult) -> None:
    report = inspect_json(f"{engine.url}/metrics")
    (model,) = report["models"]
    truth = load.true_figures(DRAFT_POSITIONS)
    assert (report["engine"], report["warnings"]) == ("vllm", [])
    assert (model["drafts"], model["draft_tokens"]) == (truth.drafts, truth.draft_tokens)


def check_that_a_client_that_leaves_does_not_disturb_the_counts(engine: EngineProcess, page: MetricPage) -> None:
    with pytest.raises(TimeoutError):
        send_raw(engine.url, completion_request(MODEL_NAME, "import os", max_tokens=800), timeout=0.5)
    own = "vllm:spec_decode_num_drafts_total"

    def both() -> tuple[float, float, float]:
        now = fetch_page(f"{engine.url}/metrics")
        return now.total(own), now.total("specwatch_drafts_total"), now.total("vllm:num_requests_running")

    seen = until(both, lambda counts: counts[0] == counts[1] and counts[2] == 0)
    assert seen[0] == seen[1] > page.total(own)


def check_that_a_restarted_engine_counts_from_zero(engine: EngineProcess) -> None:
    engine.restart()
    truth = send_load(engine.url, 16, seed=33).true_figures(DRAFT_POSITIONS)

    def counted() -> tuple[float, float]:
        now = fetch_page(f"{engine.url}/metrics")
        return now.total("specwatch_drafts_total"), now.total("specwatch_accepted_tokens_total")

    wanted: tuple[float, float] = (truth.drafts, truth.accepted_tokens)
    assert settled(counted, wanted) == wanted


def test_the_live_page_before_and_after_a_client_leaves_and_the_engine_restarts(
    engine: EngineProcess, load: LoadResult, page: MetricPage
) -> None:
    """In this order, because each step changes what the engine has counted."""
    check_the_scrape_side_reads_the_page_as_without_the_plugin(engine, load)
    check_that_a_client_that_leaves_does_not_disturb_the_counts(engine, page)
    check_that_a_restarted_engine_counts_from_zero(engine)
