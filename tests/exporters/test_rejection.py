"""A collapse is silent: made after vllm-project/vllm#44164, sgl-project/sglang#24795 and sglang-jax#1586."""

from __future__ import annotations

import pytest

from exporters.page_text import codes, read, sample, vllm

SPEC = (
    "INFO 06-06 10:00:{second:02d} [metrics.py:100] SpecDecoding metrics: Mean acceptance length: {length:.2f}, "
    "Accepted throughput: 1.00 tokens/s, Drafted throughput: 90.00 tokens/s, Accepted: {accepted} tokens, Drafted: "
    "900 tokens, Per-position acceptance rate: {first:.3f}, 0.000, 0.000, Avg Draft acceptance rate: {rate:.1f}%\n"
)


def spec_line(accepted: int, second: int = 0) -> str:
    share = accepted / 300
    return SPEC.format(accepted=accepted, second=second, length=1 + share, first=share, rate=accepted / 9)


@pytest.mark.parametrize(
    ("drafts", "drafted", "accepted", "warned"),
    [
        (50_000, 150_000, 120, True),
        (50_000, 50_000, 5_000, True),
        (50_000, 50_000, 12_500, False),  # MTP with K = 1
        (50_000, 750_000, 70_000, False),  # K = 15: 9 % of the tokens, and 2.4 tokens a step
        (50, 150, 1, False),
        (0, 0, 0, False),
    ],
)
def test_a_page_whose_drafts_are_nearly_all_rejected_says_so(
    drafts: int, drafted: int, accepted: int, warned: bool
) -> None:
    report = read(vllm(drafts, drafted, accepted, tokens=60_000))
    assert ("drafts_rejected" in codes(report)) == warned


@pytest.mark.parametrize(("length", "steps", "warned"), [(1.0, 3, True), (2.4, 3, False), (1.0, 0, False)])
def test_sglangs_length_stuck_at_one_is_a_collapse_only_while_it_drafts(
    length: float, steps: int, warned: bool
) -> None:
    page = sample("sglang:spec_accept_length", length) + sample("sglang:num_running_reqs", 4)
    report = read(page + sample("sglang:spec_num_steps", steps) + sample("sglang:spec_num_draft_tokens", steps + 1))
    assert ("drafts_rejected" in codes(report)) == warned


@pytest.mark.parametrize(("requests", "warned"), [(1, False), (20, True)])
def test_one_request_can_be_hard_to_draft(requests: int, *, warned: bool) -> None:
    record = '{"metrics": {"speculative_decoding": {"num_spec_steps": 200, "num_accepted_draft_tokens": 10, '
    record += '"num_draft_tokens": 600, "num_spec_tokens": 3, "acceptance_histogram": [190, 10, 0, 0]}}}'
    assert ("drafts_rejected" in codes(read(f"[{', '.join([record] * requests)}]"))) == warned


def test_drafts_that_are_copied_are_often_wrong_and_no_collapse() -> None:
    start = "INFO 06-06 09:59:01 [core.py:93] Initializing a V1 LLM engine (v0.20.0) with config: model='m', "
    config = "speculative_config=SpeculativeConfig(method='{}', model=None, num_spec_tokens=3)\n"
    for method, warned in (("ngram", False), ("suffix", False), ("eagle3", True)):
        report = read(start + config.format(method) + spec_line(3) + spec_line(2, 10))
        assert ("drafts_rejected" in codes(report)) == warned


def test_a_log_names_the_lines_that_collapsed_even_if_its_mean_is_fine() -> None:
    report = read(spec_line(300) + spec_line(290, 10) + spec_line(3, 20) + spec_line(2, 30))
    messages = [warning["message"] for warning in report["warnings"] if warning["code"] == "drafts_rejected"]
    assert len(messages) == 1
    assert messages[0].startswith("2 lines, the first is 3: ")
