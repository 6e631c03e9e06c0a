from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from alerts.slack.slack_blocks_check import refusal
from specwatch_alerts.slack import mrkdwn
from specwatch_alerts.slack.block_view import render_blocks
from specwatch_alerts.slack.dashboard_link import dashboard_address
from specwatch_alerts.slack.evidence import Evidence, Pair, Payoff
from specwatch_alerts.slack.group_view import AlertView, GroupView
from specwatch_alerts.slack.message import ACKNOWLEDGE, LEAVE, RETURN, SILENCE, UNLATCH, compose, silence_address
from specwatch_alerts.slack.sample import sample_evidence, sample_group

NOW = 1_700_000_000.0
OFFERED = frozenset({ACKNOWLEDGE, SILENCE, LEAVE, RETURN, UNLATCH})
NASTY = "<!channel> & `code` *bold* \n" + "é" * 4000


def relabelled(view: GroupView, annotations: dict[str, str] | None = None, **labels: str) -> GroupView:
    first = view.alerts[0]
    alert = AlertView(
        first.status,
        first.starts_at,
        first.ends_at,
        {**first.labels, **labels},
        {**first.annotations, **(annotations or {})},
    )
    return replace(view, group_labels={}, common_labels={**view.common_labels, **labels}, alerts=(alert,))


def buttons(blocks: tuple[dict[str, Any], ...]) -> list[str]:
    return [one["text"]["text"] for block in blocks if block["type"] == "actions" for one in block["elements"]]


def drawn(blocks: tuple[dict[str, Any], ...]) -> str:
    console = Console(file=StringIO(), width=100, color_system=None)
    console.print(render_blocks(blocks))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_sample_says_what_on_call_needs() -> None:
    message = compose(sample_group(NOW), sample_evidence(), NOW)
    shown = drawn(message.blocks)
    for words in (
        "🔴 PAGE DraftDriftedNotPaying · llama-3.3-70b · chat",
        "Acceptance length 2.84 → 1.71 tokens per draft step (-40%)",
        "Speed 0.94 times (95 %: 0.92 to 0.97) at batch 17-32: speculation makes the",
        "deploy: engine version 0.31.0 → 0.32.0",
        "vllm-0 1.66",
        "Since 2023-11-14 21:58 UTC (15 min)",
        "2 firing, 0 resolved",
    ):
        assert words in shown
    assert buttons(message.blocks) == ["Dashboard", "Runbook", "Silence"]
    assert message.text.startswith("PAGE DraftDriftedNotPaying · llama-3.3-70b · chat. ")


@pytest.mark.parametrize(
    ("payoff", "words"),
    [
        (Payoff("1", 1.1, 1.2, 1.3), "still pays"),
        (Payoff("1", 0.8, 0.9, 0.99), "slower"),
        (Payoff("1", 0.9, 1.0, 1.1), "noise"),
        (Payoff("1", None, 1.2, None), "still pays"),
    ],
)
def test_the_payoff_in_words(payoff: Payoff, words: str) -> None:
    assert words in str(compose(sample_group(NOW), Evidence(payoff=payoff), NOW).blocks)


def test_what_is_over_is_marked_and_offers_nothing_to_stop() -> None:
    message = compose(sample_group(NOW, resolved=True), Evidence(), NOW, offered=OFFERED)
    assert message.blocks[0]["text"]["text"].startswith(":large_green_circle: RESOLVED")
    assert buttons(message.blocks) == ["Dashboard", "Runbook"]
    assert "after 15 min" in drawn(message.blocks)


@pytest.mark.parametrize(
    ("labels", "offered", "expected"),
    [
        ({}, OFFERED, ["Acknowledge", "Silence 1 h", "Start the fallback"]),
        ({"component": "latency"}, OFFERED, ["Acknowledge", "Silence 1 h"]),
        ({}, frozenset({ACKNOWLEDGE}), ["Silence", "Acknowledge"]),
        ({"component": "fallback"}, OFFERED, ["Acknowledge", "Silence 1 h", "End the fallback"]),
        (
            {"component": "fallback", "alertname": "SpecwatchFallbackLatched"},
            OFFERED,
            ["Acknowledge", "Silence 1 h", "End the fallback", "Unlatch"],
        ),
    ],
)
def test_buttons_by_what_is_offered(labels: dict[str, str], offered: frozenset[str], expected: list[str]) -> None:
    message = compose(relabelled(sample_group(NOW), None, **labels), Evidence(), NOW, offered=offered)
    assert buttons(message.blocks)[2:] == expected
    acting = [one for one in message.blocks[-1]["elements"] if "url" not in one and one["action_id"] != ACKNOWLEDGE]
    assert all("confirm" in one for one in acting)


def test_labels_mention_nobody_and_break_no_link() -> None:
    view = relabelled(sample_group(NOW), {"impact": NASTY, "dashboard_url": "javascript:alert(1)"}, model="<@U1>")
    message = compose(view, Evidence(changes=("<!here>",)), NOW)
    told = json.dumps([block for block in message.blocks if block["type"] != "header"]) + message.text
    for mention in ("<!channel", "<!here", "<@U1"):
        assert mention not in told
    assert "Dashboard" not in buttons(message.blocks)


def test_missing_evidence_is_said() -> None:
    message = compose(sample_group(NOW), Evidence(problem="Evidence is missing: Prometheus took too long."), NOW)
    assert "Prometheus took too long" in drawn(message.blocks)


def test_the_silence_form_is_filled_in() -> None:
    address = silence_address(relabelled(sample_group(NOW), model='a"b\\c'))
    assert address.startswith("https://alertmanager.example.com/#/silences/new?filter=%7Balertname%3D%22Specwatch")
    assert "model%3D%22a%5C%22b%5C%5Cc%22" in address


@pytest.mark.parametrize(
    ("address", "resolved", "expected"),
    [
        (
            "https://g.example.com/d/x?var-model=a&from=now-1h&to=now",
            False,
            "var-model=a&from=1699995500000&to=now",
        ),
        ("https://g.example.com/d/x?from=now-1h&to=now", True, "from=1699995500000&to=1700000900000"),
        ("https://g.example.com/d/x?from=1&to=2", True, "from=1&to=2"),
        ("https://g.example.com/d/x?var-model=a%20b", True, "var-model=a%20b"),
    ],
)
def test_the_dashboard_opens_at_the_time_of_the_alert(address: str, resolved: bool, expected: str) -> None:
    view = relabelled(sample_group(NOW, resolved=resolved), {"dashboard_url": address})
    assert dashboard_address(view) == f"https://g.example.com/d/x?{expected}"


WORDS = st.text(max_size=40) | st.just(NASTY) | st.sampled_from(["https://x.example.com/?a=1&b=<2>", "http://a b"])
NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32)
PAIRS = st.lists(st.builds(Pair, WORDS, NUMBERS, NUMBERS), max_size=40).map(tuple)
EVIDENCE = st.builds(
    Evidence,
    problem=WORDS,
    length=st.none() | st.builds(Pair, WORDS, NUMBERS, NUMBERS),
    positions=PAIRS,
    classes=PAIRS,
    pods=PAIRS,
    latencies=PAIRS,
    changes=st.lists(WORDS, max_size=10).map(tuple),
)
NAMES = (
    "alertname",
    "severity",
    "model",
    "namespace",
    "component",
    "impact",
    "description",
    "runbook_url",
    "cause",
)
LABELS = st.dictionaries(st.sampled_from(NAMES), WORDS, max_size=9)


@given(LABELS, LABELS, EVIDENCE, st.booleans(), st.integers(0, 2), WORDS, st.integers(0, 20))
def test_whatever_an_alert_says_slack_takes_it(
    labels: dict[str, str],
    annotations: dict[str, str],
    evidence: Evidence,
    resolved: bool,
    lean: int,
    user: str,
    names: int,
) -> None:
    view = relabelled(sample_group(NOW, resolved=resolved), annotations, **labels)
    view = replace(view, alerts=view.alerts * names, names=3 * names)
    view = replace(view, pods=tuple(labels.values()), acknowledged=user, silenced_until=NOW + 60.0)
    message = compose(view, evidence, NOW, offered=OFFERED, lean=lean)
    assert refusal({"text": message.text, "blocks": list(message.blocks)}) == ""
    assert "<!channel" not in str([*message.blocks[1:], message.text])  # the header takes no markup
    drawn(message.blocks)


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("a&amp;b", 5, "a…"), ("&lt;&gt;", 6, "&lt;…")],
)
def test_a_cut_leaves_no_half_entity(text: str, most: int, kept: str) -> None:
    assert mrkdwn.cut(text, most) == kept


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.6, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (90_000, "1 d 1 h"), (86_405, "1 d")],
)
def test_spans_in_two_units(seconds: float, words: str) -> None:
    assert mrkdwn.span(seconds) == words


@pytest.mark.parametrize(
    ("severity", "urgency", "sign"),
    [
        ("ticket", "", ":large_yellow_circle:"),
        ("sev3", "", ":red_circle:"),
        ("sev3", "ticket", ":large_yellow_circle:"),
        ("sev1", "page", ":red_circle:"),
        ("notice", "info", ":large_blue_circle:"),
        ("sev3", "whatever", ":red_circle:"),
    ],
)
def test_severities_of_other_names_weigh_what_the_rules_mean(severity: str, urgency: str, sign: str) -> None:
    view = relabelled(sample_group(NOW), {"urgency": urgency} if urgency else None, severity=severity)
    title = compose(view, sample_evidence(), NOW).blocks[0]["text"]["text"]
    assert title.startswith(f"{sign} {severity.upper()} DraftDriftedNotPaying")
