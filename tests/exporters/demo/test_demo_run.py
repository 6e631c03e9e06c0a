from __future__ import annotations

import io
import re
import threading
from collections.abc import Mapping

from rich.console import Console

from specwatch_exporters.demo.run import run_demo
from specwatch_exporters.demo.scenario import ACTS, SETTINGS
from specwatch_exporters.demo.view import spark
from specwatch_exporters.replay.thread import ReplayThread


class Props:
    def __init__(self, engine: ReplayThread) -> None:
        self.engine = engine
        self.mixes: list[dict[str, float]] = []

    def change_mix(self, mix: Mapping[str, float]) -> None:
        self.mixes.append(dict(mix))


def test_traffic_changes_then_the_draft_goes_stale_and_a_matching_one_restores_it() -> None:
    with ReplayThread(SETTINGS) as engine:
        props = Props(engine)
        before = {name: SETTINGS.rates(name) for name in SETTINGS.class_names}
        seen = []
        for act in ACTS:
            act.apply(props)
            settings = engine.engine.settings
            seen.append({name: settings.rates(name) for name in SETTINGS.class_names})
    assert [max(mix, key=lambda name: mix[name]) for mix in props.mixes[:1]] == ["chat"]
    assert len(set(props.mixes[1].values())) == 1
    assert seen[0] == seen[1] == before
    assert all(seen[2][name][0] < 0.5 * before[name][0] for name in before)
    assert seen[3] == before
    assert [act.alarming for act in ACTS] == [False, False, True, False]


def test_a_short_demonstration_prints_lines_and_leaves_nothing_running() -> None:
    threads = set(threading.enumerate())
    out = io.StringIO()
    run_demo(seconds=9.0, console=Console(file=out, width=200))
    text = out.getvalue()
    assert re.search(r"status page: http://127\.0\.0\.1:\d+/", text)
    assert "the target was updated and its draft was not" in text
    assert "acceptance" in text
    assert text.endswith("Stopped; nothing is left running.\n")
    assert set(threading.enumerate()) <= threads


def test_sparks_rise_with_their_values_and_unknown_is_blank() -> None:
    assert spark([1.0, None, 2.0], floor=1.0, digits=2) == "▁ █  now 2.00"
    assert spark([0.0, 0.0], floor=0.0, digits=0) == "▁▁  now 0"
    assert len(spark([1.0] * 500, floor=0.0, digits=0).split("  ")[0]) == 48
