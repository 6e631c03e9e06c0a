"""Results of other benchmarks: read from files that the tools wrote, and from the reported cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from specwatch_bench.bench_error import BenchError
from specwatch_bench.cell_file import outcome_of, read_cell
from specwatch_bench.imported.aiperf_results import read_aiperf
from specwatch_bench.imported.chunks import chunks_of
from specwatch_bench.imported.import_view import usd_per_million
from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_bench.imported.results_file import read_results
from specwatch_bench.imported.serving_results import read_serving_json
from specwatch_bench.report_target import read_results as read_cells
from specwatch_cli.bench import app
from specwatch_cli.errors import UserError

HERE = Path(__file__).parent / "imported"
CASES = Path(__file__).parent.parent / "cases"
CASE_56 = CASES / "56-vllm-bench-peak-below-mean"
CASE_57 = CASES / "57-itl-per-chunk-and-cross-check"


def only(path: Path) -> ImportedRun:
    (found,) = read_results(path)
    return found


def test_case_56() -> None:
    expected = json.loads((CASE_56 / "expected.json").read_text())
    found = only(CASE_56 / "bench.txt")
    assert [found.run.ttft.p50, found.run.ttft.p99] == expected["ttft"]
    assert [found.run.tpot.p50, found.run.tpot.p99] == expected["tpot"]
    assert found.run.implied is not None
    assert found.run.implied.tokens == pytest.approx(expected["tokens_per_chunk"], rel=0.001)
    assert usd_per_million(found, 2.0, 1) == pytest.approx(expected["usd_per_1m_at_2"], rel=0.001)
    assert usd_per_million(found, 2.0, 2) == pytest.approx(2 * expected["usd_per_1m_at_2"], rel=0.001)


def test_case_57() -> None:
    expected = json.loads((CASE_57 / "expected.json").read_text())
    runs = {found.run.name: found for found in read_results(CASE_57 / "runs.json")}
    before = runs["sglang#12064 before"].run
    assert before.implied is not None
    assert before.implied.tokens == pytest.approx(expected["tokens_per_chunk"], rel=0.001)
    assert before.itl_corrected_ms == pytest.approx(expected["itl_corrected_ms"], rel=0.001)
    names = ("vllm#35714 no-spec", "sglang#9588", "sglang#17098")
    prices = [usd_per_million(runs[name], 2.0, 1) for name in names]
    assert prices == pytest.approx(expected["usd"], rel=0.001)


def test_vllm_detailed() -> None:
    """The records give what the tool printed, and per token what it cannot: its ITL counts chunks."""
    found = only(HERE / "vllm-bench-serve.json")
    assert (found.tool, found.run.concurrency, found.rate) == ("vllm bench serve", 4, None)
    assert len(found.records) == found.run.requests == 24
    assert sum(record.tokens or 0 for record in found.records) == found.run.output_tokens
    figures = found.figures
    assert figures is not None
    assert figures.tok_s == pytest.approx(found.run.output_tok_s)
    assert figures.chunk_p99 == pytest.approx(found.run.itl.p99, rel=0.02)
    assert figures.token_p50 == pytest.approx(found.run.tpot.p50, rel=0.1)
    assert found.run.itl_counts == "chunk"
    assert found.run.tally.acceptance_rate == pytest.approx(440 / 954)
    assert any("peak" in notice.message for notice in found.run.notices())


def test_aiperf_counts_with_a_tokenizer_of_its_own() -> None:
    """The engine counted 466 tokens, AIPerf's tokenizer 700: the engine's count decides."""
    found = only(HERE / "aiperf")
    assert (found.tool, found.run.concurrency) == ("AIPerf", 4)
    assert found.run.output_tokens == 466
    assert found.run.output_tok_s == pytest.approx(466 / 1.019366912)
    assert sum(record.tokens or 0 for record in found.records) == 466
    tpot, itl = found.run.tpot.mean, found.run.itl.mean
    assert tpot is not None
    assert itl is not None
    # AIPerf's own 4.31 ms would make 3.3 tokens a chunk of drafts that accept 2.36 a step.
    assert tpot == pytest.approx(6.257, abs=0.01)
    assert itl / tpot == pytest.approx(2.36, rel=0.06)
    assert any("700 output tokens, the engine 466" in remark for remark in found.remarks)
    assert found.run.tally.per_position == pytest.approx((130 / 198, 87 / 198, 52 / 198))


def test_aiperf_without_its_requests(tmp_path: Path) -> None:
    alone = tmp_path / "profile_export_aiperf.json"
    alone.write_text((HERE / "aiperf" / alone.name).read_text())
    found = only(alone)
    assert found.records == ()
    assert found.run.tpot.mean is None
    assert any("left out without" in remark for remark in found.remarks)


def test_guidellm_has_no_chunks() -> None:
    found = only(HERE / "guidellm.json")
    assert (found.tool, found.run.concurrency, found.run.requests) == ("GuideLLM", 4, 16)
    assert found.run.tpot.mean == pytest.approx(6.714, abs=0.001)  # and not 7.640, which has TTFT in it
    assert found.run.output_tok_s == pytest.approx(512 / 1.0880441665649414)
    assert found.run.itl_counts is None
    assert found.run.tally.acceptance_rate == pytest.approx(282 / 693)
    assert not found.chunked


def test_guidellm_that_kept_a_sample(tmp_path: Path) -> None:
    body = json.loads((HERE / "guidellm.json").read_text())
    body["benchmarks"][0]["requests"]["successful"] = body["benchmarks"][0]["requests"]["successful"][:3]
    found = only(written(tmp_path, body))
    assert found.run.tally.acceptance_rate is None
    assert any("a sample of 3 requests" in remark for remark in found.remarks)


def written(folder: Path, body: Any) -> Path:
    path = folder / "results.json"
    path.write_text(json.dumps(body))
    return path


def sglang(itls: list[list[float]], lens: list[int]) -> dict[str, Any]:
    """A result of `bench_serving --output-details`, by its source in 0.5.17."""
    return {
        "backend": "sglang",
        "request_rate": "inf",
        "max_concurrency": 1,
        "duration": 1.0,
        "completed": len(lens),
        "total_input_tokens": 10 * len(lens),
        "total_output_tokens": sum(lens),
        "total_output_tokens_retokenized": sum(lens),
        "output_throughput": float(sum(lens)),
        "median_ttft_ms": 20.0,
        "accept_length": 2.5,
        "concurrency": 0.9,
        "input_lens": [10] * len(lens),
        "output_lens": lens,
        "ttfts": [0.02] * len(lens),
        "itls": itls,
        "errors": [""] * len(lens),
    }


def test_sglang_shares_a_gap_among_its_tokens(tmp_path: Path) -> None:
    """A gap of 30 ms with 3 tokens is written as three times 10 ms: one chunk all the same."""
    found = only(written(tmp_path, sglang([[0.01, 0.01, 0.01, 0.012, 0.009, 0.009]], [7])))
    assert found.tool == "SGLang bench_serving"
    assert found.records[0].sizes == (1, 3, 1, 2)
    assert found.records[0].chunks == (20_000, 30_000, 12_000, 18_000)
    figures = found.figures
    assert figures is not None
    assert figures.chunk_p99 == pytest.approx(30.0)
    assert figures.token_p50 == pytest.approx(10.0)
    assert any("not known when" in remark for remark in found.remarks)


def test_sglang_against_an_openai_api_counts_chunks(tmp_path: Path) -> None:
    found = only(written(tmp_path, sglang([[0.03, 0.012, 0.018]], [7])))
    assert found.records[0].sizes is None
    assert found.records[0].chunks == (20_000, 30_000, 12_000, 18_000)


def test_two_equal_gaps_of_another_client_are_two_chunks() -> None:
    body = {**sglang([[0.01, 0.01, 0.012]], [4]), "num_prompts": 1, "start_times": [5.0]}
    del body["total_output_tokens_retokenized"]
    (found,) = read_serving_json(json.dumps(body))
    assert found.records[0].chunks == (20_000, 10_000, 10_000, 12_000)
    assert found.records[0].sizes is None


def test_a_request_that_broke_off_and_was_counted_as_nothing_has_no_chunks() -> None:
    body = {**sglang([[0.01, 0.02], [0.01, 0.02]], [3, 0]), "errors": ["", "reset"], "start_times": [5.0, 5.5]}
    (found,) = read_serving_json(json.dumps(body))
    assert [len(record.chunks) for record in found.records] == [3, 0]
    figures = found.figures
    assert figures is not None
    assert (figures.requests, figures.failed, figures.tokens) == (1, 1, 3)


@pytest.mark.parametrize("starts", [-1, 1e300, True, "x", {"a": 1}])
def test_moments_that_are_no_list_are_none(starts: object) -> None:
    (found,) = read_serving_json(json.dumps({**sglang([[0.01]], [2]), "start_times": starts}))
    assert not found.placed


@pytest.mark.parametrize("gaps", [-1, 1e300, True, "x", {"a": 1}])
def test_gaps_of_aiperf_that_are_no_list_are_none(gaps: object) -> None:
    line = json.loads((HERE / "aiperf" / "profile_export.jsonl").read_text().splitlines()[0])
    line["metrics"]["inter_chunk_latency"]["value"] = gaps
    summary = json.loads((HERE / "aiperf" / "profile_export_aiperf.json").read_text())
    assert len(read_aiperf(summary, json.dumps(line)).records[0].chunks) == 1


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=30),
    gaps=st.lists(st.integers(1, 10**6), min_size=30, max_size=30, unique=True),
    first=st.integers(1, 4),
)
def test_shared_gaps_give_their_chunks_back(sizes: list[int], gaps: list[int], first: int) -> None:
    shared = [gap / 1e6 / size for size, gap in zip(sizes, gaps, strict=False) for _ in range(size)]
    before, found = chunks_of(0.5, shared, len(shared) + first, shared=True)
    assert sum(before) == pytest.approx(0.5 + sum(shared))
    if found is not None:
        assert sum(found) == len(shared) + first
        assert len(found) == len(before)


def test_trtllm_bench(tmp_path: Path) -> None:
    """By its source: milliseconds under names, nanoseconds under aliases, means over requests."""
    percentiles = {"p50": 5.0, "p99": 9.0, "average": 6.0, "minimum": 1.0, "maximum": 10.0, "p90": 8.0, "p95": 8.5}
    body = {
        "engine": {"model": "llama"},
        "request_info": {"num_requests": 100, "avg_input_length": 128.0, "avg_output_length": 64.0},
        "performance": {"total_latency_ms": 2000.0, "system_output_throughput_tok_s": 3200.0},
        "streaming_metrics": {"tpot_percentiles": percentiles, "ttft_percentiles": percentiles},
        "decoding_stats": {"mode": "EAGLE3", "acceptance_length_percentiles": {"average": 2.5}},
    }
    found = only(written(tmp_path, body))
    assert (found.tool, found.run.output_tokens, found.run.throughput_agrees) == ("trtllm-bench", 6400, True)
    assert (found.run.tpot.p50, found.run.tpot.p99) == (5.0, 9.0)
    assert found.run.mean_acceptance_length == 2.5
    assert any("without HTTP" in remark for remark in found.remarks)
    del body["streaming_metrics"]
    assert only(written(tmp_path, body)).run.tpot.p50 is None


def test_genai_perf(tmp_path: Path) -> None:
    """By its source: AIPerf's shape without its name, and Perf Analyzer's moments beyond 2**53."""
    body = {
        "request_throughput": {"unit": "requests/sec", "avg": 10.0},
        "output_sequence_length": {"unit": "tokens", "avg": 50.0},
        "inter_token_latency": {"unit": "ms", "avg": 6.0, "p50": 5.0, "p99": 9.0},
        "time_to_first_token": {"unit": "ms", "avg": 20.0, "p50": 19.0, "p99": 40.0},
        "output_token_throughput": {"unit": "tokens/sec", "avg": 500.0},
        "input_config": {},
    }
    found = only(written(tmp_path, body))
    assert (found.tool, found.run.tpot.p99, found.run.output_tok_s) == ("GenAI-Perf", 9.0, 500.0)
    zero = 1_796_012_717_661_516_220
    request = {"timestamp": zero, "response_timestamps": [zero + 20_000_000, zero + 50_000_000, zero + 50_000_000]}
    raw = {"experiments": [{"experiment": {"mode": "concurrency", "value": 4}, "requests": [request]}]}
    found = only(written(tmp_path, raw))
    assert (found.run.concurrency, found.records[0].chunks) == (4, (20_000, 30_000))
    assert any("no token counts" in remark for remark in found.remarks)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "[1, 2]", '{"benchmarks": []}', "hello\nworld", '{"a": NaN}']
)
def test_what_is_no_result(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(BenchError, match="no figures of a benchmark"):
        read_results(path)


@given(data=st.data())
def test_damaged_files_are_refused_or_read(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever a member of a known file turns into, nothing but `BenchError` comes out."""
    name = data.draw(
        st.sampled_from(["vllm-bench-serve.json", "guidellm.json", "aiperf/profile_export_aiperf.json"])
    )
    body = json.loads((HERE / name).read_text())
    place: Any = body
    for _ in range(data.draw(st.integers(1, 6))):
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else list(range(len(place)))))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner:
            break
        above, place = place, inner
    else:
        place = above
    place[key] = data.draw(st.sampled_from([None, "x", -1, 10**30, True, [], {}, [None], {"a": "b"}]))
    path = written(tmp_path_factory.mktemp("damaged"), body)
    try:
        for found in read_results(path):
            assert found.figures is None or found.figures.requests >= 0
    except BenchError:
        pass


def test_cells_stand_beside_measured_ones(tmp_path: Path) -> None:
    out = tmp_path / "target"
    arguments = [str(HERE / "vllm-bench-serve.json"), str(HERE / "guidellm.json"), "--out", str(out)]
    done = CliRunner().invoke(
        app, ["import", *arguments, "--target", "70B", "--engine", "eagle3 k3", "--class", "chat"]
    )
    assert done.exit_code == 0, done.output
    assert "no cell: the file keeps no chunks" in done.output
    assert "1 of 2 runs written as cells" in done.output
    (path,) = (out / "cells").iterdir()
    assert path.name.startswith("eagle3-k3--chat--c4--")
    assert outcome_of(path) == "ok"
    head, *_, end = read_cell(path)
    assert head["engine"]["labels"] == ["imported from vllm bench serve"]
    assert any("upper limit" in notice for notice in end["notices"])
    (target,) = read_cells(out).targets
    assert target.cells[0].requests == 24
    again = CliRunner().invoke(
        app, ["import", *arguments, "--target", "70B", "--engine", "eagle3 k3", "--class", "chat"]
    )
    assert again.exit_code == 0
    assert [path] == list((out / "cells").iterdir())


def test_the_command(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["import", str(CASE_56 / "bench.txt"), "--gpu-hour", "2"])
    assert done.exit_code == 0
    assert "0.2186" in done.output
    done = CliRunner().invoke(app, ["import", str(CASE_57 / "runs.json"), "--json", "--gpu-hour", "2"])
    runs = json.loads(done.output)
    assert runs[0]["itl_corrected_ms"] == pytest.approx(3.421, abs=0.001)
    assert runs[0]["usd_per_1m_output"] == pytest.approx(1.9007, abs=0.001)
    done = CliRunner().invoke(app, ["import", str(tmp_path / "none.json")])
    assert isinstance(done.exception, UserError)
    assert done.exception.exit_code == 2
