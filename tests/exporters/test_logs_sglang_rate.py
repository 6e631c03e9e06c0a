"""SGLang's three rate formulas, told apart from the numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specwatch_exporters.sglang_rate import ROOTED, STRICT, UNKNOWN, Evidence, Interpretation, candidates, interpret

CASE = Path(__file__).parent.parent / "cases" / "29-sglang-accept-rate-formula"
TABLE = json.loads((CASE / "expected.json").read_text())["table"]


def codes(reading: Interpretation) -> list[str]:
    return [notice.code for notice in reading.notices]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"m{row['m']}")
@pytest.mark.parametrize("rounding", [0.0, 0.005])
@pytest.mark.parametrize("slots", [None, 5])
def test_old_rates_are_converted(row: dict[str, float], rounding: float, slots: int | None) -> None:
    reading = interpret(row["old"], row["m"] + 1.0, rounding, slots)
    assert reading.rate == pytest.approx(row["new"], abs=1e-9)
    assert reading.length == row["m"] + 1.0


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"m{row['m']}")
def test_new_rates_stay(row: dict[str, float]) -> None:
    reading = interpret(row["new"], row["m"] + 1.0, 0.0, draft_tokens=5)
    assert reading.rate == pytest.approx(row["new"])
    assert codes(reading) == []


@pytest.mark.parametrize(
    ("rate", "length", "rounding", "slots", "strict", "expected"),
    [
        (0.80, 4.00, 0.005, None, None, Interpretation(0.75, 4.0, 4, ROOTED)),
        (0.68, 3.05, 0.005, None, None, Interpretation(0.68, 3.05, 3, STRICT)),
        (0.55, 2.65, 0.0, None, None, Interpretation(0.55, 2.65, 3, STRICT)),
        (0.6033, 2.81, 0.0, None, None, Interpretation(0.6033, 2.81, 3, STRICT)),
        (1.0, 4.0, 0.005, None, None, Interpretation(1.0, 4.0, 3, STRICT)),
        (0.0, 1.0, 0.005, None, None, Interpretation(0.0, 1.0, None, STRICT)),
        (0.0, 1.0, 0.0, 5, None, Interpretation(0.0, 1.0, 4, STRICT)),
        (0.6, 2.8, 0.0, 4, True, Interpretation(0.6, 2.8, 3, STRICT)),
        (0.7, 2.8, 0.0, None, False, Interpretation(0.6, 2.8, 3, ROOTED)),
        (0.7, None, 0.0, 4, False, Interpretation(0.6, 2.8, 3, ROOTED)),
        (0.6, None, 0.0, None, True, Interpretation(0.6, None, None, STRICT)),
        (None, 2.8, 0.005, 4, None, Interpretation(0.6, 2.8, 3)),
        (None, 2.8, 0.005, None, None, Interpretation(None, 2.8)),
        (0.0, 0.0, 0.0, None, None, Interpretation(None, None)),
        (None, None, 0.0, 4, None, Interpretation(None, None, 3)),
    ],
)
def test_readings(
    rate: float | None,
    length: float | None,
    rounding: float,
    slots: int | None,
    strict: bool | None,
    expected: Interpretation,
) -> None:
    reading = interpret(rate, length, rounding, slots, strict)
    assert reading.rate == pytest.approx(expected.rate)
    assert reading.length == pytest.approx(expected.length)
    assert (reading.speculative_tokens, reading.formula) == (expected.speculative_tokens, expected.formula)
    assert codes(reading) == (["rate_converted"] if expected.formula == ROOTED else [])


@pytest.mark.parametrize("rate", [1.18, 1.02, math.inf])
@pytest.mark.parametrize("strict", [None, True, False])
def test_a_rate_over_one_is_refused_not_clipped(rate: float, strict: bool | None) -> None:
    reading = interpret(rate, 4.0, 0.005, None, strict)
    assert (reading.rate, reading.length, codes(reading)) == (None, 4.0, ["rate_over_one"])


@pytest.mark.parametrize(
    ("rate", "length", "rounding"),
    [(0.5, 3.14159, 0.0), (0.18, 2.92, 0.005), (0.25, 2.0, 0.0), (0.8, None, 0.0)],
    ids=["neither", "both", "both-exactly", "no-length"],
)
def test_what_fits_no_single_formula_is_unknown(rate: float, length: float | None, rounding: float) -> None:
    reading = interpret(rate, length, rounding)
    assert (reading.rate, reading.formula, codes(reading)) == (None, UNKNOWN, ["rate_formula_unknown"])


def test_the_number_of_slots_settles_what_fits_both() -> None:
    assert interpret(0.18, 2.92, 0.005, 16).rate == pytest.approx(1.92 / 15)
    assert interpret(0.25, 2.0, 0.0, 5).rate == 0.25


@pytest.mark.parametrize("bad", [math.nan, -0.1])
def test_impossible_numbers_are_unknown(bad: float) -> None:
    assert interpret(bad, bad, 0.0).rate is None


@st.composite
def printed(draw: st.DrawFn) -> tuple[bool, float, float, float]:
    """A strict or rooted line: formula, true rate, printed rate, printed length."""
    depth, steps = draw(st.integers(1, 16)), draw(st.integers(1, 2000))
    accepted = draw(st.integers(0, depth * steps))
    strict = draw(st.booleans())
    length = (accepted + steps) / steps
    true = accepted / (steps * depth)
    return strict, true, round(true if strict else length / (depth + 1), 2), round(length, 2)


@settings(deadline=None)
@given(printed())
def test_a_line_is_read_right_or_not_at_all(line: tuple[bool, float, float, float]) -> None:
    _, true, rate, length = line
    reading = interpret(rate, length, 0.005)
    assert reading.rate is None or reading.rate == pytest.approx(true, abs=0.0151)
    assert reading.rate is None or 0.0 <= reading.rate <= 1.0


@settings(deadline=None)
@given(st.integers(1, 12), st.booleans(), st.lists(st.integers(0, 1000), min_size=5, max_size=30))
def test_many_lines_settle_the_formula(depth: int, strict: bool, shares: list[int]) -> None:
    evidence = Evidence(0.005)
    for share in shares:
        length = 1.0 + depth * share / 1000
        evidence.add(round(share / 1000 if strict else length / (depth + 1), 2), round(length, 2))
    assert evidence.formula() in (None, strict)
    assert evidence.formula() is None or evidence.slots() in (None, depth + 1)


def test_evidence_decides_what_one_line_leaves_open() -> None:
    evidence = Evidence(0.005)
    evidence.add(0.18, 2.92)
    assert (evidence.formula(), evidence.slots()) == (None, None)
    evidence.add(0.29, 4.64)
    assert (evidence.formula(), evidence.slots()) == (False, 16)


def test_evidence_of_an_adaptive_engine_settles_the_formula_without_slots() -> None:
    evidence = Evidence(0.005)
    for rate, length in ((0.5, 1.5), (0.68, 3.05), (0.4, 3.0)):
        evidence.add(rate, length)
    assert evidence.formula() is not False


def test_candidates_of_exact_values() -> None:
    found = candidates(0.8, 4.0, 0.0)
    assert (found.strict, found.rooted) == (frozenset(), frozenset({5}))
