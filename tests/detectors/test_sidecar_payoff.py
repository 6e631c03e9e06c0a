"""Whether speculation pays, from what a scrape sidecar reads: with a profile, and estimated without one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from detectors.interval_of import WALL, increases, report
from specwatch_detectors.payoff.payoff import Verdict
from specwatch_detectors.payoff.profile_file import load_profile
from specwatch_detectors.sidecar_payoff import SidecarPayoff
from specwatch_detectors.windows_of_counts import model_windows
from specwatch_exporters import catalog
from specwatch_exporters.page import Key
from specwatch_exporters.report import ModelReport, State
from specwatch_exporters.sidecar.watcher import Interval

RUNNING = 8.0
STEPS = 4000.0
DRAFTING = replace(report(), running=RUNNING)
PLAIN = replace(report(method="off", depth=None), running=RUNNING, state=State.OFF)


def scrape(now: float, step_s: float, rates: tuple[float, ...]) -> Interval:
    grown = increases(STEPS, tuple(STEPS * rate for rate in rates)) if rates else {}
    tokens = STEPS * (1.0 + sum(rates))
    grown |= {
        Key(f"{catalog.ITL_STEP.name}_count", "m", "0", ""): STEPS,
        Key(f"{catalog.ITL_STEP.name}_sum", "m", "0", ""): STEPS * step_s,
        Key(catalog.GENERATION_TOKENS.name, "m", "0", ""): tokens,
        Key(catalog.PROMPT_TOKENS.name, "m", "0", ""): 0.0,
    }
    return Interval(now, WALL + now, grown, (report(),))


def lived(
    watch: SidecarPayoff, own: ModelReport, began: float, step_s: float, rates: tuple[float, ...] = ()
) -> float:
    now = began
    for _ in range(60):
        now += 10.0
        one = scrape(now, step_s, rates)
        window = model_windows(one.increases).get("m")
        assert window is not None
        watch.take(own, one, window, 4.0, changed=False)
    return now


RATES = (0.7, 0.5, 0.35)


def test_an_engine_seen_without_and_with_speculation_gives_an_estimate_that_says_so() -> None:
    watch = SidecarPayoff(PLAIN, None, half_life_s=300.0)
    now = lived(watch, PLAIN, 0.0, 0.020)
    lived(watch, DRAFTING, now, 0.030, RATES)
    assert watch.report is not None
    reading = watch.report.main
    assert reading is not None
    assert reading.speedup is not None
    assert reading.speedup.estimate == pytest.approx(2.55 / 1.5, rel=0.02)
    assert reading.verdict is Verdict.PAYS
    assert (watch.report.basis, watch.report.profile) == ("estimated", "none")


def test_without_the_other_side_nobody_can_tell() -> None:
    watch = SidecarPayoff(DRAFTING, None, half_life_s=300.0)
    lived(watch, DRAFTING, 0.0, 0.030, RATES)
    assert watch.report is not None
    reading = watch.report.main
    assert reading is not None
    assert (reading.verdict, reading.speedup) == (Verdict.CANNOT_TELL, None)
    assert "no estimate" in reading.text


def test_what_was_seen_without_speculation_survives_a_restart() -> None:
    first = SidecarPayoff(PLAIN, None, half_life_s=300.0)
    now = lived(first, PLAIN, 0.0, 0.020)
    again = SidecarPayoff(DRAFTING, None, half_life_s=300.0, state=first.state())
    lived(again, DRAFTING, now + 60.0, 0.030, RATES)
    assert again.report is not None
    assert again.report.main is not None
    assert again.report.main.verdict is Verdict.PAYS


def test_a_broken_state_is_left_out() -> None:
    state = {"depth": "x", "steps": {"a|b": 1}, "spread": 3}
    watch = SidecarPayoff(DRAFTING, None, half_life_s=300.0, state=state)
    lived(watch, DRAFTING, 0.0, 0.030, RATES)
    assert watch.report is not None


def test_with_a_profile_the_profile_counts() -> None:
    watch = SidecarPayoff(DRAFTING, load_profile("llama-70b-fp8-h200"), half_life_s=300.0)
    lived(watch, DRAFTING, 0.0, 0.030, RATES)
    assert watch.report is not None
    assert watch.report.profile == "llama-70b-fp8-h200"
    assert watch.report.main is not None
    assert watch.report.main.verdict is Verdict.PAYS
