from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from detectors.interval_of import KeptState, interval, report
from specwatch_detectors import chain
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.class_counts import ClassCounts
from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.sidecar_watch import SidecarWatch
from specwatch_detectors.state_store import FileStore
from specwatch_detectors.threshold import Budget
from specwatch_detectors.window import Window
from specwatch_exporters.acceptance import Tally
from specwatch_exporters.report import NO_DEFINITION
from specwatch_exporters.request_metrics import DraftCounts, RequestMetrics
from specwatch_exporters.sidecar.watcher import Judgement

SETTINGS = MonitorSettings(budget=Budget(interval_s=10.0), class_lag_s=20.0)
DRAFTS = 6000.0
GOOD = {"code": (0.8, 0.62, 0.5), "chat": (0.5, 0.27, 0.15)}


def counts(rates: tuple[float, ...], drafts: float = DRAFTS) -> list[float]:
    return [drafts * rate for rate in rates]


def mixed(share: float) -> tuple[float, ...]:
    """Acceptance of all traffic when that share of the drafts is code."""
    return tuple(share * a + (1 - share) * b for a, b in zip(GOOD["code"], GOOD["chat"], strict=True))


def known(rates: tuple[float, ...]) -> Calibration:
    reached = chain.reached(chain.conditional(rates))
    many = 1e6
    counted = Window(many, tuple(many * r for r in rates), tuple(many * r for r in reached), many * sum(rates))
    return Calibration(Baseline(counted), 2.0, 1.0)


def calibrations(_model: str) -> Mapping[str, Calibration]:
    return {"": known(mixed(0.5)), **{name: known(rates) for name, rates in GOOD.items()}}


class Gateway:
    """A request sidecar's registry, filled by hand."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._metrics = RequestMetrics(self.registry)

    def add(self, name: str, drafts: float, rates: tuple[float, ...]) -> None:
        accepted = tuple(round(drafts * rate) for rate in rates)
        tally = Tally(
            drafts=round(drafts),
            draft_tokens=round(drafts) * len(rates),
            accepted_tokens=sum(accepted),
            accepted_per_position=accepted,
        )
        traffic_class = self._metrics.traffic_class(name)
        self._metrics.drafts("m", traffic_class, "eagle3", DraftCounts(tally))


def test_the_first_page_is_a_whole_life_and_no_interval() -> None:
    watch = SidecarWatch(SETTINGS, calibrations=calibrations)
    watch.take(interval(0.0, 1e9, counts((0.1, 0.0, 0.0), 1e9), first=True))
    (one,) = watch.judgements(0.0)
    assert (one.state, one.headline) == ("cannot_tell", "no drafts yet")


def test_a_draft_that_is_worse_after_a_restart_is_named() -> None:
    watch = SidecarWatch(SETTINGS, calibrations=calibrations)
    now = 0.0
    watch.take(interval(now, first=True))
    for _ in range(60):
        now += 10.0
        watch.take(interval(now, DRAFTS, counts(mixed(0.5)), version="1"))
    (quiet,) = watch.judgements(now)
    assert (quiet.state, quiet.alarms) == ("ok", 0)
    for step in range(6):
        now += 10.0
        watch.take(interval(now, DRAFTS, counts((0.4, 0.15, 0.06)), restarted=step == 0, version="1"))
    (one,) = watch.judgements(now)
    assert (one.state, one.alarms) == ("drifted", 1)
    assert "no longer matches the target after a deploy" in one.cause
    assert one.next_steps
    assert one.since_s == pytest.approx(60.0, abs=11.0)


def test_how_near_a_drift_is_to_its_end_is_told_and_grows_once_the_draft_fits_again() -> None:
    watch = SidecarWatch(SETTINGS, calibrations=calibrations)
    now, seen = 0.0, list[tuple[str, float | None]]()
    watch.take(interval(now, first=True))
    for step in range(400):
        now += 10.0
        rates = (0.4, 0.15, 0.06) if 60 <= step < 90 else mixed(0.5)
        drafts = DRAFTS if step < 90 else DRAFTS / 100.0
        watch.take(interval(now, drafts, counts(rates, drafts)))
        (one,) = watch.judgements(now)
        seen.append((one.state, one.over))
        shown = [
            sample.value
            for family in watch.families(now)
            for sample in family.samples
            if (sample.name, sample.labels.get("traffic_class")) == ("specwatch_drift_over_ratio", "")
        ]
        assert shown == ([] if one.over is None else [one.over])
    assert all((over is None) == (state != "drifted") for state, over in seen)
    assert {over for _, over in seen[:90] if over is not None} == {0.0}
    after = [over for _, over in seen[90:] if over is not None]
    assert after == sorted(after)
    assert len(after) > 5
    assert 0.8 < after[-1] < 1.0
    assert seen[-1] == ("ok", None)


@pytest.mark.parametrize("blind", [0, 1, 4, 200])
def test_a_restart_is_not_forgotten_while_the_page_does_not_tell_what_it_counts(blind: int) -> None:
    """A page just after a long restart: requests run, nothing is drafted yet, the state is unknown."""
    watch = SidecarWatch(SETTINGS, calibrations=calibrations)
    now = 0.0
    watch.take(interval(now, first=True))
    for _ in range(60):
        now += 10.0
        watch.take(interval(now, DRAFTS, counts(mixed(0.5)), version="1"))
    went, now = now, now + 110.0
    for step in range(blind):
        now += 10.0
        watch.take(interval(now, 0.0, (0.0, 0.0, 0.0), report(definition=NO_DEFINITION), restarted=step == 0))
    for step in range(6):
        now += 10.0
        watch.take(interval(now, DRAFTS, counts((0.4, 0.15, 0.06)), restarted=not blind and not step, version="1"))
    (one,) = watch.judgements(now)
    assert (one.state, one.alarms) == ("drifted", 1)
    assert "no longer matches the target after a deploy" in one.cause
    assert one.since_s == pytest.approx(60.0, abs=11.0) if blind else one.since_s == pytest.approx(now - went)


def test_a_model_that_is_missing_from_the_page_after_a_restart_is_tested_anew_once_it_is_back() -> None:
    watch = SidecarWatch(SETTINGS, calibrations=calibrations)
    now = 0.0
    watch.take(interval(now, first=True))
    for _ in range(60):
        now += 10.0
        watch.take(interval(now, DRAFTS, counts(mixed(0.5))))
    now += 10.0
    watch.take(interval(now, 0.0, (0.0,), report("another"), restarted=True))
    for _ in range(6):
        now += 10.0
        watch.take(interval(now, DRAFTS, counts((0.4, 0.15, 0.06))))
    one = next(found for found in watch.judgements(now) if found.model == "m")
    assert "no longer matches the target after a deploy" in one.cause


def test_a_changed_mix_is_named_and_is_no_alarm() -> None:
    gateway = Gateway()
    watch = SidecarWatch(SETTINGS, calibrations=calibrations, classes=ClassCounts(gateway.registry.collect))
    now = 0.0
    watch.take(interval(now, first=True))
    for step in range(80):
        now += 10.0
        share = 0.5 if step < 40 else 0.05
        gateway.add("code", DRAFTS * share, GOOD["code"])
        gateway.add("chat", DRAFTS * (1 - share), GOOD["chat"])
        watch.take(interval(now, DRAFTS, counts(mixed(share))))
    (one,) = watch.judgements(now)
    assert (one.state, one.alarms) == ("watch", 0)
    assert one.cause == "the mix of traffic has changed"
    families = {family.name: family for family in watch.families(now)}
    assert families["specwatch_drift_mix_shift"].samples[0].value == 1.0
    states = {
        (s.labels["traffic_class"], s.labels["state"]): s.value for s in families["specwatch_drift_state"].samples
    }
    assert states[("", "watch")] == states[("code", "ok")] == states[("chat", "ok")] == 1.0
    assert states[("", "drifted")] == 0.0


def test_gauges_and_bounds_are_not_judged() -> None:
    watch = SidecarWatch(SETTINGS)
    watch.take(interval(10.0, DRAFTS, counts(mixed(0.5)), report(definition="vllm-v0-any-position")))
    assert watch.judgements(10.0) == ()


def test_a_class_source_that_fails_is_said_once_and_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> list[object]:
        raise OSError("connection refused")

    watch = SidecarWatch(SETTINGS, calibrations=calibrations, classes=ClassCounts(broken))  # type: ignore[arg-type]
    watch.take(interval(0.0, first=True))
    with caplog.at_level(logging.WARNING, "specwatch.drift"):
        for step in range(1, 5):
            watch.take(interval(10.0 * step, DRAFTS, counts(mixed(0.5))))
    assert [record.message for record in caplog.records].count(
        "counts per traffic class cannot be read: connection refused"
    ) == 1
    assert watch.judgements(40.0)[0].state == "ok"


def test_an_error_inside_is_logged_once_and_the_next_scrape_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_model: str) -> Mapping[str, Calibration]:
        raise ZeroDivisionError

    watch = SidecarWatch(SETTINGS, calibrations=broken)
    with caplog.at_level(logging.ERROR, "specwatch.drift"):
        watch.take(interval(0.0, first=True))
        watch.take(interval(10.0, DRAFTS, counts(mixed(0.5))))
    assert len(caplog.records) == 1


def test_a_restarted_sidecar_goes_on_where_it_was(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "drift.json")
    one = SidecarWatch(SETTINGS, calibrations=calibrations, store=store)
    one.take(interval(0.0, first=True))
    for step in range(1, 5):
        one.take(interval(10.0 * step, DRAFTS, counts((0.4, 0.15, 0.06))))
    assert one.judgements(40.0)[0].state == "drifted"
    one.close()
    two = SidecarWatch(SETTINGS, calibrations=calibrations, store=store)
    two.take(interval(50.0, first=True))
    two.take(interval(60.0, DRAFTS, counts((0.4, 0.15, 0.06))))
    (after,) = two.judgements(60.0)
    assert (after.state, after.alarms) == ("drifted", 1)


def test_a_broken_state_file_is_said_and_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "drift.json"
    path.write_text("{")
    with caplog.at_level(logging.WARNING, "specwatch.drift"):
        watch = SidecarWatch(SETTINGS, store=FileStore(path))
    assert "is not JSON" in caplog.text
    watch.take(interval(0.0, first=True))
    watch.close()
    assert FileStore(path).load() is not None


def test_a_state_kept_by_a_clock_that_was_ahead_does_not_blind(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "drift.json")
    one = SidecarWatch(SETTINGS, calibrations=calibrations, store=store)
    one.take(interval(100_000.0, first=True))
    for step in range(1, 20):
        one.take(interval(100_000.0 + 10.0 * step, DRAFTS, counts(mixed(0.5))))
    one.close()
    two = SidecarWatch(SETTINGS, calibrations=calibrations, store=store)
    two.take(interval(0.0, first=True))
    for step in range(1, 10):
        two.take(interval(10.0 * step, DRAFTS, counts((0.4, 0.15, 0.06))))
    assert two.judgements(90.0)[0].state == "drifted"


def test_a_drift_that_somebody_accepts_is_the_new_normal_from_which_the_next_is_judged() -> None:
    gateway, kept = Gateway(), KeptState()
    watch = SidecarWatch(
        SETTINGS, calibrations=calibrations, classes=ClassCounts(gateway.registry.collect), store=kept
    )
    now = 0.0

    def run(scrapes: int, factor: float) -> Judgement:
        nonlocal now
        for _ in range(scrapes):
            now += 10.0
            for name, rates in GOOD.items():
                gateway.add(name, DRAFTS / 2, tuple(factor * rate for rate in rates))
            watch.take(interval(now, DRAFTS, counts(tuple(factor * rate for rate in mixed(0.5)))))
        return watch.judgements(now)[0]

    watch.take(interval(now, first=True))
    assert run(30, 1.0).state == "ok"
    assert "acceptance length 2.14, baseline 2.42" in run(1, 0.8).headline
    assert run(30, 0.8).state == "drifted"
    watch.accept()
    assert watch.judgements(now)[0].state == "cannot_tell"
    assert kept.body is not None
    assert kept.body["models"]["m"]["drift"]["drifted"] is False
    assert run(600, 0.8).state == "ok"
    again = run(60, 0.64)
    assert (again.state, again.alarms) == ("drifted", 2)


def test_the_cause_of_a_change_of_mix_is_not_kept_for_the_drift_that_follows() -> None:
    gateway = Gateway()
    watch = SidecarWatch(SETTINGS, calibrations=calibrations, classes=ClassCounts(gateway.registry.collect))
    now = 0.0

    def scrape(share: float, factor: float = 1.0, *, restarted: bool = False) -> Judgement:
        nonlocal now
        now += 10.0
        rates = {name: tuple(factor * rate for rate in own) for name, own in GOOD.items()}
        gateway.add("code", DRAFTS * share, rates["code"])
        gateway.add("chat", DRAFTS * (1 - share), rates["chat"])
        total = tuple(factor * rate for rate in mixed(share))
        watch.take(interval(now, DRAFTS, counts(total), restarted=restarted))
        return watch.judgements(now)[0]

    watch.take(interval(now, first=True))
    for step in range(60):
        seen = scrape(0.5 if step < 40 else 0.05)
    assert seen.cause == "the mix of traffic has changed"
    for step in range(30):
        seen = scrape(0.05, 0.5, restarted=step == 0)
        if seen.state == "drifted":
            break
    assert seen.state == "drifted"
    assert "mix" not in seen.cause
    assert seen.since_s == pytest.approx(10.0 * (step + 1))
