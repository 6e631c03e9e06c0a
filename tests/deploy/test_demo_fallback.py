"""The demonstration with its controller: it starts, says where the traffic is, and leaves nothing running."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import pytest
from rich.console import Console

from specwatch_cli.demo import demo_command
from specwatch_cli.errors import UserError
from specwatch_deploy.demo_fallback import MOVING, POLICY, STEPS, DemoFallback
from specwatch_detectors.demo_watch import demo_watch
from specwatch_detectors.fallback.audit_log import read_log
from specwatch_exporters.demo.fallback import FallbackNow, Told, WithTraffic
from specwatch_exporters.demo.run import SECONDS, run_demo
from specwatch_exporters.demo.scenario import ACTS
from specwatch_exporters.sidecar.status_drift import drift_card
from specwatch_exporters.sidecar.watcher import Judgement, NoWatcher


def test_a_short_demonstration_shows_the_traffic_and_leaves_nothing_running(tmp_path: Path) -> None:
    threads = set(threading.enumerate())
    out, log = io.StringIO(), tmp_path / "log.jsonl"
    console = Console(file=out, width=200)
    run_demo(seconds=8.0, console=console, judges=demo_watch, fallback=DemoFallback(), log=log)
    assert "traffic the drafter 100%" in out.getvalue()
    assert read_log(log).entries[0]["kind"] == "start"
    assert set(threading.enumerate()) <= threads


def test_the_story_fits_into_the_demonstration() -> None:
    """From the stale draft to the fallback, and from the matching one home, with the longest waits."""
    stale, fresh = (act.share * SECONDS for act in ACTS[2:])
    moving = len(STEPS) * (MOVING.watch_most_s + 1.0)
    away = max(POLICY.dwell_s, 12.0) + moving
    assert stale + away < fresh
    home = POLICY.probe_most_s + POLICY.probe_s / 2.0 + moving - MOVING.watch_most_s
    assert fresh + home < SECONDS


def test_where_the_traffic_is_in_words() -> None:
    now = FallbackNow("n-gram", (("the drafter", 0.2), ("n-gram", 0.8), ("no speculation", 0.0)), "probing")
    assert now.shares_text == "the drafter 20%, n-gram 80%"
    assert now.sentence == "Traffic: the drafter 20%, n-gram 80%; probing."


class _Fixed(NoWatcher):
    def judgements(self, now: float) -> tuple[Judgement, ...]:
        del now
        return (Judgement("m", "ok", "as the baseline"),)


class _Part:
    def now(self) -> FallbackNow:
        return FallbackNow("n-gram", (("n-gram", 1.0),), "n-gram gives 1.20x")

    def told(self) -> list[Told]:
        return []


def test_the_status_page_says_where_the_traffic_is() -> None:
    watcher = WithTraffic(_Fixed())
    assert watcher.judgements(0.0)[0].traffic == ""
    watcher.part = _Part()
    assert "Traffic: n-gram 100%; n-gram gives 1.20x." in drift_card(watcher.judgements(0.0))


def test_a_log_that_is_there_is_not_written_into(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("{}\n")
    with pytest.raises(UserError, match="it exists already"):
        demo_command(seconds=5.0, history=log)
    assert log.read_text() == "{}\n"
