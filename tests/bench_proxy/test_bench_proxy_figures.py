"""What the comparison of proxies computes from what it measured."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_proxy import wire
from bench_proxy.aims import aims_table, judge, reached_word
from bench_proxy.entry import Entry
from bench_proxy.load_job import Figures, Phase
from bench_proxy.measures import ADDED_DELAY_P99, CHUNKS_ALONE, MEASURES, is_saturated, median, values
from bench_proxy.percentile import percentile
from bench_proxy.table import cell, figures_table

PACED = ("first_p50_ms", "first_p99_ms", "delay_p50_ms", "delay_p99_ms", "stretch_p99_ms")


def entry(name: str, delay_ms: float, a_second: float, share: float = 1.0) -> Entry:
    """An entry with two rounds of made-up figures."""
    paced: Figures = dict.fromkeys(PACED, delay_ms) | {"seconds": 4.0, "processor_s": 0.4}
    rate: Figures = {"seconds": 2.0, "processor_s": 2.0 * share, "count": 2.0 * share * a_second}
    memory: Figures = {"idle_mib": 40.0, "open_mib": 50.0}
    phases: dict[Phase, Figures] = {"paced": paced, "alone": rate, "flood": rate, "small": rate, "memory": memory}
    return Entry(name, found={phase: [figures, figures] for phase, figures in phases.items()})


DIRECT = entry("direct", 0.25, 40_000)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0.1, 100))
def test_a_percentile_is_a_value_with_enough_at_or_below_it(found: list[float], percent: float) -> None:
    value = percentile(found, percent)
    assert value in found
    at_or_below = sum(each <= value for each in found)
    assert at_or_below >= len(found) * percent / 100 - 1e-9
    below = sum(each < value for each in found)
    assert below < len(found) * percent / 100 + 1e-9


def test_of_nothing_there_is_no_percentile() -> None:
    assert math.isnan(percentile([], 99))


def test_what_is_added_is_over_direct_in_the_same_round() -> None:
    ours = entry("specwatch", 0.75, 10_000)
    assert values(ADDED_DELAY_P99, ours, DIRECT) == [0.5, 0.5]
    assert values(ADDED_DELAY_P99, DIRECT, DIRECT) == [0.25, 0.25]


def test_a_rate_is_for_a_second_of_processor_time() -> None:
    half_idle = entry("nginx", 0.3, 60_000, share=0.5)
    assert median(CHUNKS_ALONE, half_idle, DIRECT) == 60_000
    assert not is_saturated(CHUNKS_ALONE, half_idle)
    assert cell(CHUNKS_ALONE, half_idle, DIRECT) == "60,000 (60,000 to 60,000) †"


def test_every_measure_has_a_row_and_what_is_missing_is_a_dash() -> None:
    gone = Entry("LiteLLM", reason="ended with status 1")
    lines = figures_table([DIRECT, entry("specwatch", 0.75, 10_000), gone], DIRECT)
    assert len(lines) == 2 + len(MEASURES)
    assert all(line.endswith(" - |") for line in lines[2:])
    assert lines[2].startswith("| added TTFT p50, ms | 0.25 (0.25 to 0.25) | 0.50 (0.50 to 0.50) |")


@pytest.mark.parametrize(
    ("delay_ms", "a_second", "words"),
    [
        (0.75, 10_000, ["reached"] * 7),
        (1.50, 10_000, ["missed"] + ["reached"] * 6),
        (0.75, 4_000, ["reached", *["missed"] * 6]),
    ],
)
def test_aims(delay_ms: float, a_second: float, words: list[str]) -> None:
    others = {"nginx": entry("nginx", 0.3, 20_000), "LiteLLM": entry("LiteLLM", 9.0, 1_000)}
    found = judge(entry("specwatch", delay_ms, a_second), DIRECT, others)
    assert [reached_word(verdict) for verdict in found] == words


def test_an_aim_against_a_contender_that_is_missing_is_unknown() -> None:
    found = judge(entry("specwatch", 0.75, 10_000), DIRECT, {})
    assert [reached_word(verdict) for verdict in found] == ["reached"] + ["unknown"] * 6
    assert "not measured: unknown" in aims_table([("specwatch", found)])[-1]


@pytest.mark.parametrize("manner", ["whole", "paced", "alone", "flood"])
def test_an_order_survives_its_request(manner: wire.Manner) -> None:
    order = wire.StreamOrder(manner, rate=50, chunks=12, ticket=65_535)
    assert wire.read_order(wire.request_body(order)) == order


def test_stamps_are_found_in_a_stream_and_nowhere_else() -> None:
    stream = wire.STREAM_HEAD + wire.stamped_chunk() * 3 + wire.stream_end(usage=True)
    assert len(wire.read_stamps(stream)) == 3
    assert wire.read_stamps(wire.SMALL_REPLY) == []
