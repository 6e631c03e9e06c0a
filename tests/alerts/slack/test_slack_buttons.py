from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from aiohttp.test_utils import TestClient, TestServer

from alerts.slack.alertmanager_process import alertmanager
from alerts.slack.slack_rig import SETTINGS, T0, Rig, alert
from alerts.slack.slack_server import CHANNEL, SlackServer
from engine.engine_process import free_port
from specwatch_alerts.slack.database import Database
from specwatch_alerts.slack.interactivity import PATH, Interactivity
from specwatch_alerts.slack.message import ACKNOWLEDGE, LEAVE, RETURN, SILENCE, UNLATCH
from specwatch_alerts.slack.order import OrderBook
from specwatch_alerts.slack.order_desk import DeskSettings, OrderDesk
from specwatch_alerts.slack.secret_file import SecretFile
from specwatch_detectors.fallback.operator_command import Order as Command
from specwatch_detectors.fallback.operator_command import given

SECRET = "a signing secret".replace(" ", "-")
OPERATOR = "U0OPERATOR"


class Buttons(Rig):
    """A rig whose messages have buttons that act."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.secret = self.folder / "signing"
        self.secret.write_text(SECRET)
        self.commands = self.folder / "audit.jsonl.command"
        self.outcomes: list[tuple[str, str]] = []
        self.databases.append(Database(self.folder / "queue.db"))
        self.book = OrderBook(self.databases[-1], self.clock)
        self.configure()

    def configure(self, alertmanager: str = "http://127.0.0.1:9") -> None:
        settings = DeskSettings(frozenset({OPERATOR}), alertmanager, {"llama": self.commands})
        self.sender._settings = replace(SETTINGS, offered=settings.offered)
        self.desk = OrderDesk(
            self.book, self.sender._api, settings, self.clock, lambda *told: self.outcomes.append(told)
        )

    def press(self, action: str, user: str = OPERATOR, **more: Any) -> int:
        """Somebody presses a button of the first message; the HTTP status that Slack gets."""
        return self.post(pressed(action, self.group(), user, **more))

    def post(self, body: bytes, headers: Mapping[str, str] = MappingProxyType({}), at: float | None = None) -> int:
        when = f"{self.now if at is None else at:.0f}"
        signed = {"X-Slack-Request-Timestamp": when, "X-Slack-Signature": signature(when, body), **headers}
        return asyncio.run(self._post(body, signed))

    async def _post(self, body: bytes, headers: dict[str, str]) -> int:
        with ThreadPoolExecutor(1) as executor:
            site = Interactivity(
                SecretFile(self.secret, "--signing-secret-file"),
                self.book,
                executor,
                self.clock,
                lambda *told: self.outcomes.append(told),
                lambda: None,
            )
            async with TestClient(TestServer(site.application())) as client:
                form = {"Content-Type": "application/x-www-form-urlencoded"}
                answer = await client.post(PATH, data=body, headers={**form, **headers})
                return answer.status

    def group(self) -> str:
        job = self.slack.roots()[0].body["metadata"]["event_payload"]["key"]
        return str(job.partition(":")[0])

    def work(self) -> None:
        while self.desk.step():
            pass
        self.run()

    def thread(self) -> list[str]:
        return [reply.text for reply in self.slack.replies(self.slack.roots()[0].ts)]


def signature(when: str, body: bytes, secret: str = SECRET) -> str:
    return "v0=" + hmac.new(secret.encode(), b"v0:" + when.encode() + b":" + body, hashlib.sha256).hexdigest()


def pressed(action: str, group: str, user: str | None = OPERATOR, ts: str = "1.1", **more: Any) -> bytes:
    payload = {
        "type": "block_actions",
        "user": user and {"id": user},
        "channel": {"id": CHANNEL},
        "actions": [{"action_id": action, "value": group, "action_ts": ts, "type": "button"}],
        **more,
    }
    return urlencode({"payload": json.dumps(payload)}).encode()


@pytest.fixture
def buttons(slack: SlackServer, tmp_path: Path) -> Iterator[Buttons]:
    made = Buttons(slack, tmp_path)
    made.deliver(alert())
    made.run()
    yield made
    made.close()


def test_anybody_may_say_that_they_look_at_it(buttons: Buttons, slack: SlackServer) -> None:
    assert buttons.press(ACKNOWLEDGE, "U0ANYBODY") == 200
    buttons.work()
    assert buttons.thread() == [":eyes: <@U0ANYBODY> looks at it."]
    assert "<@U0ANYBODY> looks at it" in str(slack.roots()[0].body["blocks"])
    assert "Acknowledge" not in str(slack.roots()[0].body["blocks"])


def test_a_press_that_slack_repeats_counts_once(buttons: Buttons) -> None:
    assert [buttons.press(ACKNOWLEDGE) for _ in range(3)] == [200] * 3
    buttons.work()
    assert len(buttons.thread()) == 1
    assert buttons.outcomes.count((ACKNOWLEDGE, "repeated")) == 2


def silences(url: str) -> list[dict[str, Any]]:
    with urlopen(f"{url}/api/v2/silences") as answer:
        return list(json.load(answer))


def test_an_operator_silences_in_a_real_alertmanager(buttons: Buttons, tmp_path: Path) -> None:
    buttons.now = time.time()  # a silence must end after the Alertmanager's own now
    with alertmanager(tmp_path) as url:
        buttons.configure(url)
        buttons.press(SILENCE)
        buttons.work()
        (found,) = silences(url)
        buttons.press(SILENCE, ts="2.2")
        buttons.work()
        assert len(silences(url)) == 1
    assert found["status"]["state"] == "active"
    assert {one["name"]: one["value"] for one in found["matchers"]} == alert()["labels"]
    assert all(one["isEqual"] and not one["isRegex"] for one in found["matchers"])
    assert found["createdBy"] == f"Slack user {OPERATOR}"
    assert "silenced until" in str(buttons.slack.roots()[0].body["blocks"])
    assert "silenced already" in buttons.slack.ephemeral[0][1]


def test_a_silence_that_fails_is_said(buttons: Buttons) -> None:
    buttons.configure(f"http://127.0.0.1:{free_port()}")
    buttons.press(SILENCE)
    buttons.work()
    assert "it failed: Alertmanager cannot be reached" in buttons.thread()[0]


@pytest.mark.parametrize("action", [SILENCE, LEAVE, RETURN, UNLATCH])
def test_who_is_not_on_the_list_may_not(buttons: Buttons, action: str) -> None:
    assert buttons.press(action, "U0NOBODY") == 200
    buttons.work()
    assert buttons.slack.ephemeral == [
        ("U0NOBODY", "You are not on this receiver's list of operators; nothing was done.")
    ]
    assert given(buttons.commands) is None
    assert buttons.thread() == []
    assert buttons.outcomes == [(action, "refused")]


@pytest.mark.parametrize(
    ("action", "command"), [(LEAVE, Command.LEAVE), (RETURN, Command.RETURN), (UNLATCH, Command.UNLATCH)]
)
def test_an_operator_commands_the_fallback_through_its_file(
    buttons: Buttons, action: str, command: Command
) -> None:
    buttons.press(action)
    when = buttons.now
    buttons.work()
    told = given(buttons.commands)
    assert told is not None
    assert (told.order, told.by, told.at) == (command, f"Slack user {OPERATOR}", when)
    assert buttons.thread()[0].startswith(
        f":arrow_right_hook: <@{OPERATOR}> told the fallback controller: `{command}`"
    )


def test_an_order_that_waited_too_long_is_not_carried_out(buttons: Buttons) -> None:
    buttons.press(RETURN)
    buttons.now += 601
    buttons.work()
    assert given(buttons.commands) is None
    assert buttons.outcomes == [(RETURN, "expired")]


@pytest.mark.parametrize(
    ("at", "headers", "status"),
    [
        (T0 + 299, {}, 200),
        (T0 - 301, {}, 401),
        (T0 + 400, {}, 401),
        (T0, {"X-Slack-Signature": "v0=" + "0" * 64}, 401),
        (T0, {"X-Slack-Signature": ""}, 401),
        (T0, {"X-Slack-Signature": "v0=é"}, 401),
        (T0, {"X-Slack-Request-Timestamp": "soon"}, 401),
        (T0, {"X-Slack-Request-Timestamp": "9" * 400}, 401),
    ],
)
def test_only_what_slack_signed_within_five_minutes_counts(
    buttons: Buttons, at: float, headers: dict[str, str], status: int
) -> None:
    buttons.now = T0
    assert buttons.post(pressed(ACKNOWLEDGE, buttons.group()), headers, at) == status
    assert (buttons.book.next() is not None) == (status == 200)


def test_the_signature_covers_the_raw_body(buttons: Buttons) -> None:
    body = pressed(ACKNOWLEDGE, buttons.group())
    when = f"{buttons.now:.0f}"
    assert buttons.post(body + b"&x=1", {"X-Slack-Signature": signature(when, body)}) == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"payload", 400),
        (b"payload=%7B", 400),
        (b"payload=[]", 400),
        (b"payload=" + b"[" * 50_000, 400),
        (urlencode({"payload": json.dumps({"type": "view_submission"})}).encode(), 200),
        (pressed("specwatch_dashboard", "x"), 200),
        (pressed(SILENCE, "'; DROP TABLE groups"), 400),
        (pressed(SILENCE, "0" * 32, "<!channel>"), 400),
        (pressed(SILENCE, "0" * 32, actions=[7]), 400),
        (pressed(SILENCE, "0" * 32, user=None), 400),
        (b"\xff\xfe", 401),  # slack-sdk signs text only
    ],
)
def test_malformed_requests_are_refused(buttons: Buttons, body: bytes, status: int) -> None:
    assert buttons.post(body) == status
    assert buttons.book.next() is None


def test_a_button_of_a_group_that_is_not_known_any_more_does_nothing(buttons: Buttons) -> None:
    assert buttons.post(pressed(RETURN, "f" * 32)) == 200
    buttons.work()
    assert given(buttons.commands) is None
