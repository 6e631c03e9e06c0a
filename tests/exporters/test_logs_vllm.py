"""vLLM logs: every generation of the line, whatever a collector did to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specwatch_exporters.logs.read import read_log
from specwatch_exporters.report import ModelReport, Report, State, Window

LOG = (Path(__file__).parent.parent / "cases" / "22-vllm-log-line-variants" / "vllm.log").read_text()
HEAD = "(APIServer pid=1) INFO 05-01 14:24:50 "
LINE = (
    HEAD
    + "[metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.16, Accepted throughput: 15.00 tokens/s, "
    "Drafted throughput: 38.70 tokens/s, Accepted: 150 tokens, Drafted: 387 tokens, "
    "Per-position acceptance rate: 0.543, 0.357, 0.264, Avg Draft acceptance rate: 38.8%"
)
LOAD = (
    HEAD
    + "[loggers.py:271] Engine 000: Avg prompt throughput: 0.1 tokens/s, Avg generation throughput: 43.3 tokens/s, "
    "Running: 3 reqs, Waiting: 2 reqs, GPU KV cache usage: 10.1%, Prefix cache hit rate: 0.0%"
)
START = (
    "(EngineCore pid=7) INFO 05-01 14:20:00 [core.py:140] Initializing a V1 LLM engine (v0.25.1) with config: "
    "model='org/target', speculative_config=SpeculativeConfig(method='eagle3', model='org/draft', "
    "num_spec_tokens=3), tokenizer='org/target', seed=0, served_model_name=chat, enable_prefix_caching=True"
)


def report(text: str) -> Report:
    found = read_log(text)
    assert found is not None
    return found


def model(text: str) -> ModelReport:
    (only,) = report(text).models
    return only


def window(text: str) -> Window:
    (only,) = report(text).windows
    return only


def codes(found: Report) -> set[str]:
    return {notice.code for notice in found.notices}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda line: line,
        lambda line: line + "\r",
        lambda line: f"2026-07-20T18:11:49.123456789Z stdout F {line}",
        lambda line: f"[pod/vllm-0/engine] {line}",
        lambda line: f"vllm-1  | {line}",
        lambda line: "\x1b[0;36m(APIServer pid=1)\x1b[0;0m" + line.removeprefix("(APIServer pid=1)"),
        lambda line: json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-07-20T18:11:49Z"}),
        lambda line: json.dumps({"kubernetes": {"pod_name": "vllm-0"}, "message": line}),
        lambda line: json.dumps({"record": {"text": line}, "level": "info"}),
        lambda line: line.replace("INFO 05-01 14:24:50 [metrics.py:101]", "2026-05-01T14:24:50Z INFO metrics.log:"),
        lambda line: line.replace(" tokens", "tokens").replace(", 0", ",0"),
    ],
    ids=[
        "plain",
        "crlf",
        "cri",
        "kubectl",
        "compose",
        "colour",
        "docker",
        "fluent",
        "loguru",
        "dynamo",
        "no-spaces",
    ],
)
def test_a_line_means_the_same_in_any_wrapping(wrap: Callable[[str], str]) -> None:
    got = window(wrap(LINE))
    assert (got.tally.drafts, got.tally.draft_tokens, got.tally.accepted_tokens) == (129, 387, 150)
    assert got.tally.accepted_per_position == (70.0, 46.0, 34.0)
    assert (got.speculative_tokens, got.seconds, got.partial, got.line) == (3, 10.0, False, 1)


FIELDS = {
    "rate": "Draft acceptance rate: 38.8%",
    "length": "Mean acceptance length: 2.16",
    "counts": "Accepted: 150 tokens, Drafted: 387 tokens",
    "positions": "Per-position acceptance rate: 0.543, 0.357, 0.264",
}


@pytest.mark.parametrize(
    ("order", "drafts"),
    [
        (("rate", "counts"), None),
        (("rate", "length", "counts", "positions"), 129),
        (("length", "rate", "counts", "positions"), 129),
        (("length", "counts", "positions", "rate"), 129),
        (("counts", "length", "rate", "positions"), 129),
    ],
)
def test_generations(order: tuple[str, ...], drafts: int | None) -> None:
    got = window("INFO 04-01 10:00:00 [metrics.py:54] SpecDecoding metrics: " + ", ".join(FIELDS[f] for f in order))
    assert (got.tally.drafts, got.tally.acceptance_rate, got.partial) == (drafts, 150 / 387, False)


def test_the_length_of_0_8_5_lacks_the_bonus_token() -> None:
    found = report(LINE.replace("length: 2.16", "length: 1.16"))
    (got,) = found.windows
    assert got.tally.drafts == 129
    assert got.length == pytest.approx(2.16)
    assert got.tally.mean_acceptance_length == pytest.approx(1 + 150 / 129)
    assert codes(found) == {"length_without_bonus"}


def test_the_first_v1_line_has_counts_only() -> None:
    counts = "Number of accepted tokens: 66, Number of draft tokens: 66, "
    got = window(f"Speculative metrics: Draft acceptance rate: 1.000, {counts}")
    assert (got.tally.draft_tokens, got.tally.accepted_tokens, got.tally.drafts, got.partial) == (
        66,
        66,
        None,
        False,
    )


def v0_line(accepted: int, drafted: int) -> str:
    return (
        "INFO 10-16 19:05:47 metrics.py:367] Speculative metrics: Draft acceptance rate: 0.642, System efficiency: "
        f"0.598, Number of speculative tokens: 3, Number of accepted tokens: {accepted}, "
        f"Number of draft tokens: {drafted}, Number of emitted tokens: 10616."
    )


def test_v0_counts_run_since_start_up() -> None:
    load = (
        "INFO 10-16 19:05:47 metrics.py:345] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 40.0 "
        "tokens/s, Running: 4 reqs, Swapped: 0 reqs, Pending: 7 reqs, GPU KV cache usage: 1.2%, "
        "CPU KV cache usage: 0.0%."
    )
    found = report("\n".join([load, v0_line(600, 900), v0_line(660, 1000), v0_line(30, 60)]))
    (only,) = found.models
    assert [w.tally.draft_tokens for w in found.windows] == [900, 100, 60]
    assert (only.tally.accepted_tokens, only.tally.draft_tokens, only.tally.drafts) == (690, 1060, None)
    assert (only.running, only.waiting, only.kv_cache_usage) == (4, 7, 0.012)
    assert (only.definition, only.speculative_tokens, found.resets) == ("vllm-v0-any-position", 3, 1)
    assert codes(found) == {"v0_definition"}


@pytest.mark.parametrize("end", range(LINE.index("SpecDecoding metrics:") + 21, len(LINE)))
def test_a_line_cut_anywhere_never_tells_a_wrong_number(end: int) -> None:
    found = report(LINE[:end])
    (got,) = found.windows
    assert got.partial
    assert "line_partial" in codes(found)
    assert got.tally.drafts in (None, 129)
    assert got.tally.draft_tokens in (None, 387)
    assert got.tally.accepted_tokens in (None, 150)
    assert got.length in (None, 2.16)
    assert got.tally.accepted_per_position == (70, 46, 34)[: len(got.tally.accepted_per_position)]


def test_a_cut_line_adds_its_counts_and_not_its_positions() -> None:
    old = "SpecDecoding metrics: " + ", ".join(FIELDS[f] for f in ("rate", "length", "counts", "positions"))
    (only,) = report(f"{old}\n{old[:-8]}").models
    assert (only.tally.drafts, only.tally.draft_tokens) == (258, 774)
    assert (only.tally.accepted_per_position, only.tally.position_drafts) == ((70, 46, 34), 129)
    assert only.tally.per_position[0] == pytest.approx(0.543, abs=5e-4)


def test_an_old_line_cut_between_two_positions_is_partial() -> None:
    old = "SpecDecoding metrics: " + ", ".join(FIELDS[f] for f in ("rate", "length", "counts", "positions"))
    got = window(old.removesuffix(", 0.264"))
    assert (got.partial, got.tally.drafts, got.speculative_tokens) == (True, 129, 3)


def test_a_line_without_both_counts_stays_out_of_the_totals() -> None:
    cut = LINE[: LINE.index("Drafted: 387")]
    assert model(f"{LINE}\n{cut}").tally.accepted_tokens == 150


def test_dynamic_k_leaves_the_draft_steps_unknown_and_the_rate_exact() -> None:
    text = LINE.replace("length: 2.16", "length: 2.63").replace("0.543, 0.357, 0.264", "0.763, 0.502, 0.371")
    text = (
        text.replace("150 tokens", "15000 tokens").replace("387 tokens", "25000 tokens").replace("38.8%", "60.0%")
    )
    found = report(text)
    (only,) = found.models
    assert (only.tally.drafts, only.acceptance_rate) == (None, 0.6)
    assert only.mean_acceptance_length == pytest.approx(2.63, abs=0.01)
    assert only.tally.per_position == pytest.approx((0.763, 0.502, 0.371), abs=1e-3)
    assert codes(found) == {"inconsistent_counts"}


def test_more_kept_than_proposed_is_refused() -> None:
    found = report(LINE.replace("150 tokens", "400 tokens"))
    assert (found.models[0].acceptance_rate, codes(found)) == (None, {"inconsistent_counts"})


def test_a_printed_rate_that_its_counts_deny_is_noted() -> None:
    assert "inconsistent_counts" in codes(report(LINE.replace("38.8%", "61.0%")))


def test_nothing_drafted_is_idle() -> None:
    text = "SpecDecoding metrics: Draft acceptance rate: nan%, Mean acceptance length: nan, Accepted: 0 tokens, "
    found = report(text + "Drafted: 0 tokens, Per-position acceptance rate: nan, nan")
    (only,) = found.models
    assert (only.state, only.acceptance_rate, only.mean_acceptance_length) == (State.IDLE, None, None)
    assert not found.windows[0].partial


def test_diffusion_models_have_no_acceptance() -> None:
    assert (
        read_log("DiffusionDecoding metrics: Committed token throughput: 5.00 tokens/s, Committed: 3 tokens")
        is None
    )


@pytest.mark.parametrize(
    ("accepted", "speed", "seconds"),
    [(150, "2.50", 60.0), (0, "0.00", 10.0), (2, "0.00", 10.0), (44, "0.72", 61.1)],
)
def test_the_interval_comes_from_the_accepted_tokens_or_else_the_drafted(
    accepted: int, speed: str, seconds: float
) -> None:
    text = LINE.replace("Accepted throughput: 15.00", f"Accepted throughput: {speed}")
    assert window(text.replace("150 tokens", f"{accepted} tokens")).seconds == seconds


def test_all_lines_of_the_case_add_up() -> None:
    (only,) = report(LOG).models
    assert (only.tally.drafts, only.tally.draft_tokens) == (4293, 17245)
    assert (only.running, only.waiting) == (2, 0)


@pytest.mark.parametrize("text", ["", "\n\n", "hello\nworld", "# TYPE x counter\nx 1\n", '{"message": "nothing"}'])
def test_other_text_is_no_log(text: str) -> None:
    assert read_log(text) is None


WORDS = st.sampled_from(
    [
        *LINE.split(" "),
        *LOAD.split(" "),
        *START.split(" "),
        "nan",
        "nan,",
        "{",
        '"',
        "\n",
        "99999999999999999999",
        "-1",
    ]
)


@settings(deadline=None)
@given(st.lists(WORDS | st.text(max_size=6), max_size=60).map(" ".join))
def test_arbitrary_text_never_raises(text: str) -> None:
    found = read_log(text)
    if found is not None:
        json.dumps(found.to_json(), allow_nan=False)


@settings(deadline=None)
@given(st.text())
def test_arbitrary_text_behind_a_marker_never_raises(text: str) -> None:
    for marker in ("SpecDecoding metrics: ", "Speculative metrics: ", "Engine 000: Avg prompt throughput: "):
        assert read_log(marker + text.replace("\n", " ")) is not None
