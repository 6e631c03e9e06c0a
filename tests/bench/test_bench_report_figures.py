"""Figures of the report: bootstrap, verdicts, crossover, and cells that are not published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report_cells import SECONDS, manifest, requests, small_results, write
from specwatch_bench.figures import figures
from specwatch_bench.profile_cell import method_of
from specwatch_bench.report_cell import FEW, read_report_cell
from specwatch_bench.report_draws import generator, interval, quantile_draws, rate_draws
from specwatch_bench.report_missing import missing_of
from specwatch_bench.report_tables import limited
from specwatch_bench.report_target import read_results
from specwatch_bench.report_verdict import Effect, Speedup, crossovers_of, speedups_of, verdicts_of
from specwatch_bench.report_words import dollars, number, percent


def speedup(label: str, batch: int, *draws: float) -> Speedup:
    return Speedup(label, label, batch, np.array([draws[0], *draws]))


@given(st.lists(st.floats(0.1, 1e4), min_size=1, max_size=40), st.integers(0, 9))
def test_a_quantile_is_a_value_and_its_interval_holds_it(values: list[float], seed: int) -> None:
    array = np.array(values)
    draws = quantile_draws(array, np.ones_like(array), np.arange(len(array)), (0.5, 0.99), generator(str(seed)))
    for found, share in zip(draws, (0.5, 0.99), strict=True):
        assert found[0] == sorted(values)[max(0, int(np.ceil(share * len(values) - 1e-9)) - 1)]
        seen = interval(found)
        assert seen.lower <= seen.value <= seen.upper
        assert set(found) <= set(values)


def test_what_belongs_to_one_request_is_drawn_together() -> None:
    """A long request of small values and a short one of great ones, which only counts where it is drawn twice."""
    values = np.repeat([5.0, 1.0], [10, 1000])
    owners = np.repeat([0, 1], [10, 1000])
    (median,) = quantile_draws(values, np.ones(1010), owners, (0.5,), generator("x"))
    assert np.mean(median == 5.0) == pytest.approx(0.25, abs=0.08)


@given(st.floats(0.5, 20.0), st.integers(2, 200))
def test_an_even_rate_has_no_spread(seconds: float, per_bin: int) -> None:
    """With two or more in every tenth of a second: fewer leave tenths empty, and that is a spread."""
    count = int(seconds * per_bin * 10)
    moments = (np.arange(count) + 0.5) * seconds / count
    found = rate_draws(moments, np.ones(count), seconds, generator("even"))
    assert found[0] == pytest.approx(count / seconds)
    assert np.ptp(found) <= 0.5 * found[0]


@pytest.mark.parametrize("seconds", [0.6, 1.0, 1.5, 2.0])
def test_a_short_run_has_a_spread_too(seconds: float) -> None:
    moments = np.concatenate([np.linspace(0, seconds / 2, 90), np.linspace(seconds / 2, seconds * 0.99, 10)])
    seen = interval(rate_draws(moments, np.ones(100), seconds, generator("short")))
    assert seen.upper - seen.lower > 0.2 * seen.value


def test_the_figures_are_those_of_the_cells_own_last_line(tmp_path: Path) -> None:
    records = requests(0.02, 2, 4)
    cell = read_report_cell(write(tmp_path, "eagle3", 4, records))
    own = figures(records, SECONDS)
    assert cell.requests == own.requests
    for mine, theirs in (
        (cell.tok_s, own.tok_s),
        (cell.ttft.p50, own.ttft_p50),
        (cell.e2e.p99, own.e2e_p99),
        (cell.token.p50, own.token_p50),
        (cell.chunk.p99, own.chunk_p99),
    ):
        assert mine[0] == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize(
    ("draws", "effect", "words"),
    [
        ((2.0, 1.8, 2.2), Effect.HELPS, "**a** wins with 2.00x"),
        ((1.1, 0.9, 1.3), Effect.UNCLEAR, "no drafter is shown to help; the best is a with 1.10x"),
        ((0.95, 0.8, 1.1), Effect.UNCLEAR, "no drafter is shown to help; the best is a with 0.95x"),
        ((0.8, 0.7, 0.9), Effect.HURTS, "speculation **hurts**: the best drafter gives 0.80x; leave it off"),
    ],
)
def test_verdict_of_one_drafter(draws: tuple[float, ...], effect: Effect, words: str) -> None:
    one = speedup("a", 8, *draws)
    assert one.effect is effect
    assert verdicts_of([one])[0].words == words


def test_a_loss_in_a_run_that_stood_still_is_no_advice() -> None:
    one = replace(speedup("a", 8, 0.6, 0.5, 0.7), stalled="1.4 of its 12 s stood still")
    words = "speculation **hurts**: the best drafter gives 0.60x; 1.4 of its 12 s stood still"
    assert verdicts_of([one])[0].words == words


def test_a_drafter_that_is_not_told_apart_is_named_and_one_that_hurts_too() -> None:
    found = [speedup("a", 8, 1.5, 1.4, 1.6), speedup("b", 8, 1.45, 1.5, 1.3), speedup("c", 8, 0.9, 0.8, 0.95)]
    (verdict,) = verdicts_of(found)
    assert verdict.words == "**a** leads with 1.50x, not told apart from b; c **hurts**"
    assert [one.label for one in verdict.speedups] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        ({1: 2.0, 4: 1.5, 16: 0.5}, "8 (8 to 8)"),
        ({1: 2.0, 4: 1.5, 16: 1.2}, "not reached by 16"),
        ({1: 0.9, 4: 0.5}, "never pays: below 1x at every measured batch, 1 to 4"),
        ({1: 0.5, 4: 1.5, 16: 0.5}, "8 (8 to 8); hurts at 1 too"),
    ],
)
def test_crossover(curve: dict[int, float], words: str) -> None:
    found = [speedup("a", batch, value, value) for batch, value in curve.items()]
    (crossover,) = crossovers_of(found)
    assert crossover.words == words


def test_a_folder_gives_the_speed_ups_that_were_put_into_it(tmp_path: Path) -> None:
    (target,) = read_results(small_results(tmp_path)).targets
    found = {one.batch: one for one in speedups_of(target)}
    assert found[1].range.value == pytest.approx(2.0, rel=0.05)
    assert found[1].effect is Effect.HELPS
    assert found[4].range.value == pytest.approx(0.5, rel=0.05)
    assert found[4].effect is Effect.HURTS
    assert 8 not in found, "its steps without prompts come from no other class, so nothing stands in"


def test_a_cell_that_stood_still_is_not_published(tmp_path: Path) -> None:
    (target,) = read_results(small_results(tmp_path)).targets
    (refused,) = [cell for cell in target.cells if cell.refused]
    assert refused.name == "eagle3--chat--c8"
    assert "of the time went into steps of over 0.5 s" in refused.refused
    assert refused not in target.published
    assert target.cell("eagle3", 8) is None


@pytest.mark.parametrize(
    ("engine", "end", "found"),
    [
        ({"speculative": {"method": "ngram", "num_speculative_tokens": 3}}, {}, ("ngram", 3)),
        (
            {"speculative": {"method": "eagle3", "num_speculative_tokens": 5, "parallel_drafting": True}},
            {},
            ("peagle", 5),
        ),
        ({"name": "x"}, {"drafts": None}, ("off", 0)),
        (
            {"name": "x", "arguments": ["--speculative-algorithm", "EAGLE3", "--speculative-num-steps", 4]},
            {"drafts": 9.0},
            ("eagle3", 4),
        ),
        (
            {"name": "x", "arguments": ["--method", "eagle3"]},
            {"drafts": 9.0, "per_position": [1, 1]},
            ("eagle3", 2),
        ),
        ({"name": "Mine"}, {"drafts": 9.0}, ("mine", 1)),
        ({"name": "x", "arguments": ["--speculative-algorithm=NGRAM"]}, {"drafts": None}, ("ngram", 1)),
        (
            {"name": "x", "arguments": ["--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", 4]},
            {"outcome": "engine_failed"},
            ("ngram", 3),
        ),
    ],
)
def test_the_drafter_of_a_cell(engine: dict[str, object], end: dict[str, object], found: tuple[str, int]) -> None:
    assert method_of({"engine": engine}, end) == found


def test_missing_cells_are_named_and_those_of_a_planned_matrix_too(tmp_path: Path) -> None:
    small_results(tmp_path)
    manifest(tmp_path, {"off": ["chat"], "eagle3": None, "ngram": ["code"]})
    planned = "name: later\ntarget: later shape\nengine: replay\nengines: [{name: x}]\n"
    planned += "datasets: [{name: chat}]\nlevels: [{concurrency: [1, 2]}]\n"
    (tmp_path / "later.yaml").write_text(planned)
    (tmp_path / "report.toml").write_text('planned = ["later.yaml"]\n')
    found = [(one.target, one.engine, one.cells, one.whole) for one in missing_of(read_results(tmp_path))]
    assert found == [
        ("small shape", "off", ("chat 16",), False),
        ("small shape", "eagle3", ("chat 16", "code 2/s"), False),
        ("small shape", "ngram", ("code 2/s",), True),
        ("later shape", "x", ("chat 1", "chat 2"), True),
    ]


@pytest.mark.parametrize(
    ("requests_seen", "words"), [(FEW[0.99] - 1, "≥ 5.00"), (FEW[0.99], "5.00 (4.00 to 6.00)")]
)
def test_a_quantile_with_too_few_requests_is_a_lower_limit(requests_seen: int, words: str) -> None:
    draws = np.array([5.0, *np.linspace(3.95, 6.05, 41)])
    found = limited(draws, short=requests_seen < FEW[0.99])
    assert (found if isinstance(found, str) else found.words) == words
    assert FEW == {0.5: 6, 0.95: 72, 0.99: 368}


def test_numbers_in_words() -> None:
    assert [number(value) for value in (0, 0.01234, 1.5, 47.24, 1893.4, float("nan"))] == [
        "0", "0.0123", "1.50", "47.2", "1,893", "-",
    ]  # fmt: skip
    assert [dollars(value) for value in (0.062, 1.5, 1234.5)] == ["$0.062", "$1.50", "$1,234.50"]
    assert [percent(value) for value in (0.026, 0.5, 1.0)] == ["2.6 %", "50 %", "100 %"]
