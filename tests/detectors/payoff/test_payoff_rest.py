"""What is said while nothing is drafted, and what is not mixed: two states, two lengths of draft."""

from __future__ import annotations

import json

import pytest

from specwatch_detectors.payoff.payoff import Verdict
from specwatch_detectors.payoff.payoff_meter import PayoffMeter
from specwatch_detectors.payoff.payoff_reading import PayoffReading, PayoffReport
from specwatch_detectors.payoff.payoff_sample import PayoffSample
from specwatch_detectors.payoff.profile_file import load_profile
from specwatch_detectors.payoff.rest import FORGET_S
from specwatch_detectors.window import NOTHING, window

EAGLE = load_profile("llama-70b-fp8-h200").cost_of("eagle3")
STEPS = 4000.0
WITHOUT = PayoffSample(NOTHING, 16, request_steps=STEPS, draft_tokens=0.0)


def drafting(rates: tuple[float, ...] = (0.7, 0.5, 0.35), share: float = 1.0) -> PayoffSample:
    drafts = STEPS * share
    kept = window(drafts, [drafts * rate for rate in rates])
    return PayoffSample(kept, 16, request_steps=STEPS, draft_tokens=drafts * len(rates))


def rounds(meter: PayoffMeter, sample: PayoffSample, times: int, *, off: bool = False) -> PayoffReport:
    for _ in range(times):
        report = meter.update([sample], 10.0, design=2.0, off=off)
    return report


def told(report: PayoffReport) -> PayoffReading:
    assert report.main is not None
    return report.main


def hour_of_drafts() -> PayoffMeter:
    meter = PayoffMeter("m", EAGLE, depth=3)
    assert told(rounds(meter, drafting(), 360)).verdict is Verdict.PAYS
    return meter


@pytest.mark.parametrize("off", [True, False])
def test_the_first_interval_without_drafts_says_so_and_no_number_slides(*, off: bool) -> None:
    meter = hour_of_drafts()
    before = told(rounds(meter, drafting(), 1)).break_even
    for _ in range(240):
        reading = told(rounds(meter, WITHOUT, 1, off=off))
        assert (reading.verdict, reading.speedup) == (Verdict.CANNOT_TELL, None)
        assert reading.text.startswith("cannot tell: nothing is drafted")
        assert reading.break_even == pytest.approx(before)
        assert reading.caveats == ()


def test_after_a_rest_old_drafts_do_not_count() -> None:
    meter = hour_of_drafts()
    rounds(meter, WITHOUT, 1 + int(FORGET_S / 10))
    reading = told(rounds(meter, drafting((0.1, 0.01, 0.0)), 1))
    assert reading.length == pytest.approx(1.11)
    assert reading.verdict is Verdict.DOES_NOT_PAY


def test_a_short_pause_costs_no_evidence_and_is_not_mixed_in() -> None:
    meter = hour_of_drafts()
    rounds(meter, WITHOUT, 2)
    reading = told(rounds(meter, drafting(), 1))
    assert reading.length == pytest.approx(2.55)
    assert reading.caveats == ()


def test_a_lookup_that_finds_no_match_by_chance_keeps_its_steps_without_a_draft() -> None:
    meter = PayoffMeter("m", load_profile("llama-70b-fp8-h200").cost_of("ngram"), depth=3)
    rounds(meter, drafting(share=0.02), 30)
    few = PayoffSample(NOTHING, 16, request_steps=1000.0, draft_tokens=0.0)
    kept = rounds(meter, few, 1)
    assert "nothing is drafted" not in told(kept).text, "20 drafts were expected: that can be chance"
    whole = told(rounds(meter, drafting(share=0.02), 1))
    unbroken = PayoffMeter("m", EAGLE, depth=3)
    assert whole.length is not None
    assert whole.length < (told(rounds(unbroken, drafting(share=0.02), 32)).length or 0.0)
    assert "nothing is drafted" in told(rounds(meter, WITHOUT, 1)).text


def test_drafts_of_another_length_start_anew_without_a_word_from_the_engine() -> None:
    meter = hour_of_drafts()
    shorter = PayoffSample(window(STEPS, [0.1 * STEPS]), 16, request_steps=STEPS, draft_tokens=STEPS)
    assert told(rounds(meter, shorter, 1)).length == pytest.approx(1.1)


def test_an_engine_that_counts_no_steps_is_known_to_be_off_all_the_same() -> None:
    meter = hour_of_drafts()
    reading = told(rounds(meter, PayoffSample(NOTHING, 16), 1, off=True))
    assert (reading.speedup, reading.batch) == (None, "16")


def test_without_a_price_for_the_method_it_says_that_speculation_is_off() -> None:
    meter = PayoffMeter("m", None, depth=1)
    assert told(rounds(meter, WITHOUT, 1, off=True)).text == "cannot tell: speculation is off"


def test_a_rest_goes_on_after_a_restart() -> None:
    meter = hour_of_drafts()
    rounds(meter, WITHOUT, 3)
    again = PayoffMeter("m", EAGLE, depth=3, state=json.loads(json.dumps(meter.state())))
    assert told(again.update([], 10.0)).text.startswith("cannot tell: nothing is drafted")
    assert told(rounds(again, WITHOUT, 10)) == told(rounds(meter, WITHOUT, 11))


@pytest.mark.parametrize("rest", [{}, {"resting": True}, {"resting": 1, "off": 0, "expected": "x", "seconds": 0}])
def test_a_broken_rest_is_refused(rest: dict[str, object]) -> None:
    state = {**hour_of_drafts().state(), "rest": rest}
    with pytest.raises(ValueError, match=r"not the state of a rest|could not convert"):
        PayoffMeter("m", EAGLE, depth=3, state=state)
