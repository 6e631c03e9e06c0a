"""Groups of several alerts: each is named, what fires is counted, and changes are told in their order."""

from __future__ import annotations

from typing import Any

import pytest

from alerts.slack.slack_rig import T0, Rig, alert
from alerts.slack.slack_server import SlackServer

KINDS = ("KVPressure", "TTFTBurn", "SeriesStale", "CostOverBudget")


def mixed(name: str, end: float | None = None, **more: str) -> dict[str, Any]:
    severity = "page" if name == "TTFTBurn" else "ticket"
    told = {"impact": f"What {name} costs.", "runbook_url": f"https://runbooks.example.com/{name}.md"}
    return alert("vllm-0", T0, end, severity=severity, annotations=told, alertname=f"Specwatch{name}", **more)


def test_a_group_of_several_alerts_names_each_and_counts_those_that_fire(rig: Rig, slack: SlackServer) -> None:
    second = alert("vllm-1", severity="ticket", alertname="SpecwatchKVPressure")
    rig.deliver(*(mixed(name) for name in KINDS), second)
    rig.run()
    (root,) = slack.roots()
    assert root.title == ":red_circle: PAGE TTFTBurn and 3 more · llama · chat"
    lines = root.body["blocks"][1]["text"]["text"].splitlines()
    assert [line.split("*")[1] for line in lines] == ["TTFTBurn", "CostOverBudget", "KVPressure", "SeriesStale"]
    assert lines[0].startswith(
        ":red_circle: *TTFTBurn* (page) What TTFTBurn costs. <https://runbooks.example.com/TTFT"
    )
    assert lines[2].startswith(":large_yellow_circle: *KVPressure* (ticket, 2 alerts) ")

    rig.now += 300
    rig.deliver(*(mixed(name, end=T0 + 200) for name in KINDS if name != "KVPressure"))
    rig.run()
    assert root.title == ":large_yellow_circle: TICKET KVPressure · llama · chat"
    assert "2 firing, 3 resolved" in str(root.body["blocks"])
    assert "CostOverBudget" not in str(root.body["blocks"])


def test_alerts_of_more_names_than_fit_are_counted(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(*(alert("vllm-0", severity="ticket", alertname=f"Alert{number:02}") for number in range(57)))
    rig.run()
    (root,) = slack.roots()
    assert root.title == ":large_yellow_circle: TICKET Alert00 and 56 more · llama · chat"
    lines = root.body["blocks"][1]["text"]["text"].splitlines()
    assert len(lines) == 11
    assert lines[-1] == "and 47 more kinds of alert"


@pytest.mark.parametrize("empty", [{}, dict.fromkeys(("alertname", "severity", "model", "pod"), " ")])
def test_fields_that_are_empty_leave_no_gap(rig: Rig, slack: SlackServer, empty: dict[str, str]) -> None:
    nameless = {**alert(), "labels": empty, "annotations": {"impact": " ", "summary": ""}}
    rig.deliver(nameless)
    rig.run()
    rig.deliver(nameless, alert("vllm-1", severity="ticket"))
    rig.run()
    (root,) = slack.roots()
    assert root.title == ":red_circle: FIRING an alert without a name and 1 more · llama"
    first, second = root.body["blocks"][1]["text"]["text"].splitlines()
    assert first == ":red_circle: *an alert without a name* (no severity)"
    assert second.startswith(":large_yellow_circle: *DraftDriftedNotPaying* (ticket) ")


def test_pods_that_are_not_named_are_counted_truly(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(*(alert(f"vllm-{number}") for number in range(3000)))
    rig.run()
    (root,) = slack.roots()
    assert "and 2,997 more" in str(root.body["blocks"])


def test_changes_that_are_told_together_keep_their_order(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(alert("p0"))
    rig.run()
    rig.deliver(alert("p0"), alert("p1", T0 + 10))
    rig.deliver(alert("p0", end=T0 + 15), alert("p1", T0 + 10, T0 + 20))
    rig.deliver(alert("p1", T0 + 30), alert("p2", T0 + 30))
    rig.run()
    (root,) = slack.roots()
    (reply,) = slack.replies(root.ts)
    name = "DraftDriftedNotPaying on"
    assert reply.text.splitlines() == [
        f":small_red_triangle: Firing: {name} p1",
        f":white_check_mark: Resolved: {name} p0, {name} p1",
        f":small_red_triangle: Firing: {name} p1, {name} p2",
    ]


def test_what_begins_and_ends_in_one_delivery_is_two_lines(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(alert("p0"), alert("p1"), alert("p2"))
    rig.run()
    rig.deliver(alert("p0", end=T0 + 9), alert("p3"), alert("p1", end=T0 + 9), alert("p4"))
    rig.run()
    (reply,) = slack.replies(slack.roots()[0].ts)
    assert len(reply.text.splitlines()) == 2


def test_an_alert_that_goes_to_and_fro_fills_no_screen(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(alert("p0"))
    rig.run()
    for number in range(50):
        rig.deliver(alert("p0"), alert("p1", T0 + 100 * number + 10))
        rig.deliver(alert("p0"), alert("p1", T0 + 100 * number + 10, T0 + 100 * number + 20))
    rig.run()
    (root,) = slack.roots()
    (reply,) = slack.replies(root.ts)
    first, second, *last = reply.text.splitlines()
    assert (first, second) == (
        ":small_red_triangle: Firing: 47 times before what follows",
        ":white_check_mark: Resolved: 47 times before what follows",
    )
    assert len(last) == 6
    assert last[-1].startswith(":white_check_mark: Resolved")
