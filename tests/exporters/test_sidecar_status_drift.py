"""The verdict on the draft on the status page."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest

from exporters.status_samples import HOSTILE, SAMPLES
from specwatch_exporters.sidecar.status import Status, render_json
from specwatch_exporters.sidecar.status_drift import drift_card
from specwatch_exporters.sidecar.status_page import render_page
from specwatch_exporters.sidecar.watcher import Judgement

DRIFTED = Judgement(
    "m",
    "drifted",
    "acceptance is worse since a restart of the engine",
    cause="the draft no longer matches the target after a deploy",
    details=("for: engine restart 1 s after the fall began",),
    next_steps=("Compare the target's revision with the one that the draft was trained for.",),
    score=1.4,
    over=0.34,
    since_s=75.0,
    alarms=2,
    payoff="Speculation: does not pay: 0.90x.",
)


def with_verdict(name: str, *judgements: Judgement) -> Status:
    return dataclasses.replace(SAMPLES[name], judgements=judgements)


@pytest.mark.parametrize(
    ("state", "words"),
    [("ok", "fits"), ("watch", "watch"), ("drifted", "drifted"), ("cannot_tell", "cannot tell")],
)
def test_each_state_has_its_word(state: str, words: str) -> None:
    assert f"</span> {words}</span>" in drift_card([Judgement("m", state, "reason")])


def test_a_drift_says_cause_time_alarms_and_what_to_check() -> None:
    text = re.sub(r"\s", " ", re.sub("<[^>]+>", "", drift_card([DRIFTED])))
    for part in (
        "The draft no longer matches the target after a deploy.",
        "Acceptance is worse since a restart of the engine.",
        "alarm, 34% of the way to its end, began 75 s ago, 2 alarms so far",
        "engine restart 1 s after the fall began",
        "Compare the target&#x27;s revision",
        "does not pay: 0.90x",
    ):
        assert part in text


def test_without_detectors_there_is_no_card() -> None:
    assert drift_card([]) == ""
    assert 'id="drift"' not in render_page(SAMPLES["active"]).decode()


def test_a_stale_page_has_no_verdict() -> None:
    assert 'id="drift"' in render_page(with_verdict("active", DRIFTED)).decode()
    assert 'id="drift"' not in render_page(with_verdict("stale", DRIFTED)).decode()
    assert json.loads(render_json(with_verdict("stale", DRIFTED)))["drift"] == []
    assert json.loads(render_json(with_verdict("active", DRIFTED)))["drift"][0]["alarms"] == 2


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_is_escaped(text: str) -> None:
    hostile = Judgement(text, "drifted", text, text, (text,), (text,), payoff=text)
    page = render_page(with_verdict("active", hostile, hostile)).decode("utf-8", errors="replace")
    assert "<script>alert" not in page
    assert "<img" not in page
