"""Carries out what buttons ask for: acknowledge, silence for an hour, end the fallback, unlatch it.

The fallback is told through the file that `specwatch fallback return` and `unlatch` write, and by nothing else: the
controller obeys in its next round, by its own rules, and writes down who asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from specwatch_alerts.slack import silence
from specwatch_alerts.slack.call_error import CallError
from specwatch_alerts.slack.group_view import GroupView
from specwatch_alerts.slack.message import ACKNOWLEDGE, LEAVE, RETURN, SILENCE, UNLATCH, silence_matchers
from specwatch_alerts.slack.mrkdwn import escape, moment
from specwatch_alerts.slack.order import Order, OrderBook
from specwatch_alerts.slack.slack_api import SlackApi
from specwatch_detectors.fallback import operator_command

LOG = logging.getLogger("specwatch.slack")
EXPIRES_S: Final = 600.0
"""Age from which an order is not carried out: it was meant for another situation."""

_COMMANDS: Final = {
    LEAVE: operator_command.Order.LEAVE,
    RETURN: operator_command.Order.RETURN,
    UNLATCH: operator_command.Order.UNLATCH,
}


@dataclass(frozen=True, slots=True)
class DeskSettings:
    """What may be done, and by whom.

    Attributes:
        operators: Slack IDs of those who may silence and command the fallback; anybody may acknowledge.
        alertmanager: URL, or empty: no silences.
        fallback_commands: the controller's command file by model; none: no commands.
    """

    operators: frozenset[str] = frozenset()
    alertmanager: str = ""
    fallback_commands: Mapping[str, Path] = field(default_factory=dict)

    @property
    def offered(self) -> frozenset[str]:
        """Actions that have a button."""
        found = {ACKNOWLEDGE}
        if self.operators and self.alertmanager:
            found.add(SILENCE)
        if self.operators and self.fallback_commands:
            found |= set(_COMMANDS)
        return frozenset(found)


class OrderDesk:
    """Carries orders out.

    Args:
        book: the orders.
        api: Slack, to tell somebody that they may not.
        settings: what may be done.
        clock: epoch seconds.
        count: told action and outcome.
    """

    def __init__(
        self,
        book: OrderBook,
        api: SlackApi,
        settings: DeskSettings,
        clock: Callable[[], float],
        count: Callable[[str, str], None],
    ) -> None:
        self._book = book
        self._api = api
        self._settings = settings
        self._clock = clock
        self._count = count

    def step(self) -> bool:
        """Carry the next order out; False if there is none."""
        order = self._book.next()
        if order is None:
            return False
        outcome = self._carry_out(order)
        LOG.info("%s by %s on group %s: %s", order.action, order.user, order.group, outcome)
        self._count(order.action, outcome)
        return True

    def _carry_out(self, order: Order) -> str:
        view = self._book.view(order.group)
        if view is None or self._clock() - order.at > EXPIRES_S:
            self._book.done(order)
            return "expired"
        if order.action not in self._settings.offered:
            self._book.done(order)
            return "refused"
        if order.action == ACKNOWLEDGE:
            self._book.done(order, f":eyes: <@{escape(order.user)}> looks at it.", acknowledged=order.user)
            return "done"
        if order.user not in self._settings.operators:
            self._book.done(order)
            self._tell(order, "You are not on this receiver's list of operators; nothing was done.")
            return "refused"
        return self._silence(order, view) if order.action == SILENCE else self._command(order, view)

    def _silence(self, order: Order, view: GroupView) -> str:
        now, who = self._clock(), f"<@{escape(order.user)}>"
        if view.silenced_until is not None and view.silenced_until > now:
            self._book.done(order)
            self._tell(order, f"It is silenced already, until {moment(view.silenced_until)}.")
            return "refused"
        try:
            identity = silence.silence(
                self._settings.alertmanager, silence_matchers(view), now, f"Slack user {order.user}", "From Slack"
            )
        except silence.SilenceError as error:
            self._book.done(order, f":warning: {who} asked for a silence; it failed: {escape(str(error))}")
            return "failed"
        until = now + silence.SILENCE_S
        note = f":no_bell: {who} silenced it until {moment(until)} (silence `{escape(identity)}`)."
        self._book.done(order, note, silenced_until=until)
        return "done"

    def _command(self, order: Order, view: GroupView) -> str:
        command, model = _COMMANDS[order.action], view.label("model")
        path = self._settings.fallback_commands.get(model)
        if path is None:
            self._book.done(order)
            self._tell(order, f"This receiver commands no fallback controller of {escape(model) or 'this group'}.")
            return "refused"
        told = operator_command.Command(order.key, command, order.at, f"Slack user {order.user}")
        try:
            operator_command.give(path, told)
        except OSError as error:
            words = escape(error.strerror or "the file cannot be written")
            self._book.done(order, f":warning: <@{escape(order.user)}> asked for `{command}`; it failed: {words}")
            return "failed"
        note = f":arrow_right_hook: <@{escape(order.user)}> told the fallback controller: `{command}`."
        self._book.done(order, f"{note} Its audit log has the answer.")
        return "done"

    def _tell(self, order: Order, words: str) -> None:
        """To the person alone; whether it arrives changes nothing."""
        try:
            self._api.tell(order.channel, order.user, words)
        except CallError as error:
            LOG.info("%s could not be told: %s", order.user, error)
