"""Buttons: Slack's signed request becomes an order, or is refused.

Signature over the raw body and a window of five minutes: https://docs.slack.dev/authentication/verifying-requests-from-slack
Slack wants its answer within three seconds, so that orders are written down here and carried out elsewhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any, Final
from urllib.parse import parse_qs

from aiohttp import web
from slack_sdk.signature import Clock, SignatureVerifier

from specwatch_alerts.slack.message import ACKNOWLEDGE, LEAVE, RETURN, SILENCE, UNLATCH
from specwatch_alerts.slack.order import Order, OrderBook
from specwatch_alerts.slack.secret_file import SecretError, SecretFile

LOG = logging.getLogger("specwatch.slack")
PATH: Final = "/slack/interactive"
_MOST_BYTES: Final = 256 * 1024
_BODY_S: Final = 3.0
_ACTIONS: Final = frozenset({ACKNOWLEDGE, SILENCE, LEAVE, RETURN, UNLATCH})
_IDENTITY: Final = re.compile(r"[A-Z0-9]{1,32}", re.ASCII)
_GROUP: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


class MalformedError(ValueError):
    """The request is none of Slack's; one line."""


class Interactivity:
    """Answers Slack.

    Args:
        secret: the app's signing secret.
        book: where orders are written.
        executor: one thread, the only one that uses the book.
        clock: epoch seconds.
        count: told action and outcome.
        wake: called after an order was written.
    """

    def __init__(
        self,
        secret: SecretFile,
        book: OrderBook,
        executor: Executor,
        clock: Callable[[], float],
        count: Callable[[str, str], None],
        wake: Callable[[], None],
    ) -> None:
        self._secret = secret
        self._book = book
        self._executor = executor
        self._clock = clock
        self._count = count
        self._wake = wake

    def application(self) -> web.Application:
        """The one page that Slack must reach; serve it on a port of its own."""
        app = web.Application(client_max_size=_MOST_BYTES)
        app.router.add_post(PATH, self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.Response:
        try:
            body = await asyncio.wait_for(request.read(), _BODY_S)
        except TimeoutError:
            return web.Response(status=408, text="the body did not arrive\n")
        try:
            signed = genuine(self._secret.read(), body, request.headers, self._clock)
        except SecretError as error:
            LOG.error("%s", error)  # noqa: TRY400 - a line, no traceback
            return web.Response(status=503, text="the signing secret cannot be read\n")
        if not signed:
            self._count("any", "unsigned")
            return web.Response(status=401, text="the signature is wrong or older than five minutes\n")
        try:
            orders = read_orders(body, self._clock())
        except MalformedError as error:
            self._count("any", "malformed")
            return web.Response(status=400, text=f"{error}\n")
        return await self._take(orders)

    async def _take(self, orders: list[Order]) -> web.Response:
        loop = asyncio.get_running_loop()
        try:
            for order in orders:
                if not await loop.run_in_executor(self._executor, self._book.take, order):
                    self._count(order.action, "repeated")
        except sqlite3.Error as error:
            return web.Response(status=503, text=f"the order could not be written: {error}\n")
        if orders:
            self._wake()
        return web.Response(status=200)


def genuine(secret: str, body: bytes, headers: Mapping[str, str], clock: Callable[[], float]) -> bool:
    """Whether Slack signed this body within the last five minutes.

    slack-sdk 3.48 raises on a time that is no number and on a body that is no UTF-8; both are refusals.
    """
    verifier = SignatureVerifier(secret, _EpochClock(clock))
    try:
        return verifier.is_valid_request(body, dict(headers))
    except (ValueError, TypeError, OverflowError):
        return False


def read_orders(body: bytes, now: float) -> list[Order]:
    """Orders in a signed request; none for the buttons that only open an address.

    Raises:
        MalformedError: it is no block_actions.
    """
    try:
        payload = json.loads(parse_qs(body.decode(), strict_parsing=True)["payload"][0])
        if payload["type"] != "block_actions":
            return []
        pressed = [action for action in payload["actions"] if action["action_id"] in _ACTIONS]
        user, channel = str(payload["user"]["id"]), str((payload.get("channel") or {}).get("id", ""))
        return [_order(action, user, channel, now) for action in pressed]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise MalformedError("the body is no payload of a button") from None


def _order(action: Mapping[str, Any], user: str, channel: str, now: float) -> Order:
    group = str(action["value"])
    if not _IDENTITY.fullmatch(user) or not _GROUP.fullmatch(group) or not _IDENTITY.fullmatch(channel or "C"):
        raise MalformedError("the button names no user or no group")
    name, when = str(action["action_id"]), str(action.get("action_ts", ""))
    key = hashlib.sha256(f"{name}\0{group}\0{user}\0{when}".encode()).hexdigest()
    return Order(key, name, group, user, channel, now)


class _EpochClock(Clock):
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock()
