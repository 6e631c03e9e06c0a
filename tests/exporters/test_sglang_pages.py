"""Traps of SGLang's pages, one small page each."""

from __future__ import annotations

import pytest

from exporters.page_text import codes, read, sample

SGLANG = (
    'sglang:spec_accept_length{{model_name="m"{more}}} {length}\n'
    'sglang:spec_accept_rate{{model_name="m"{more}}} {rate}\n'
)


@pytest.mark.parametrize(
    ("length", "rate", "more", "expected"),
    [
        (2.8, 0.7, "", 0.6),  # 0.5.6 to 0.5.10: (A+S)/(S*(K+1)), K=3
        (2.8, 0.6, "", 0.6),  # 0.5.11 and newer: A/(S*K), K=3
        (4.0, 0.8, "", 0.75),
        (2.65, 0.55, "", 0.55),
    ],
)
def test_sglangs_rate_formula_is_told_from_its_length(
    length: float, rate: float, more: str, expected: float
) -> None:
    report = read(
        SGLANG.format(length=length, rate=rate, more=more) + 'sglang:num_running_reqs{model_name="m"} 4\n'
    )
    (model,) = report["models"]
    assert model["acceptance_rate"] == pytest.approx(expected)
    assert (model["mean_acceptance_length"], model["definition"]) == (length, "sglang-gauge")
    assert "gauge_only" in codes(report)


def test_sglangs_gauge_of_an_idle_engine_is_stale() -> None:
    report = read(SGLANG.format(length=2.8, rate=0.6, more="") + 'sglang:num_running_reqs{model_name="m"} 0\n')
    assert (report["models"][0]["state"], "stale_gauge" in codes(report)) == ("idle", True)


def test_sglangs_draft_scheduler_is_a_copy() -> None:
    page = SGLANG.format(length=2.8, rate=0.6, more=',engine_type="unified"') + SGLANG.format(
        length=2.7, rate=0.5, more=',engine_type="draft"'
    ).replace('"m"', '"draft-model"')
    report = read(page)
    assert [model["model"] for model in report["models"]] == ["m"]
    assert "draft_copy" in codes(report)


def test_sglangs_adaptive_tier_zero_is_off_not_a_collapse() -> None:
    page = (
        SGLANG.format(length=1.0, rate=0.0, more="")
        + 'sglang:spec_num_steps{model_name="m"} 0\nsglang:spec_num_draft_tokens{model_name="m"} 1\n'
        + 'sglang:spec_verify_calls_total{model_name="m"} 500\nsglang:generation_tokens_total{model_name="m"} 500\n'
    )
    report = read(page)
    assert (report["models"][0]["state"], "not_drafting" in codes(report)) == ("off", True)
    assert report["models"][0]["acceptance_rate"] is None


def test_sglangs_underscore_spelling() -> None:
    report = read('sglang_num_running_reqs{dp_rank="0"} 12\nsglang_spec_accept_length{dp_rank="0"} 2.79\n')
    assert (report["engine"], report["models"][0]["running"]) == ("sglang", 12)


def test_sglangs_priorities_come_beside_their_total() -> None:
    lines = "".join(
        f'sglang:num_running_reqs{{model_name="m",priority="{p}"}} {n}\n' for p, n in (("", 4), ("0", 1), ("1", 3))
    )
    assert read(lines)["models"][0]["running"] == 4
    assert read(lines.replace('priority=""', 'priority="2"'))["models"][0]["running"] == 8


def test_sglangs_draft_scheduler_adds_no_requests() -> None:
    page = "".join(
        f'sglang:num_running_reqs{{model_name="m",engine_type="{kind}"}} 4\n' for kind in ("unified", "draft")
    )
    assert read(page)["models"][0]["running"] == 4


def test_sglangs_gauges_of_busy_ranks_count_and_differing_ones_are_averaged() -> None:
    def rank(number: int, length: float, running: int) -> str:
        labels = f'{{model_name="m",dp_rank="{number}"}}'
        return f"sglang:spec_accept_length{labels} {length}\nsglang:num_running_reqs{labels} {running}\n"

    assert read(rank(0, 3.5, 0) + rank(1, 1.2, 6))["models"][0]["mean_acceptance_length"] == 1.2
    both = read(rank(0, 3.0, 2) + rank(1, 1.5, 6))
    assert both["models"][0]["mean_acceptance_length"] == pytest.approx((3.0 * 2 + 1.5 * 6) / 8)
    assert "stale_gauge" not in codes(both)


def test_sglang_configured_and_unused_is_idle_and_zeros_without_traffic_are_unknown() -> None:
    zeros = SGLANG.format(length=0.0, rate=0.0, more="") + 'sglang:num_running_reqs{model_name="m"} 0\n'
    configured = read(zeros + sample("sglang:spec_num_steps", 3) + sample("sglang:spec_num_draft_tokens", 4))
    assert (configured["models"][0]["state"], codes(configured)) == ("idle", set())
    assert read(zeros)["models"][0]["state"] == "unknown"


def test_sglang_between_two_ends_of_requests_is_not_idle() -> None:
    page = (
        SGLANG.format(length=2.8, rate=0.6, more="")
        + sample("sglang:spec_num_steps", 3)
        + sample("sglang:spec_num_draft_tokens", 4)
        + 'sglang:num_running_reqs{model_name="m"} 1\n'
        + sample("sglang:spec_verify_calls_total", 500)
        + sample("sglang:generation_tokens_total", 1400)
    )
    (model,) = read(page, since=page)["models"]
    assert (model["state"], model["mean_acceptance_length"]) == ("active", 2.8)


def test_sglangs_draft_tokens_are_unknown_over_a_change_of_k() -> None:
    def page(steps: int, calls: int, tokens: int) -> str:
        depths = sample("sglang:spec_num_steps", steps) + sample("sglang:spec_num_draft_tokens", steps + 1)
        counts = sample("sglang:spec_verify_calls_total", calls) + sample("sglang:generation_tokens_total", tokens)
        return depths + counts

    report = read(page(7, 300, 900), since=page(1, 100, 190))
    (model,) = report["models"]
    assert (model["drafts"], model["draft_tokens"], "k_changed" in codes(report)) == (200, None, True)
    assert model["mean_acceptance_length"] == pytest.approx(710 / 200)


@pytest.mark.parametrize(
    ("steps", "width", "depth", "drafted"),
    [
        (3, 4, 3, 300),  # a chain of EAGLE-3
        (12, 12, 11, 1100),  # n-gram as it starts with breadth 1: steps = draft tokens / breadth, root included
        (1, 12, 11, None),  # n-gram as it starts: breadth 10, and a tree's nodes are no row of drafts
        (5, 16, 15, None),  # a tree of EAGLE-3
    ],
)
def test_k_is_what_is_proposed_in_a_step_and_not_sglangs_number_of_steps(
    steps: int, width: int, depth: int, drafted: int | None
) -> None:
    page = (
        sample("sglang:spec_num_steps", steps)
        + sample("sglang:spec_num_draft_tokens", width)
        + sample("sglang:spec_verify_calls_total", 100)
        + sample("sglang:generation_tokens_total", 140)
    )
    (model,) = read(page)["models"]
    assert (model["k"], model["draft_tokens"], model["accepted_tokens"]) == (depth, drafted, 40)
    (model,) = read(page.replace(" 100\n", " 200\n").replace(" 140\n", " 290\n"), since=page)["models"]
    assert (model["k"], model["draft_tokens"], model["accepted_tokens"]) == (depth, drafted, 50)


@pytest.mark.parametrize(("rate", "expected"), [(0.75, None), (0.5333, 0.5333)])
def test_a_rate_that_contradicts_length_and_width_is_unknown(rate: float, expected: float | None) -> None:
    """A third party's fixture for 0.5.17 has 0.75 at length 4.2 and 7 slots: six draft tokens give 0.53."""
    page = SGLANG.format(length=4.2, rate=rate, more="") + (
        'sglang:spec_num_steps{model_name="m"} 1\nsglang:spec_num_draft_tokens{model_name="m"} 7\n'
        'sglang:spec_verify_calls_total{model_name="m"} 10\n'
    )
    report = read(page)
    assert report["models"][0]["acceptance_rate"] == (None if expected is None else pytest.approx(expected))
    assert report["models"][0]["mean_acceptance_length"] == pytest.approx(4.2)
    assert ("inconsistent_counts" in codes(report)) == (expected is None)
