from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.classes.features import VERSION, WINDOW, buckets_of, windows

BUCKETS = 1 << 12
LIMIT = 3 * WINDOW + 2
ANY_TEXT = st.text(st.characters(), max_size=300)


@given(ANY_TEXT)
def test_buckets_are_in_range_and_the_same_every_time(text: str) -> None:
    found = buckets_of(text, BUCKETS)
    assert found == buckets_of(text, BUCKETS)
    assert all(0 <= bucket < BUCKETS for bucket in found)
    assert bool(found) >= any(letter.isascii() and letter.isalnum() for letter in text)


@given(st.text(min_size=0, max_size=50), st.integers(0, 5000))
def test_what_is_looked_at_is_bounded(piece: str, times: int) -> None:
    assert len(windows(piece * times)) <= LIMIT


@pytest.mark.parametrize("length", [0, 1, 3 * WINDOW - 1, 3 * WINDOW])
def test_a_text_up_to_three_windows_is_looked_at_whole(length: int) -> None:
    text = "".join(chr(97 + index % 26) for index in range(length))
    assert windows(text) == text


@pytest.mark.parametrize("place", [0, 50_000 - 3, 100_000 - 6])
def test_start_middle_and_end_of_a_long_text_count(place: int) -> None:
    plain = "a " * 50_000
    marked = plain[:place] + "zebras" + plain[place + 6 :]
    assert buckets_of(marked, BUCKETS) != buckets_of(plain, BUCKETS)


def test_what_lies_between_the_windows_does_not_count() -> None:
    plain = "a " * 50_000
    marked = plain[:20_000] + "zebras" + plain[20_006:]
    assert buckets_of(marked, BUCKETS) == buckets_of(plain, BUCKETS)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Solve X", "solve x"),
        ("in 1874", "in 2026"),
        ("a  b", "a b"),
        ("a b a b", "a b a b a b"),
    ],
    ids=["case", "digits", "blanks", "counts"],
)
def test_what_makes_no_difference(left: str, right: str) -> None:
    assert buckets_of(left, BUCKETS) == buckets_of(right, BUCKETS)


@pytest.mark.parametrize(
    ("left", "right"),
    [("dog bites man", "man bites dog"), ("12", "123"), ("f(x)", "f[x]"), ("a\n    b", "a\nb"), ("été", "ete")],
)
def test_what_makes_a_difference(left: str, right: str) -> None:
    assert buckets_of(left, BUCKETS) != buckets_of(right, BUCKETS)


@pytest.mark.parametrize("text", ["", " ", "\t  \t", "\x00\x01"])
def test_nothing_to_read_has_no_buckets(text: str) -> None:
    assert buckets_of(text, BUCKETS) == set()


def test_a_lone_surrogate_is_no_error() -> None:
    assert buckets_of("a\ud800b", BUCKETS) == buckets_of("a?b", BUCKETS)


def test_these_rules_are_those_of_their_version() -> None:
    text = "def add(a, b):\n    return a + b\n\nWas kostet das? 12.50 €, 日本語 and \\frac{1}{2}\r\n" * 3
    found = repr(sorted(buckets_of(text, 1 << 15))).encode()
    assert (VERSION, hashlib.sha256(found).hexdigest()[:16]) == (1, "286f32b93ca40cd7"), (
        "changed rules need a new VERSION"
    )
