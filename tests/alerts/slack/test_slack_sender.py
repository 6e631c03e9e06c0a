"""Messages, edits and threads; many alerts, many groups, restarts."""

from __future__ import annotations

import pytest

from alerts.slack.slack_rig import T0, Rig, alert
from alerts.slack.slack_server import SlackServer


def titles(slack: SlackServer) -> list[str]:
    return [message.title for message in slack.roots()]


def test_a_group_has_one_message_edited_in_place_and_a_thread_of_changes(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(alert("vllm-0"))
    rig.run()
    rig.now += 300
    rig.deliver(alert("vllm-0"), alert("vllm-1", T0 + 200))
    rig.run()
    rig.now += 300
    rig.deliver(alert("vllm-0", end=T0 + 500), alert("vllm-1", T0 + 200, T0 + 500))
    rig.run()
    (root,) = slack.roots()
    assert root.title == ":large_green_circle: RESOLVED DraftDriftedNotPaying · llama · chat"
    assert root.edits == 2
    began, over = slack.replies(root.ts)
    assert began.text == ":small_red_triangle: Firing: DraftDriftedNotPaying on vllm-1"
    assert over.text.splitlines() == [
        ":white_check_mark: Resolved: DraftDriftedNotPaying on vllm-0, DraftDriftedNotPaying on vllm-1",
        "All resolved after 8 min 20 s.",
    ]
    assert rig.depth() == 0


@pytest.mark.parametrize(("severity", "loud"), [("page", True), ("ticket", False), ("info", False)])
def test_only_pages_are_broadcast(rig: Rig, slack: SlackServer, severity: str, loud: bool) -> None:
    rig.deliver(alert("a", severity=severity))
    rig.run()
    rig.deliver(alert("a", severity=severity), alert("b", severity=severity))
    rig.run()
    (root,) = slack.roots()
    assert [reply.broadcast for reply in slack.replies(root.ts)] == [loud]


def test_what_alertmanager_repeats_is_said_once(rig: Rig, slack: SlackServer) -> None:
    for _ in range(3):
        rig.deliver(alert())
        rig.run()
        rig.now += 4 * 3600
    accepted = rig.deliver(alert())
    assert (accepted.firing, accepted.repeated) == (0, 1)
    assert slack.methods() == ["chat.postMessage"]


def test_an_alert_that_was_over_before_slack_heard_of_it_is_told_all_the_same(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(alert())
    rig.deliver(alert(end=T0 + 30))
    rig.run()
    assert titles(slack) == [":large_green_circle: RESOLVED DraftDriftedNotPaying · llama · chat"]


def test_a_group_that_fires_again_soon_goes_on_in_its_message_and_later_gets_a_new_one(
    rig: Rig, slack: SlackServer
) -> None:
    rig.deliver(alert())
    rig.run()
    rig.deliver(alert(end=T0 + 60))
    rig.run()
    rig.now = T0 + 600
    rig.deliver(alert(start=T0 + 590))
    rig.run()
    (root,) = slack.roots()
    assert slack.replies(root.ts)[-1].broadcast
    assert root.title.startswith(":red_circle: PAGE")
    rig.deliver(alert(start=T0 + 590, end=T0 + 700))
    rig.run()
    rig.now = T0 + 7200
    rig.deliver(alert(start=T0 + 7190))
    rig.run()
    assert [title.split()[1] for title in titles(slack)] == ["RESOLVED", "PAGE"]


def test_an_hour_of_outage_loses_nothing_and_says_nothing_twice(rig: Rig, slack: SlackServer) -> None:
    slack.down = True
    rig.deliver(alert("a"))
    rig.run(1200)
    rig.deliver(alert("a"), alert("b"))
    rig.deliver(alert("z", model="other"), group="other")
    rig.run(2400)
    assert 40 < len(slack.calls) < 90  # it asks about once a minute, whatever waits
    assert rig.metrics.queue() == (2, 3600.0 + (rig.now - T0 - 3600.0))
    assert "Slack answers 503" in rig.troubles.troubles()["slack"]
    slack.down = False
    rig.run()
    assert sorted(titles(slack)) == [
        ":red_circle: PAGE DraftDriftedNotPaying · llama · chat",
        ":red_circle: PAGE DraftDriftedNotPaying · other · chat",
    ]
    assert rig.depth() == 0
    assert rig.troubles.troubles() == {}


def test_one_channel_that_cannot_be_used_does_not_hold_the_others(rig: Rig, slack: SlackServer) -> None:
    rig.sender._settings.channels["broken"] = "C0GONE"  # type: ignore[index]
    rig.deliver(alert("a"), group="a", receiver="broken")
    rig.deliver(alert("b", model="b"), group="b", receiver="slack")
    rig.run(100)
    assert len(slack.roots()) == 1
    assert rig.depth() == 1


def test_pages_go_before_tickets(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(alert(severity="ticket", model="early"), group="early")
    rig.now += 1
    rig.deliver(alert(severity="page", model="late"), group="late")
    rig.run()
    assert [title.split()[1] for title in titles(slack)] == ["PAGE", "TICKET"]


def test_slacks_pace_is_kept_without_a_refusal(rig: Rig, slack: SlackServer) -> None:
    slack.pace_s = 1.0
    for number in range(50):
        rig.deliver(alert(model=f"m{number}"), group=f"m{number}")
    rig.run()
    assert len(slack.roots()) == 50
    assert slack.refusals == 0


def test_ten_thousand_alerts_of_one_group_are_one_message_and_one_reply(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(alert("vllm-0"))
    rig.run()
    for start in range(0, 10_000, 100):
        rig.deliver(*(alert(f"vllm-{number}") for number in range(start, start + 100)))
    rig.run()
    (root,) = slack.roots()
    assert root.edits == 1
    assert "10000 firing" in str(root.body["blocks"])
    (reply,) = slack.replies(root.ts)
    assert "and 9,994 more" in reply.text
    assert len(slack.calls) == 3


def test_ten_thousand_alerts_in_many_groups_are_a_message_each_and_no_storm(rig: Rig, slack: SlackServer) -> None:
    slack.pace_s = 1.0
    groups = 200
    for number in range(2 * groups):
        group = f"m{number % groups}"
        rig.deliver(*(alert(f"vllm-{number}-{one}", model=group) for one in range(25)), group=group)
    rig.run(3600)
    assert rig.depth() == 0
    assert len(slack.roots()) == groups
    assert slack.refusals == 0
    assert len(slack.calls) == groups


def test_changes_while_a_message_is_edited_wait_for_each_other(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(alert("vllm-0"))
    rig.run()
    for number in range(1, 40):
        rig.deliver(*(alert(f"vllm-{one}") for one in range(number + 1)))
        rig.now += max(0.01, rig.sender.step())
    rig.run()
    (root,) = slack.roots()
    assert "40 firing" in str(root.body["blocks"])
    assert root.edits <= (rig.now - T0) / 5.0


def test_a_restart_finds_what_was_left(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(alert("a"))
    again = rig.restarted()
    again.run()
    assert len(slack.roots()) == 1
    last = again.restarted()
    last.deliver(alert("a", end=T0 + 60))
    last.run()
    assert titles(slack) == [":large_green_circle: RESOLVED DraftDriftedNotPaying · llama · chat"]
    last.close()


def test_what_is_long_over_is_forgotten_and_what_waits_is_not(rig: Rig, slack: SlackServer) -> None:
    rig.deliver(alert("a"))
    rig.run()
    rig.deliver(alert("a", end=T0 + 60))
    assert rig.outbox.prune(T0 + 1e9) == 0
    rig.run()
    assert rig.outbox.prune(T0 + 1e9) == 1
    assert len(slack.roots()) == 1
