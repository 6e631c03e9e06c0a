"""Log lines as tickets and READMEs quote them, and lines beside the periodic ones."""

from __future__ import annotations

import pytest

from exporters.page_text import codes, read
from specwatch_exporters.logs.read import read_log
from specwatch_exporters.report import Report, State

HEAD = "(APIServer pid=1) INFO 06-06 10:00:01 [metrics.py:100] "
LINE = (
    "SpecDecoding metrics: Mean acceptance length: 2.77, Accepted throughput: 62.60 tokens/s, Drafted throughput: "
    "106.20 tokens/s, Accepted: 626 tokens, Drafted: 1062 tokens, Per-position acceptance rate: 0.802, 0.551, "
    "0.415, Avg Draft acceptance rate: 58.9%"
)
OTHER = 'INFO:     127.0.0.1:1234 - "POST /v1/chat/completions HTTP/1.1" 200 OK'


def log(text: str) -> Report:
    found = read_log(text)
    assert found is not None
    return found


def wrapped(width: int, before: str = "") -> str:
    """The line, broken at spaces."""
    lines = [HEAD]
    for word in LINE.split(" "):
        if len(lines[-1]) + len(word) > width and lines[-1] != HEAD:
            lines.append("")
        lines[-1] += f"{word} "
    return f"\n{before}".join(line.rstrip() for line in lines)


@pytest.mark.parametrize("width", [80, 90, 120, 200])
@pytest.mark.parametrize("before", ["", "  ", "> "])
def test_a_wrapped_line_is_put_together(width: int, before: str) -> None:
    report = log(f"{OTHER}\n{wrapped(width, before)}\n{OTHER}\n{HEAD}{LINE}\n")
    assert [(window.tally.drafts, window.partial) for window in report.windows] == [(354, False), (354, False)]
    assert report.windows[1].line == len(wrapped(width).split("\n")) + 3
    assert report.notices == ()


@pytest.mark.parametrize("behind", ["", OTHER, f"{OTHER}\n" * 20, f"{HEAD}{LINE}"])
def test_a_line_that_was_cut_stays_cut(behind: str) -> None:
    report = log(f"{HEAD}{LINE[: LINE.index('0.551') + 3]}\n{behind}\n")
    assert (report.windows[0].tally.accepted_tokens, report.windows[0].partial) == (626, True)
    assert len(report.windows) == 1 + behind.count("SpecDecoding")


@pytest.mark.parametrize(
    ("version", "method", "changed"),
    [
        ("0.32.0", "ngram", True),
        ("0.31.1", "ngram", False),
        ("0.33.0", "eagle3", False),
        ("0.33.0rc1", "ngram", True),
    ],
)
def test_a_log_says_when_its_n_gram_drafts_are_counted_at_every_step(
    version: str, method: str, *, changed: bool
) -> None:
    config = f"speculative_config=SpeculativeConfig(method='{method}', model=None, num_spec_tokens=3)"
    start = f"INFO [core.py:93] Initializing a V1 LLM engine (v{version}) with config: model='m', {config}"
    assert ("ngram_counts_all" in {notice.code for notice in log(f"{start}\n{HEAD}{LINE}\n").notices}) == changed


DECODE = (
    "[2026-05-09 12:00:01 TP0] Decode batch, #running-req: {running}, #token: 9120, token usage: 0.02, accept len: "
    "{length:.2f}, accept rate: {rate:.2f}, cuda graph: True, gen throughput (token/s): 210.11, #queue-req: 0"
)
CHANGED = "[2026-05-09 12:00:02 TP0] Adaptive spec params updated: steps 3 -> 0 (ema_accept_len=1.21)"
ADAPTIVE = (
    "[2026-05-09 12:00:00] server_args=ServerArgs(model_path='t', speculative_algorithm='EAGLE3', "
    "speculative_num_draft_tokens=4, speculative_adaptive=True)"
)
ON, OFF = DECODE.format(running=4, length=2.61, rate=0.54), DECODE.format(running=64, length=1.0, rate=0.0)


@pytest.mark.parametrize("told", [CHANGED, ADAPTIVE])
def test_intervals_in_which_an_adaptive_engine_does_not_draft_are_no_collapse(told: str) -> None:
    """Each forward counts as a verify call then: the means would fall to 1.09 and 3 %."""
    report = log(f"{told}\n{ON}\n{OFF}\n{OFF}")
    assert [report.models[0].length, report.models[0].rate] == pytest.approx([2.61, 0.54])
    assert [window.tally.drafts for window in report.windows] == [None, 0, 0]
    assert {notice.code for notice in report.notices} == {"gauge_only", "not_drafting"}
    assert "drafts_rejected" not in codes(read(f"{told}\n{ON}\n{OFF}\n{OFF}"))


def test_an_adaptive_engine_that_drafts_nothing_at_all_is_off() -> None:
    assert log(f"{ADAPTIVE}\n{OFF}\n{OFF}").models[0].state is State.OFF


def test_a_length_stuck_at_one_of_an_engine_that_does_not_adapt_is_a_collapse() -> None:
    report = read(f"{OFF}\n{OFF}")
    assert (report["models"][0]["state"], report["models"][0]["mean_acceptance_length"]) == ("active", 1.0)
    assert "drafts_rejected" in codes(report)


FINISH = (
    "[2025-10-02 23:42:16] Finish: obj=GenerateReqInput(rid='5', stream=True), out={'text': \"it's {'meta_info': "
    "\", 'meta_info': {'id': '5', 'finish_reason': {'type': 'stop', 'matched': 128009}, 'prompt_tokens': 16, "
    "'completion_tokens': 100, 'spec_verify_ct': 40, 'spec_accept_rate': 0.625, 'spec_accept_length': 2.5}}"
)


def test_sglangs_lines_of_finished_requests_are_summed() -> None:
    """Made after sgl-project/sglang#11441, whose first formula counted the bonus token over four slots."""
    report = log(f"{ADAPTIVE}\n{FINISH}\n{FINISH}\n")
    (model,) = report.models
    assert (report.engine, model.tally.drafts, model.tally.accepted_tokens) == ("sglang", 80, 120)
    assert [model.acceptance_rate, model.mean_acceptance_length] == pytest.approx([0.5, 2.5])


def test_v0s_line_gives_the_length_of_the_accepted_prefix() -> None:
    """As reported in vllm-project/vllm#7301: 60.7 % of the tokens pass, 38.8 % in front of a rejection."""
    report = log(
        "INFO 08-08 12:00:01 metrics.py:439] Speculative metrics: Draft acceptance rate: 0.607, System efficiency: "
        "0.510, Number of speculative tokens: 4, Number of accepted tokens: 32594, Number of draft tokens: 53716, "
        "Number of emitted tokens: 34244.\n"
    )
    assert report.models[0].acceptance_rate == pytest.approx(0.6068, abs=1e-4)
    assert any("kept 20815 of 53716 (38.8%), mean acceptance length 2.550" in one.message for one in report.notices)


FINISHED = (
    "Finish: obj=GenerateReqInput(rid='1', stream=True, priority=None), out={'meta_info': {'id': '1', "
    "'finish_reason': {'type': 'stop'}, 'prompt_tokens': 100, 'completion_tokens': 106, "
    "'spec_accept_token_num': 63, 'spec_draft_token_num': 215, 'spec_verify_ct': 43, "
    "'spec_accept_histogram': [11, 14, 11, 4, 0, 3]}}"
)


@pytest.mark.parametrize("parts", [1, 3, 9])
def test_the_line_of_a_finished_request_may_be_wrapped(parts: int) -> None:
    """As sgl-project/sglang#18332 quotes it."""
    words = FINISHED.split(", ")
    size = -(-len(words) // parts)
    lines = [", ".join(words[at : at + size]) for at in range(0, len(words), size)]
    report = log(OTHER + "\n" + ", \n".join(lines) + "\n" + OTHER)
    assert report.models[0].tally.accepted_tokens == 63
    assert report.models[0].facts["requests"] == 1


def test_tokenspeed_s_spelling_is_no_speculation_that_is_off() -> None:
    report = log(
        "[ts] [2026-07-24 20:53:48,415  ATTN TP RANK 0] - INFO - Decode batch. #running-req: 2, page ratio: "
        "0.02, gen throughput (token/s): 539.35, avg_accept_len: 1.90, accept_rate: 0.30, #queue-req: 0 "
        "(model_executor.py:1328)"
    )
    assert report.models[0].state is State.ACTIVE
    assert report.models[0].mean_acceptance_length == 1.9
    assert report.models[0].acceptance_rate == pytest.approx(0.3)


def test_vllm_0_5_says_tokens_twice() -> None:
    """The line of vllm-project/vllm#6768."""
    report = log(
        "INFO 07-24 04:00:31 metrics.py:316] Speculative metrics: Draft acceptance rate: 0.000, System efficiency: "
        "0.059, Number of speculative tokens: 16, Number of accepted tokens: 0, Number of draft tokens tokens: "
        "42272, Number of emitted tokens tokens: 2642."
    )
    (window,) = report.windows
    assert (window.tally.draft_tokens, window.tally.accepted_tokens, window.partial) == (42272, 0, False)
    assert any("kept 0 of 42272" in notice.message for notice in report.notices)
