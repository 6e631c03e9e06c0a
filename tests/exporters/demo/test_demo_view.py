"""The terminal view of the demonstration on terminals of any size."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from exporters.status_samples import SAMPLES
from specwatch_exporters.demo.fallback import FallbackNow
from specwatch_exporters.demo.moment import BatchRow, ClassRow, Event, Moment, PoolRow
from specwatch_exporters.demo.view import fitted
from specwatch_exporters.sidecar.watcher import Judgement

LONG = "a reason with as many words as the detectors use at most, which takes two lines of eighty columns or more"
NEWEST = "the newest event"
MOMENT = Moment(
    elapsed_s=60.0,
    total_s=120.0,
    title="llama-3.3-70b",
    simulated=True,
    engine="vllm 0.32.0 (v1)",
    status_url="http://127.0.0.1:33689/",
    window_s=10.0,
    report=SAMPLES["active"].models[0].report,
    baseline=(0.7, 0.5, 0.3),
    baseline_length=2.5,
    lengths=(2.5, 2.4),
    waiting=(0.0, 9.0),
    classes=(ClassRow("code", 0.5, 2.4), ClassRow("chat", 0.3, 1.9), ClassRow("math", None, None)),
    batches=(BatchRow("16", 0.02, 0.1, 2.0),),
    pools=(PoolRow("draft", 0.5, 3, 200.0, 2.1), PoolRow("ngram", 0.5, 2, 90.0, None)),
    events=(*(Event(float(at), f"event {at}: {LONG}") for at in range(8)), Event(59.0, NEWEST)),
    judgement=Judgement(
        "m", "drifted", LONG, details=(f"for: {LONG}", "against: little"), score=1.3, over=0.25, payoff=LONG
    ),
    fallback=FallbackNow("the drafter", shares=(("the drafter", 0.5), ("n-gram", 0.5)), reason=LONG),
)


def screen(moment: Moment, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    lines = console.render_lines(fitted(moment, console), console.options.update(height=None))
    return ["".join(segment.text for segment in line) for line in lines]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 30), (80, 43), (100, 24), (200, 60)])
def test_a_frame_fits_the_terminal_and_shows_the_newest_event(width: int, height: int) -> None:
    lines = screen(MOMENT, width, height)
    assert len(lines) <= height
    assert NEWEST in lines[-2]
    text = "\n".join(lines)
    for part in ("acceptance ", "drifted ", "25% of the way to its end", "n-gram 50%", "queue wait", "first token"):
        assert part in text


def test_figures_are_whole_at_80_columns() -> None:
    lines = screen(MOMENT, 80, 24)
    (heads,) = (line for line in lines if "accepted, last 10 s" in line)
    assert all(head in heads for head in ("position ", "at the start", "conditional"))


def test_a_high_terminal_shows_everything() -> None:
    text = "\n".join(screen(MOMENT, 80, 80))
    assert all(
        part in text for part in ("mean length", "traffic class", "in flight", "for: a reason", "end to end")
    )


def test_a_detail_that_is_cut_says_so() -> None:
    (detail,) = (line for line in screen(MOMENT, 80, 80) if "for: a reason" in line)
    assert detail.rstrip(" │").endswith("…")


def test_before_the_first_figures_there_is_a_frame() -> None:
    assert any("waiting for two scrapes" in line for line in screen(replace(MOMENT, report=None), 80, 24))
