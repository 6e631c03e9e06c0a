"""Puts the receiver together and runs it until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from aiohttp import web
from prometheus_client import CollectorRegistry

from specwatch_alerts.slack.database import Database
from specwatch_alerts.slack.evidence_gathering import NoEvidence, PrometheusEvidence
from specwatch_alerts.slack.intake import Intake
from specwatch_alerts.slack.interactivity import Interactivity
from specwatch_alerts.slack.order import OrderBook
from specwatch_alerts.slack.order_desk import OrderDesk
from specwatch_alerts.slack.outbox import Outbox
from specwatch_alerts.slack.prometheus_query import PrometheusQuery
from specwatch_alerts.slack.receiver import Receiver
from specwatch_alerts.slack.receiver_settings import ReceiverSettings
from specwatch_alerts.slack.secret_file import SecretFile
from specwatch_alerts.slack.sender import EvidenceSource, Sender
from specwatch_alerts.slack.sender_lock import SenderLock
from specwatch_alerts.slack.sender_loop import SenderLoop
from specwatch_alerts.slack.sender_settings import SenderSettings
from specwatch_alerts.slack.slack_api import SlackApi
from specwatch_alerts.slack.slack_metrics import SlackMetrics
from specwatch_alerts.slack.trouble_board import TroubleBoard
from specwatch_exporters import slack_catalog
from specwatch_exporters.sidecar.server import bind
from specwatch_exporters.sidecar.setting_values import Listen

LOG = logging.getLogger("specwatch.slack")
EVIDENCE_S = 5.0
"""Seconds for all queries of one message."""


class SlackReceiver:
    """The receiver with all its parts; start it, and close it.

    Args:
        settings: what it was told.
        sending: how to send; channels and buttons are taken from `settings`.
        clock: epoch seconds.

    Raises:
        DatabaseError: the queue cannot be used.
    """

    def __init__(
        self,
        settings: ReceiverSettings,
        sending: SenderSettings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self._databases: list[Database] = []
        self.troubles = TroubleBoard(clock)
        self._lock = SenderLock(settings.database)
        self.metrics = SlackMetrics(self._database(), self.troubles, lambda: self._lock.held, clock)
        self._api = SlackApi(SecretFile(settings.token_file, "--token-file"), settings.api_url, count=self._called)
        outbox = Outbox(self._database(), clock)
        sender = Sender(outbox, self._api, _evidence(settings, clock), self._sending(sending), clock, self.troubles)
        interactive = settings.signing_secret_file is not None
        desk = (
            OrderDesk(OrderBook(self._database(), clock), self._api, settings.desk, clock, self._acted)
            if interactive
            else None
        )
        self.loop = SenderLoop(sender, desk, outbox, self._lock, clock, self.troubles)
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="specwatch-slack-intake")
        self._registry = CollectorRegistry()
        self._registry.register(self.metrics)
        self._intake = Intake(self._database(), clock)
        self._orders = OrderBook(self._database(), clock)
        self._clock = clock
        self._runners: list[web.AppRunner] = []
        self.ports: list[int] = []

    async def start(self) -> None:
        """Listen and send.

        Raises:
            ListenError: an address cannot be listened on.
        """
        settings = self.settings
        receiver = Receiver(
            self._intake,
            self._executor,
            self.metrics,
            self._registry,
            None
            if settings.webhook_token_file is None
            else SecretFile(settings.webhook_token_file, "--webhook-token-file"),
            self.loop.wake,
            self.troubles.troubles,
        )
        await self._listen(receiver.application(), settings.listen)
        if settings.signing_secret_file is not None and settings.interactive_listen is not None:
            buttons = Interactivity(
                SecretFile(settings.signing_secret_file, "--signing-secret-file"),
                self._orders,
                self._executor,
                self._clock,
                self._acted,
                self.loop.wake,
            )
            await self._listen(buttons.application(), settings.interactive_listen)
        self.loop.start()

    async def close(self) -> None:
        """Finish what is under way; what is queued stays queued."""
        for runner in self._runners:
            await runner.cleanup()
        await asyncio.to_thread(self.loop.stop)
        self._executor.shutdown()
        for database in self._databases:
            database.close()

    async def _listen(self, application: web.Application, where: Listen) -> None:
        runner = web.AppRunner(application, access_log=None, handle_signals=False)
        await runner.setup()
        self._runners.append(runner)
        listener = bind(where)
        await web.SockSite(runner, listener).start()
        self.ports.append(int(listener.getsockname()[1]))

    def _database(self) -> Database:
        database = Database(self.settings.database)
        self._databases.append(database)
        return database

    def _sending(self, given: SenderSettings | None) -> SenderSettings:
        interactive = self.settings.signing_secret_file is not None
        return replace(
            given or SenderSettings(self.settings.channel),
            default_channel=self.settings.channel,
            channels=self.settings.channels,
            offered=self.settings.desk.offered if interactive else frozenset(),
            pictures=self.settings.pictures,
        )

    def _called(self, method: str, outcome: str) -> None:
        self.metrics.count(slack_catalog.CALLS, method, outcome)

    def _acted(self, action: str, outcome: str) -> None:
        self.metrics.count(slack_catalog.ACTIONS, action, outcome)


def _evidence(settings: ReceiverSettings, clock: Callable[[], float]) -> EvidenceSource:
    if not settings.prometheus:
        return NoEvidence()
    path = settings.prometheus_token_file
    token = None if path is None else SecretFile(path, "--prometheus-token-file")

    def connect() -> PrometheusQuery:
        return PrometheusQuery(settings.prometheus, token, time.monotonic, EVIDENCE_S)

    return PrometheusEvidence(connect, clock, _drawing() if settings.pictures else None)


def _drawing() -> Callable[[str, list[tuple[float, float]], float | None, float], bytes] | None:
    try:
        from specwatch_alerts.slack.acceptance_picture import draw_acceptance  # noqa: PLC0415 - needs matplotlib
    except ModuleNotFoundError:
        LOG.info("matplotlib is not installed: alerts go out without pictures (pip install '.[detect]')")
        return None
    return draw_acceptance


def readable(paths: Iterable[tuple[str, Path | None]]) -> None:
    """Read each secret once, so that a mistake shows at once.

    Raises:
        SecretError: one cannot be read.
    """
    for flag, path in paths:
        if path is not None:
            SecretFile(path, flag).read()


async def run(receiver: SlackReceiver, started: Callable[[list[int]], None]) -> None:
    """Run until SIGTERM or Ctrl-C.

    Raises:
        ListenError: an address cannot be listened on.
    """
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await receiver.start()
        started(receiver.ports)
        await stop.wait()
    finally:
        await receiver.close()
