"""Incidents seen on a real vLLM on the CPU, with their numbers."""

from __future__ import annotations

from specwatch_detectors import chain
from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.explain.event import Event, EventKind
from specwatch_detectors.explain.evidence import Dimension, Evidence
from specwatch_detectors.explain.explanation import explain
from specwatch_detectors.window import Window

EASY = (0.74, 0.72, 0.72, 0.74)
HARD = (0.42, 0.45, 0.48, 0.5)
FALL = (0.28, 0.73, 1.06, 1.07)
"""Conditional acceptance by position, after over before, once the draft had three times the noise."""


def counts(q: tuple[float, ...], drafts: float) -> Window:
    p, reached = chain.unconditional(q), chain.reached(q)
    return Window(drafts, tuple(drafts * one for one in p), tuple(drafts * one for one in reached), drafts * sum(p))


def fallen(q: tuple[float, ...], drafts: float) -> Comparison:
    worse = tuple(min(0.95, one * ratio) for one, ratio in zip(q, FALL, strict=True))
    return Comparison(counts(q, drafts), counts(worse, drafts))


def test_a_noisier_draft_after_a_restart_is_the_stale_draft_although_only_the_first_position_fell() -> None:
    classes = {"easy": fallen(EASY, 8000.0), "hard": fallen(HARD, 12_000.0)}
    answer = explain(
        Evidence(
            classes["easy"] + classes["hard"],
            groups={Dimension.CLASS: classes},
            events=(Event(EventKind.RESTART, 1000.0),),
            onset=1000.0,
            interval_s=1.0,
            design=3.0,
            alarmed=True,
            engine="vllm",
        )
    )
    assert answer.cause == "stale_draft_after_deploy", answer.text()
