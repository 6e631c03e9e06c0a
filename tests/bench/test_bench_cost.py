"""Dollars per million tokens: one definition, a split that adds up, list prices with their sources."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from bench.report_cells import PROMPT, small_results
from specwatch_alerts import values as alert_values
from specwatch_alerts.values import load_values
from specwatch_bench.bench_error import BenchError
from specwatch_bench.cost_of_cells import cheapest, costs_of, mix_of
from specwatch_bench.cost_prices import VendorPrice, load_prices
from specwatch_bench.cost_sensitivity import ACCEPTANCES, GPU_PRICES, UTILISATIONS, acceptance_row, price_grid
from specwatch_bench.cost_settings import CostSettings, cost_settings
from specwatch_bench.report_target import Target, read_results
from specwatch_cli import main

RULE = Path(alert_values.__file__).parent / "recording" / "cost.toml"
RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"


@cache
def real() -> Target:
    """The cells of one target; ten seconds."""
    return read_results(RESULTS / "qwen3-coder-30b").targets[0]


def test_a_price_is_that_of_the_recorded_rule() -> None:
    """The rule: 1e6 times the price of all GPUs for an hour, over the hour's output tokens."""
    (rule,) = [one for one in tomllib.loads(RULE.read_text())["rules"] if "cost_per_million" in one["record"]]
    words = " ".join(rule["expr"]["any"].split())
    assert words.startswith(
        "1e6 * @{cost.gpu_hour_usd} * @{cost.gpus_per_engine} * avg_over_time(specwatch:engines:count"
    )
    assert re.search(r"/ \(specwatch:generation_tokens:increase1h >= @\{cost.min_tokens_per_hour\}\)$", words)
    (cost, *_) = costs_of(real(), CostSettings(5.0, 0.25))
    tokens_of_an_hour = 3600 * 0.25 * float(cost.cell.tok_s[0])
    assert cost.all_output[0] == pytest.approx(1e6 * 5.0 * 1 / tokens_of_an_hour)


def test_the_default_price_is_the_alerts() -> None:
    assert cost_settings() == CostSettings(load_values().number("cost.gpu_hour_usd"), 0.5)


@pytest.mark.parametrize(
    ("price", "use"), [(0.0, 0.5), (-1.0, 0.5), (float("nan"), 0.5), (float("inf"), 0.5), (4.0, 0.0), (4.0, 1.01)]
)
def test_settings_of_which_no_price_can_be_made_are_refused(price: float, use: float) -> None:
    with pytest.raises(BenchError):
        CostSettings(price, use)


def test_input_and_output_together_cost_what_the_gpu_costs() -> None:
    costs = costs_of(real(), cost_settings())
    split = [one for one in costs if one.input is not None and one.output is not None]
    assert len(split) >= 10
    for one in split:
        assert one.input is not None
        assert one.output is not None
        both = one.output + one.prompt_per_output * one.input
        assert both == pytest.approx(one.all_output)
        assert np.all(one.input >= 0)
        assert np.all(one.output > 0)


@given(st.floats(0.1, 50.0), st.floats(0.1, 100.0))
def test_at_its_break_even_utilisation_both_bills_are_equal(price_in: float, price_out: float) -> None:
    vendor = VendorPrice("v", "m", price_in, price_out, "s", date(2026, 1, 1), "")
    one = costs_of(real(), cost_settings())[0]
    use = one.break_even(vendor).value
    at_that = float(one.all_output[0]) * one.utilisation / use
    assert at_that == pytest.approx(vendor.output_usd + one.prompt_per_output * vendor.input_usd)


def test_the_mix_is_that_of_the_requests(tmp_path: Path) -> None:
    (target,) = read_results(small_results(tmp_path)).targets
    assert mix_of(target) == pytest.approx(PROMPT / 60.0, rel=0.25), "40 tokens an answer without a draft, 80 with"


def test_the_grid_and_the_row_meet_the_price_itself() -> None:
    settings = cost_settings(4.0, 0.5)
    for one in costs_of(real(), settings):
        grid = price_grid(one, settings)
        assert grid[GPU_PRICES.index(4.0)][UTILISATIONS.index(0.5)] == pytest.approx(float(one.all_output[0]))
        row = acceptance_row(one)
        assert (not row) == (one.plain or one.estimate is None)
        if row:
            dollars = [accepted.usd for accepted in row]
            assert dollars == sorted(dollars, reverse=True), "a better draft is never dearer"
            assert dollars[[accepted.factor for accepted in row].index(1.0)] == pytest.approx(
                float(one.all_output[0])
            )
            assert {accepted.factor for accepted in row} <= set(ACCEPTANCES)


def test_the_cheapest_is_the_one_with_most_tokens_per_second() -> None:
    best = cheapest(costs_of(real(), cost_settings()))
    assert (best.label, best.cell.batch) == ("EAGLE-3 K=3", 128)


def test_every_shipped_price_says_where_and_when_it_was_seen() -> None:
    prices = load_prices()
    assert {one.name for one in prices.vendors} == {"Anthropic", "OpenAI"}
    assert "GPT-5.4" in {one.model for one in prices.vendors}
    assert any("Claude Sonnet 4.7" in one.note for one in prices.vendors), "its stand-in says so"
    for vendor in prices.vendors:
        assert 0 < vendor.input_usd < vendor.output_usd
        assert vendor.source.startswith("https://")
        assert vendor.seen >= date(2026, 11, 30)
    for gpu in prices.gpus:
        assert gpu.source.startswith("https://")
        assert gpu.seen >= date(2026, 11, 30)


ROW = """[[vendor]]
name = "v"
model = "m"
input_usd = 1
output_usd = 2
source = "https://example.com"
seen = 2026-01-01
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ROW.replace("source", "sauce"), "source must be a text"),
        (ROW.replace("seen = 2026-01-01", "seen = 'today'"), "seen must be a day"),
        (ROW.replace("input_usd = 1\n", ""), "input_usd must be a number of at least 0"),
        (ROW.replace("input_usd = 1", "input_usd = -1"), "input_usd must be a number of at least 0"),
        (ROW + "cached = 1\n", "cached is not known here"),
        ("", "vendor must be a list that is not empty"),
        ("x = ", "cannot be read as TOML"),
    ],
)
def test_a_price_list_that_cannot_be_used_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(BenchError, match=words):
        load_prices(path)


def test_the_command_prints_tables_and_takes_prices_of_ones_own(tmp_path: Path) -> None:
    folder = small_results(tmp_path / "r")
    prices = tmp_path / "prices.toml"
    prices.write_text(ROW)
    options = ["bench", "cost", str(folder), "--gpu-hour", "2", "--utilisation", "1", "--prices", str(prices)]
    done = CliRunner().invoke(main.command_line(), options)
    assert done.exit_code == 0, done.output
    assert "At $2.00 per GPU hour and 100 % utilisation" in done.output
    assert "| v m | " in done.output
    assert "never: dearer even when full" in done.output
    assert "svg" not in done.output
