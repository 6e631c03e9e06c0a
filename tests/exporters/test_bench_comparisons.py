"""Rows of a report against each other: with and without speculation, at the same load.

Figures as reported in vllm-project/vllm#39680 and #8439, vllm-project/vllm-ascend#16638 and llm-d/llm-d#2074.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from specwatch_exporters.inspection import Content, InspectionError, inspect
from specwatch_exporters.report import Comparison, Report


def report(*rows: dict[str, Any]) -> Report:
    return inspect(Content("rows.json", json.dumps(rows).encode()))


def changes(found: Report) -> dict[tuple[str, float | None, str], float]:
    assert all(item.change_pct[0] == item.change_pct[1] for item in found.comparisons)
    return {(item.config, item.at, item.measure): round(item.change_pct[0], 2) for item in found.comparisons}


def codes(found: Report) -> list[str]:
    return [notice.code for notice in found.notices]


SLOW = {"config": "mtp k=1", "concurrency": 1, "tok_s": 128.3, "acceptance_rate": 0.966}


@pytest.mark.parametrize(
    "plain",
    [
        "no mtp",
        "no_spec",
        "No Spec Decode",
        "without MTP",
        "spec off",
        "off",
        "baseline",
        "vanilla",
        "no speculation",
    ],
)
def test_acceptance_does_not_make_speculation_pay(plain: str) -> None:
    found = report(SLOW, {"config": plain, "concurrency": 1, "tok_s": 342.2})
    assert changes(found) == {("mtp k=1", 1, "tok_s"): -62.51}
    (notice,) = found.notices
    assert notice.code == "speculation_slower"
    assert "96.6%" in notice.message
    assert "62.51 % under" in notice.message


@pytest.mark.parametrize("other", ["eagle3 k=2", "baseline eagle3", "mtp k=3"])
def test_two_drafts_are_only_compared(other: str) -> None:
    found = report({"config": other, "concurrency": 1, "tok_s": 342.2}, SLOW)
    assert (len(found.comparisons), codes(found)) == (1, [])


def test_a_first_token_that_comes_later_is_not_called_slower() -> None:
    rows = [{"config": config, "qps": 1, "ttft_ms": ttft} for config, ttft in (("off", 40.0), ("eagle3", 50.0))]
    assert codes(report(*rows)) == []


def test_the_cost_of_drafting_nothing_shows_in_throughput_too() -> None:
    rows = [("K=3", 180), ("dynamic K=0", 180), ("no spec", 350)]
    found = report(*({"config": name, "concurrency": 32, "tok_s": rate} for name, rate in rows))
    assert codes(found) == ["speculation_slower", "zero_draft_tax"]
    assert "48.57 % under" in found.notices[1].message


def test_request_rates_are_loads() -> None:
    rows = [
        ("baseline", 1, 13.2, 100),
        ("eagle3", 1, 9.7, 100),
        ("baseline", 16, 30, 1000),
        ("eagle3", 16, 31, 870),
    ]
    found = report(
        *({"config": name, "qps": qps, "median_tpot_ms": tpot, "tok_s": rate} for name, qps, tpot, rate in rows)
    )
    assert changes(found) == {
        ("eagle3", 1, "tok_s"): 0.0,
        ("eagle3", 1, "median_tpot_ms"): -26.52,
        ("eagle3", 16, "tok_s"): -13.0,
        ("eagle3", 16, "median_tpot_ms"): 3.33,
    }
    assert [notice.code for notice in found.notices if "qps 16" in notice.message] == ["speculation_slower"]
    assert found.comparisons[0].to_json()["level"] == "qps"
    assert found.comparisons[0].to_json()["concurrency"] is None


@pytest.mark.parametrize("load", [{}, {"concurrency": 1}])
def test_tokens_over_their_time_are_a_throughput(load: dict[str, int]) -> None:
    found = report(
        {"config": "without", "output_tokens": 1000, "duration_s": 14.328832, **load},
        {"config": "ngram k=5", "output_tokens": 947, "duration_s": 15.324905, **load},
    )
    assert list(changes(found).values()) == [-11.46]


def test_gaps_of_chunks_are_not_compared() -> None:
    rows = [{"config": name, "concurrency": 1, "median_itl_ms": 9.0, "tok_s": 100.0} for name in ("off", "eagle3")]
    assert {item.measure for item in report(*rows).comparisons} == {"tok_s"}


@pytest.mark.parametrize(
    "rows",
    [
        [{"config": "a", "concurrency": 1, "tok_s": 1.0}, {"config": "b", "tok_s": 1.0}],
        [{"config": "a", "tok_s": 1.0}, {"config": "a", "tok_s": 2.0}],
        [{"config": "a", "concurrency": -1, "tok_s": 1.0}],
    ],
)
def test_rows_of_unknown_loads_are_not_compared(rows: list[dict[str, Any]]) -> None:
    try:
        compared: tuple[Comparison, ...] = report(*rows).comparisons
    except InspectionError:
        compared = ()
    assert compared == ()
