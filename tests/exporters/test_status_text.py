"""Texts and numbers as the status page writes them."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.html_document import THIN, Document
from exporters.status_samples import SAMPLES, active
from specwatch_exporters.sidecar.status_page import render_page
from specwatch_exporters.sidecar.status_text import age_text, label, number, plain, seconds_text, share, share_text


@given(st.text(max_size=300))
def test_any_text_becomes_one_bounded_printable_line(text: str) -> None:
    shown = plain(text)
    assert shown.isprintable()
    assert len(plain(text, 20)) <= 20 * 10
    assert Document(label(text)).words == ([shown] if shown else [])
    Document(render_page(dataclasses.replace(SAMPLES["active"], version=text, models=(active(text),))).decode())


@pytest.mark.parametrize(
    "letter", ["\u202e", "\u2066", "\u200b", "\n", "\x00", "\x7f", "\u2028", "\ud800", "\ufeff"]
)
def test_letters_that_cannot_be_seen_are_spelt_out(letter: str) -> None:
    assert plain(f"a{letter}b") == f"a{letter.encode('unicode_escape').decode()}b"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0 s"),
        (4e-5, "40 µs"),
        (0.00123, "1.2 ms"),
        (0.0184, "18.4 ms"),
        (0.15, "150 ms"),
        (0.9996, "1.00 s"),
        (2.413, "2.41 s"),
        (59.96, "60.0 s"),
        (222, "4 min"),
        (8000, "2.2 h"),
    ],
)
def test_seconds(value: float, shown: str) -> None:
    assert seconds_text(value).replace(THIN, " ") == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.04, "0 s"), (5.0, "5 s"), (9.96, "10 s"), (42.4, "42 s"), (222, "4 min")]
)
def test_ages(value: float, shown: str) -> None:
    assert age_text(value).replace(THIN, " ") == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0 %"), (0.57, "57.0 %"), (0.004, "0.4 %"), (0.9996, "100 %"), (1.0, "100 %"), (None, "\N{EM DASH}")],
)
def test_shares(value: float | None, shown: str) -> None:
    assert share_text(value).replace(THIN, " ") == shown


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_no_number_is_unknown(value: float | None) -> None:
    for shown in (number(value), share(value)):
        assert Document(shown).text == "\N{EM DASH} unknown"
