"""A Slack that fails, loses answers, limits or refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from alerts.slack.slack_rig import T0, Rig, alert
from alerts.slack.slack_server import CHANNEL, Fault, SlackServer
from specwatch_alerts.slack.evidence import Evidence
from specwatch_alerts.slack.group_view import GroupView
from specwatch_alerts.slack.message import Message, compose


def titles(slack: SlackServer) -> list[str]:
    return [message.title for message in slack.roots()]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_failing_slack_is_asked_again(rig: Rig, slack: SlackServer, status: int) -> None:
    slack.faults = [Fault(status)] * 3
    rig.deliver(alert())
    rig.run()
    assert len(slack.roots()) == 1


def test_retry_after_is_kept(rig: Rig, slack: SlackServer) -> None:
    slack.faults = [Fault(429, "ratelimited", {"Retry-After": "37"})]
    rig.deliver(alert())
    rig.run(until=lambda: bool(slack.messages))
    assert 37 <= rig.now - T0 < 40
    assert slack.methods() == ["chat.postMessage"] * 2
    assert rig.calls() == {("chat.postMessage", "ratelimited"): 1, ("chat.postMessage", "ok"): 1}


@pytest.mark.parametrize("reply", [False, True])
def test_a_post_whose_answer_was_lost_is_found_and_not_repeated(rig: Rig, slack: SlackServer, reply: bool) -> None:
    slack.page = 1
    rig.deliver(alert("a"))
    if reply:
        rig.run()
        rig.deliver(alert("a"), alert("b"))
    slack.faults = [Fault(loses=True, method="chat.postMessage")]
    for number in range(3):
        slack._chat_postMessage(CHANNEL, {"text": f"somebody else {number}"})
    rig.run()
    assert len([root for root in slack.roots() if "somebody" not in root.text]) == 1
    assert len([message for message in slack.messages if message.thread]) == int(reply)
    assert rig.calls()["conversations.replies" if reply else "conversations.history", "ok"] >= 1
    assert rig.depth() == 0


def test_a_post_that_failed_within_slack_is_looked_for_and_then_repeated(rig: Rig, slack: SlackServer) -> None:
    slack.faults = [Fault(error="internal_error")]
    rig.deliver(alert())
    rig.run()
    assert slack.methods() == ["chat.postMessage", "conversations.history", "chat.postMessage"]


def test_without_permission_to_look_an_uncertain_post_comes_rather_twice_than_never(
    rig: Rig, slack: SlackServer
) -> None:
    slack.scopes.discard("channels:history")
    slack.faults = [Fault(loses=True)]
    rig.deliver(alert())
    rig.run()
    assert len(slack.roots()) == 2
    assert "may come twice" in rig.troubles.troubles()["history"]
    assert rig.depth() == 0


def test_a_limited_search_does_not_forget_that_it_searches(rig: Rig, slack: SlackServer) -> None:
    slack.faults = [
        Fault(loses=True, method="chat.postMessage"),
        Fault(429, "ratelimited", {"Retry-After": "9"}, method="conversations.history"),
    ]
    rig.deliver(alert())
    rig.run()
    assert len(slack.roots()) == 1


@pytest.mark.parametrize("when", ["edit", "reply"])
def test_a_deleted_message_is_posted_anew(rig: Rig, slack: SlackServer, when: str) -> None:
    rig.deliver(alert("a"))
    rig.run()
    first = slack.roots()[0].ts
    rig.deliver(alert("a"), alert("b"))
    if when == "edit":
        slack.delete(first)
    else:
        rig.run(until=lambda: slack.roots()[0].edits == 1)
        slack.delete(first)
    rig.run()
    (root,) = slack.roots()
    assert root.ts != first
    assert "2 firing" in str(root.body["blocks"])
    assert rig.depth() == 0


@pytest.mark.parametrize("error", ["msg_blocks_too_long", "invalid_blocks"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_form_that_slack_refuses_is_sent_with_less(rig: Rig, slack: SlackServer, error: str, times: int) -> None:
    slack.faults = [Fault(error=error)] * times
    rig.deliver(alert())
    rig.run()
    (root,) = slack.roots()
    assert bool(root.body.get("blocks")) == (times == 1)
    assert "Answers are 6 % slower." in root.text


@pytest.mark.parametrize(
    ("fault", "about", "words"),
    [
        ("invalid_auth", "token", "token file"),
        ("token_revoked", "token", "install the app again"),
        ("channel_not_found", f"channel {CHANNEL}", "invite the app"),
        ("not_in_channel", f"channel {CHANNEL}", "/invite"),
        ("is_archived", f"channel {CHANNEL}", "unarchive"),
        ("missing_scope", "token", "chat:write"),
    ],
)
def test_what_a_person_must_mend_is_said_and_the_queue_is_kept(
    rig: Rig, slack: SlackServer, fault: str, about: str, words: str
) -> None:
    if fault == "missing_scope":
        slack.scopes.discard("chat:write")
    elif about == "token":
        slack.faults = [Fault(error=fault)] * 10_000
    else:
        slack.channels[CHANNEL] = fault
    for number in range(20):
        rig.deliver(alert(model=f"m{number}"), group=f"m{number}")
    rig.run(600)
    assert rig.depth() == 20
    assert words in rig.troubles.troubles()[about]
    assert rig.calls()["chat.postMessage", fault] == len(slack.calls) <= 25  # not once per group and round
    slack.faults, slack.channels[CHANNEL] = [], "member"
    slack.scopes.add("chat:write")
    rig.run()
    assert rig.depth() == 0
    assert len(slack.roots()) == 20
    assert rig.troubles.troubles() == {}


class Broken:
    """Evidence whose source has a fault of its own."""

    def gather(self, view: GroupView) -> Evidence:
        raise ZeroDivisionError(view.group)

    def picture(self, view: GroupView) -> bytes | None:
        raise ZeroDivisionError(view.group)


def test_a_fault_of_the_evidence_costs_the_evidence_only(slack: SlackServer, tmp_path: Path) -> None:
    rig = Rig(slack, tmp_path, evidence=Broken())
    rig.deliver(alert())
    rig.run()
    (root,) = slack.roots()
    assert "see the receiver's log" in str(root.body["blocks"])
    rig.close()


def test_a_group_whose_message_cannot_be_made_does_not_hold_the_others(
    rig: Rig, slack: SlackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def composed(view: GroupView, *rest: object, **more: object) -> Message:
        if view.label("model") == "bad":
            raise ZeroDivisionError
        return compose(view, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("specwatch_alerts.slack.sender.compose", composed)
    rig.deliver(alert(model="bad"), group="bad")
    rig.now += 1
    rig.deliver(alert(model="good"), group="good")
    rig.run(60)
    assert len(slack.roots()) == 1
    assert rig.depth() == 1
    assert "ZeroDivisionError" in next(iter(rig.troubles.troubles().values()))


def test_a_refusal_that_nobody_knows_is_met_with_patience_and_then_with_less(rig: Rig, slack: SlackServer) -> None:
    slack.faults = [Fault(error="brand_new_error")] * 4
    rig.deliver(alert())
    rig.run(3600)
    assert len(slack.roots()) == 1
    assert rig.calls() == {("chat.postMessage", "other"): 4, ("chat.postMessage", "ok"): 1}


def test_a_new_token_needs_no_restart(rig: Rig, slack: SlackServer) -> None:
    slack.token = "xoxb-2-rotated"  # noqa: S105 - of the tests' server
    rig.deliver(alert())
    rig.run(120)
    assert not slack.messages
    rig.token.write_text(slack.token)
    rig.run(120)
    assert len(slack.roots()) == 1
