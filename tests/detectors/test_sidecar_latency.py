"""Tokens that take longer while acceptance stays healthy: said, and not blamed on the draft."""

from __future__ import annotations

import random
from dataclasses import replace

from detectors.interval_of import WALL, increases, report
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change, DriftState, Reading
from specwatch_detectors.sidecar_latency import INTER_TOKEN, QUEUE_WAIT, SidecarLatency
from specwatch_detectors.signal_families import families
from specwatch_exporters import catalog
from specwatch_exporters.page import Key
from specwatch_exporters.sidecar.watcher import Interval

FITS = Reading(DriftState.OK, "as the baseline")
TOKENS = 5000.0


def scrape(now: float, seconds_per_token: float, late: float = 0.01) -> Interval:
    """One interval of 100 requests, of which a share waits longer than a second."""
    grown = increases(2000.0, (1400.0, 900.0, 600.0))
    steps, requests = TOKENS / 2.5, 100.0
    grown |= {
        Key(catalog.GENERATION_TOKENS.name, "m", "0", ""): TOKENS,
        Key(f"{catalog.ITL_STEP.name}_sum", "m", "0", ""): TOKENS * seconds_per_token,
        Key(f"{catalog.ITL_STEP.name}_count", "m", "0", ""): steps,
        Key(f"{catalog.TTFT.name}_count", "m", "0", ""): requests,
    }
    for edge, count in (("1.0", requests * (1 - late)), ("+Inf", requests)):
        grown[Key(f"{catalog.QUEUE_WAIT.name}_bucket", "m", "0", edge)] = count
    return Interval(now, WALL + now, grown, (report(),))


def lived(seconds: tuple[float, float], late: tuple[float, float] = (0.01, 0.01)) -> tuple[SidecarLatency, float]:
    watch, now, dice = SidecarLatency(MonitorSettings()), 0.0, random.Random(3)
    busy = replace(report(), running=12.0)
    for step in range(900):
        now += 10.0
        after = step >= 700
        one = scrape(now, seconds[after] * dice.gauss(1.0, 0.01), late[after])
        watch.take(busy, one, now, FITS, [Change.RESTART] if step == 50 else [])
    return watch, now


def test_slower_tokens_at_equal_batch_are_found_and_the_draft_is_not_blamed() -> None:
    watch, now = lived((0.010, 0.013))
    slow, waits = watch.readings(now, FITS)
    assert (slow.signal, slow.state, slow.alarms) == (INTER_TOKEN, DriftState.DRIFTED, 1)
    assert "at batch 9 to 16" in slow.reason
    assert "not the draft" in slow.reason
    assert (waits.signal, waits.state) == (QUEUE_WAIT, DriftState.OK)


def test_longer_waits_are_found() -> None:
    watch, now = lived((0.010, 0.010), (0.01, 0.2))
    slow, waits = watch.readings(now, FITS)
    assert slow.state is DriftState.OK
    assert (waits.state, waits.alarms) == (DriftState.DRIFTED, 1)


def test_quiet_traffic_is_quiet() -> None:
    watch, now = lived((0.010, 0.010))
    assert [(one.state, one.alarms) for one in watch.readings(now, FITS)] == [(DriftState.OK, 0)] * 2


def test_it_goes_on_where_it_was_and_a_broken_state_is_left_out() -> None:
    watch, now = lived((0.010, 0.013))
    again = SidecarLatency(MonitorSettings(), watch.state())
    assert again.readings(now, FITS) == watch.readings(now, FITS)
    fresh = SidecarLatency(MonitorSettings(), {INTER_TOKEN: {"version": 1}, QUEUE_WAIT: "x"})
    assert all(one.state is DriftState.CANNOT_TELL for one in fresh.readings(now, FITS))


def test_metrics_have_one_state_and_no_score_for_what_is_unknown() -> None:
    watch, now = lived((0.010, 0.013))
    fresh = SidecarLatency(MonitorSettings())
    known = {"m": watch.readings(now, FITS), "new": fresh.readings(now, FITS)}
    found = {family.name: family for family in families(known)}
    states = [sample for sample in found["specwatch_latency_drift_state"].samples if sample.value == 1.0]
    assert {(s.labels["model"], s.labels["signal"], s.labels["state"]) for s in states} == {
        ("m", INTER_TOKEN, "drifted"),
        ("m", QUEUE_WAIT, "ok"),
        ("new", INTER_TOKEN, "cannot_tell"),
        ("new", QUEUE_WAIT, "cannot_tell"),
    }
    scores = found["specwatch_latency_drift_score_ratio"].samples
    assert {sample.labels["model"] for sample in scores} == {"m"}
