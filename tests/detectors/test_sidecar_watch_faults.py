"""What must not happen inside the scrape sidecar: stale answers, old engines, broken parts, models without end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client.metrics_core import Metric

from detectors.interval_of import KeptState, increases, interval, report
from specwatch_detectors import sidecar_assembly
from specwatch_detectors.change_watch import ChangeWatch
from specwatch_detectors.class_counts import ClassCounts
from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.payoff.profile_file import load_profile
from specwatch_detectors.reading import Change
from specwatch_detectors.sidecar_watch import FORGET_AFTER_S, MAX_MODELS, SidecarWatch
from specwatch_detectors.threshold import Budget
from specwatch_exporters import catalog
from specwatch_exporters.page import Key
from specwatch_exporters.report import ModelReport
from specwatch_exporters.sidecar.fetch import Fetched
from specwatch_exporters.sidecar.fetch_error import Cause, FetchError
from specwatch_exporters.sidecar.settings import load
from specwatch_exporters.sidecar.watcher import Interval

SETTINGS = MonitorSettings(budget=Budget(interval_s=10.0))
DRAFTS = 4000.0
GOOD = (0.8 * DRAFTS, 0.6 * DRAFTS, 0.45 * DRAFTS)
STEPS = "llama-70b-fp8-h200"


def lived(
    watch: SidecarWatch, began: float = 0.0, own: ModelReport | None = None, version: str | None = "1"
) -> float:
    """Ten minutes of a good draft from the first page on; gives the time of the last scrape."""
    own, now = own or report(), began
    watch.take(interval(now, 0.0, (), own, version=version, first=True))
    for _ in range(60):
        now += 10.0
        watch.take(interval(now, DRAFTS, GOOD, own, version=version))
    return now


def kept_changes(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if "is tested anew" in record.message]


@pytest.mark.parametrize(
    ("own", "version", "words"),
    [
        (report(method="ngram"), "1", "another speculation method"),
        (report(), "2", "a new engine version"),
        (report(depth=5), "1", None),
        (report(), "1", None),
        (report(depth=None, method=None), None, None),
    ],
)
def test_a_pod_replaced_while_the_sidecar_was_away_is_a_change(
    own: ModelReport, version: str | None, words: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    store = KeptState()
    first = SidecarWatch(SETTINGS, store=store)
    now = lived(first)
    first.close()
    again = SidecarWatch(SETTINGS, store=store)
    with caplog.at_level(logging.INFO, "specwatch.drift"):
        for step in range(3):
            one = interval(now + 100.0 + 10.0 * step, DRAFTS, GOOD, own, version=version, first=step == 0)
            again.take(one)
    expected = [] if words is None else [f"m: after {words} the draft is tested anew"]
    assert kept_changes(caplog) == expected


def test_evidence_on_the_payoff_of_the_old_engine_goes_with_it() -> None:
    store = KeptState()
    first = SidecarWatch(SETTINGS, steps=load_profile(STEPS), store=store)
    now = lived(first, own=replace(report(), running=8.0))
    first.close()
    assert store.body is not None
    assert store.body["models"]["m"]["payoff"]["buckets"]
    again = SidecarWatch(SETTINGS, steps=load_profile(STEPS), store=store)
    own = replace(report(method="ngram"), running=8.0)
    again.take(interval(now + 100.0, 0.0, (), own, first=True))
    again.take(interval(now + 110.0, DRAFTS, GOOD, own))
    again.close()
    assert store.body["models"]["m"]["payoff"]["buckets"] == {}


def payoff_samples(watch: SidecarWatch, now: float) -> set[str]:
    return {
        sample.name
        for family in watch.families(now)
        for sample in family.samples
        if sample.name.startswith("specwatch_payoff")
    }


@pytest.mark.parametrize("gone", [True, False], ids=["model not reported", "batch not known"])
def test_an_answer_on_the_payoff_that_nothing_renews_is_withdrawn(gone: bool) -> None:
    watch = SidecarWatch(SETTINGS, steps=load_profile(STEPS))
    now = lived(watch, own=replace(report(), running=8.0))
    assert watch.judgements(now)[0].payoff.startswith("Speculation: ")
    assert {"specwatch_payoff_info", "specwatch_payoff_speedup_ratio"} <= payoff_samples(watch, now)
    after = now + SETTINGS.stale_after_s + 10.0
    other = report("other") if gone else report()
    while now < after:
        now += 10.0
        watch.take(interval(now, DRAFTS, GOOD, other))
    assert {one.model: one.payoff for one in watch.judgements(now)}["m"] == ""
    assert payoff_samples(watch, now) == {"specwatch_payoff_rejected_seconds_total"}


def test_pages_do_not_wait_for_the_page_with_the_classes() -> None:
    asked, answer, done = threading.Event(), threading.Event(), threading.Event()

    def slow() -> Iterable[Metric]:
        asked.set()
        assert answer.wait(30.0)
        return ()

    watch = SidecarWatch(SETTINGS, classes=ClassCounts(slow))

    def serve() -> None:
        watch.families(0.0)
        watch.judgements(0.0)
        done.set()

    scraping = threading.Thread(target=watch.take, args=(interval(0.0, first=True),))
    serving = threading.Thread(target=serve)
    scraping.start()
    try:
        assert asked.wait(30.0)
        serving.start()
        assert done.wait(30.0)
    finally:
        answer.set()
        scraping.join()
        serving.join()


@pytest.mark.parametrize(("limit", "expected"), [(10.0, 1.0), (0.25, 0.25)])
def test_the_page_with_the_classes_gets_a_second_at_most(
    limit: float, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float] = []

    def fetched(_url: str, *, timeout_s: float, **_others: object) -> Fetched:
        limits.append(timeout_s)
        raise FetchError(Cause.TIMEOUT, "no answer")

    monkeypatch.setattr(sidecar_assembly, "fetch", fetched)
    settings = load({"engine": "127.0.0.1:1", "request_metrics": "http://127.0.0.1:2/metrics"}, {})
    watch = sidecar_assembly.sidecar_watch(replace(settings, timeout_s=limit))
    assert watch is not None
    watch.take(interval(0.0, first=True))
    assert limits == [expected]


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("wrong", [[1], "x", 3, {"seen": "x"}], ids=repr)
@pytest.mark.parametrize("part", ["drift", "payoff", "latency", "engine"])
def test_a_malformed_part_is_left_out_with_one_line(
    part: str, wrong: object, caplog: pytest.LogCaptureFixture
) -> None:
    store = KeptState()
    lived(SidecarWatch(SETTINGS, store=store))
    assert store.body is not None
    store.body["models"]["m"][part] = wrong
    with caplog.at_level(logging.WARNING, "specwatch.drift"):
        watch = SidecarWatch(SETTINGS, store=store)
        now = lived(watch, 1000.0)
    harmless = part == "latency" and isinstance(wrong, dict)  # an object without either signal is an empty one
    assert len(complaints(caplog)) == (0 if harmless else 1)
    assert [one.state for one in watch.judgements(now)] == ["ok"]


@pytest.mark.parametrize("field", ["seen", "drafted", "dropped"])
def test_a_time_that_is_no_number_leaves_the_part_out(field: str, caplog: pytest.LogCaptureFixture) -> None:
    store = KeptState()
    lived(SidecarWatch(SETTINGS, store=store))
    assert store.body is not None
    drift = store.body["models"]["m"]["drift"]
    (drift if field in drift else drift["total"])[field] = "yesterday"
    with caplog.at_level(logging.WARNING, "specwatch.drift"):
        watch = SidecarWatch(SETTINGS, store=store)
        now = lived(watch, 1000.0)
    assert complaints(caplog) == [f"m, drift: the kept state is not used: {field} is no number"]
    assert watch.judgements(now)[0].state == "ok"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"version": 2}, "the kept drift state is not used: it is not of version 1"),
        ({"version": None}, "the kept drift state is not used: it is not of version 1"),
        ({"version": True}, "the kept drift state is not used: it is not of version 1"),
        ({"models": [1]}, "the kept drift state is not used: it is of another form"),
        ({"models": {"m": 3}}, "m: the kept state is not used: it is no JSON object"),
    ],
)
def test_a_state_of_another_version_or_form_is_refused_with_one_line(
    change: dict[str, Any], line: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = KeptState()
    lived(SidecarWatch(SETTINGS, store=store))
    assert store.body is not None
    with caplog.at_level(logging.WARNING, "specwatch.drift"):
        watch = SidecarWatch(SETTINGS, store=KeptState({**store.body, **change}))
    assert complaints(caplog) == [line]
    watch.take(interval(1000.0, first=True))
    assert watch.judgements(1000.0)[0].headline == "no drafts yet"


def two_models(now: float, bad: Mapping[Key, float]) -> Interval:
    grown = {**increases(DRAFTS, GOOD, "a"), **increases(DRAFTS, GOOD, "b"), **bad}
    return replace(interval(now, 0.0, (), report("a"), report("b")), increases=grown)


def test_the_error_of_one_model_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    def broken(model: str) -> Mapping[str, Calibration]:
        if model == "broken":
            raise ZeroDivisionError
        return {}

    watch = SidecarWatch(SETTINGS, calibrations=broken)
    negative = {Key(catalog.DRAFTS.name, "a", "0", ""): -1.0}
    with caplog.at_level(logging.ERROR, "specwatch.drift"):
        for step in range(1, 61):
            own = two_models(10.0 * step, negative)
            watch.take(replace(own, reports=(report("broken"), *own.reports)))
    assert {one.model: one.state for one in watch.judgements(600.0)} == {"a": "cannot_tell", "b": "ok"}
    assert [record.message for record in caplog.records] == [
        "broken: internal error in the drift detectors; said once",
        "a: internal error in the drift detectors; said once",
    ]


def test_successive_models_are_not_kept_without_end() -> None:
    watch = SidecarWatch(SETTINGS)
    for n in range(300):
        watch.take(interval(10.0 * n, DRAFTS, GOOD, report(f"m{n:03}")))
    assert [one.model for one in watch.judgements(3000.0)] == [f"m{n}" for n in range(300 - MAX_MODELS, 300)]


def test_a_model_that_is_gone_for_a_day_is_forgotten() -> None:
    watch = SidecarWatch(SETTINGS)
    watch.take(interval(0.0, DRAFTS, GOOD, report("old")))
    watch.take(interval(FORGET_AFTER_S, DRAFTS, GOOD, report("new")))
    assert [one.model for one in watch.judgements(FORGET_AFTER_S)] == ["new", "old"]
    watch.take(interval(FORGET_AFTER_S + 10.0, DRAFTS, GOOD, report("new")))
    assert [one.model for one in watch.judgements(FORGET_AFTER_S)] == ["new"]


def test_k_of_zero_is_known_and_changes_once() -> None:
    watch = ChangeWatch()
    found = [
        watch.take(report(depth=depth), "1", 10_000.0 * n, restarted=False)
        for n, depth in enumerate([3, 0, 0, 0, 3])
    ]
    assert found == [[], [Change.DEPTH], [], [], [Change.DEPTH]]


def test_what_is_known_of_an_engine_survives_as_json() -> None:
    watch = ChangeWatch()
    for n, depth in enumerate([3, 2, 3, 1]):
        watch.take(report(depth=depth), "1", 60.0 * n, restarted=False)
    again = ChangeWatch.restored(watch.state())
    assert again.adaptive
    assert again.state() == watch.state()
    for wrong in ({}, {**watch.state(), "depth": "3"}, {**watch.state(), "version": 1}):
        with pytest.raises(ValueError, match="not the state of a change watch"):
            ChangeWatch.restored(wrong)
