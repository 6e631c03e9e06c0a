from __future__ import annotations

from specwatch_exporters.page import Key
from specwatch_exporters.sidecar.recent import Recent


def drafts(model: str) -> Key:
    return Key("specwatch_drafts_total", model, "0", "")


def accepted(model: str) -> Key:
    return Key("specwatch_accepted_tokens_total", model, "0", "")


def test_a_model_that_appears_is_known_from_its_second_page_on() -> None:
    recent = Recent()
    recent.add(0.0, {drafts("a"): 10.0})
    recent.add(5.0, {drafts("a"): 20.0, drafts("b"): 1000.0})
    assert recent.increases() == {drafts("a"): 10.0}
    recent.add(10.0, {drafts("a"): 30.0, drafts("b"): 1010.0})
    assert recent.increases() == {drafts("a"): 20.0, drafts("b"): 10.0}


def test_a_series_that_appears_for_a_known_model_counts_from_zero() -> None:
    recent = Recent()
    recent.add(0.0, {drafts("a"): 10.0})
    recent.add(5.0, {drafts("a"): 20.0, accepted("a"): 5.0})
    assert recent.increases() == {drafts("a"): 10.0, accepted("a"): 5.0}


def test_the_window_slides_and_a_long_gap_begins_it_anew() -> None:
    recent = Recent(60.0)
    for step in range(20):
        recent.add(5.0 * step, {drafts("a"): 10.0 * step})
    assert recent.span_s() == 60.0
    assert recent.increases() == {drafts("a"): 120.0}
    recent.add(500.0, {drafts("a"): 1e6})
    assert recent.increases() == {}
