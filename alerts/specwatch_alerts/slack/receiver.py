"""The receiver's HTTP side: Alertmanager's webhook, health, and metrics.

A delivery is answered 200 only after it is committed. Alertmanager repeats what is answered with 5xx and drops what
is answered with 4xx (its `notify.Retrier`), so that 4xx is for what no repetition can mend.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry

from specwatch_alerts.slack.intake import Accepted, Intake
from specwatch_alerts.slack.payload import PayloadError, parse
from specwatch_alerts.slack.secret_file import SecretError, SecretFile
from specwatch_alerts.slack.slack_metrics import SlackMetrics
from specwatch_exporters import slack_catalog
from specwatch_exporters.sidecar.site import MetricsSite

LOG = logging.getLogger("specwatch.slack")
WEBHOOK: Final = "/alertmanager"
MOST_BYTES: Final = 16 * 1024 * 1024
"""Largest delivery: some 16,000 alerts. `max_alerts` in Alertmanager's webhook_config keeps them smaller."""
_BUDGET: Final = 64 * 1024 * 1024
"""Bytes of bodies that are held at once, each counted with `_LEAST` at least."""
_LEAST: Final = 65_536
_BODY_S: Final = 30.0


class Receiver:
    """Answers Alertmanager and Prometheus.

    Args:
        intake: the queue.
        executor: one thread, the only one that uses the intake.
        metrics: what is counted.
        registry: what /metrics shows.
        token: what Alertmanager must show as bearer token, or None.
        wake: called after something was written.
        troubles: what fails now, for /readyz.
    """

    def __init__(
        self,
        intake: Intake,
        executor: Executor,
        metrics: SlackMetrics,
        registry: CollectorRegistry,
        token: SecretFile | None,
        wake: Callable[[], None],
        troubles: Callable[[], Mapping[str, str]],
    ) -> None:
        self._intake = intake
        self._executor = executor
        self._metrics = metrics
        self._token = token
        self._wake = wake
        self._troubles = troubles
        self._held = 0
        self._site = MetricsSite(registry, self._ready, {})

    def application(self) -> web.Application:
        """The pages."""
        app = web.Application(client_max_size=MOST_BYTES)
        app.router.add_post(WEBHOOK, self._deliver)
        for path in ("/metrics", "/healthz", "/readyz"):
            app.router.add_get(path, self._page)
        return app

    async def _deliver(self, request: web.Request) -> web.Response:
        outcome, status, words = await self._take(request)
        self._metrics.count(slack_catalog.DELIVERIES, outcome)
        if status != web.HTTPOk.status_code:
            LOG.warning("a delivery from %s was answered %d: %s", request.remote, status, words)
        return web.Response(status=status, text=f"{words}\n")

    async def _take(self, request: web.Request) -> tuple[str, int, str]:
        """Outcome, HTTP status, and one line."""
        try:
            refusal = self._unauthorized(request)
        except SecretError as error:
            return "failed", 503, str(error)  # ours to mend: Alertmanager must send it again
        if refusal:
            return "unauthorized", 401, refusal
        size = MOST_BYTES if request.content_length is None else min(MOST_BYTES, request.content_length)
        size = max(_LEAST, size)
        if self._held + size > _BUDGET:
            return "busy", 503, "too many deliveries at once; send it again"
        self._held += size
        try:
            return await self._read(request)
        finally:
            self._held -= size

    async def _read(self, request: web.Request) -> tuple[str, int, str]:
        try:
            body = await asyncio.wait_for(request.read(), _BODY_S)
        except web.HTTPRequestEntityTooLarge:
            return (
                "too_large",
                413,
                f"more than {MOST_BYTES} bytes; set max_alerts in Alertmanager's webhook_config",
            )
        except TimeoutError:
            return "failed", 503, f"the body did not arrive within {_BODY_S:.0f} s"
        try:
            accepted = await asyncio.get_running_loop().run_in_executor(self._executor, self._write, body)
        except PayloadError as error:
            return "malformed", 400, str(error)
        except sqlite3.Error as error:
            return "failed", 503, f"the queue cannot be written: {error}"
        for turn in ("firing", "resolved", "repeated"):
            self._metrics.count(slack_catalog.ALERTS, turn, by=getattr(accepted, turn))
        self._wake()
        return (
            "accepted",
            200,
            f"{accepted.firing} firing, {accepted.resolved} resolved, {accepted.repeated} repeated",
        )

    def _write(self, body: bytes) -> Accepted:
        return self._intake.accept(parse(body))

    def _unauthorized(self, request: web.Request) -> str:
        if self._token is None:
            return ""
        wanted = f"Bearer {self._token.read()}"
        shown = request.headers.get("Authorization", "")
        if hmac.compare_digest(shown.encode("utf-8", "surrogateescape"), wanted.encode()):
            return ""
        return "the Authorization header is not the webhook's token"

    async def _page(self, request: web.Request) -> web.Response:
        accept = request.headers.get("Accept", "")
        target = request.path_qs
        answer = await asyncio.to_thread(self._site.answer, request.method, target, accept)
        headers = {"Content-Type": answer.content_type, **dict(answer.headers)}
        return web.Response(status=answer.status, body=answer.body, headers=headers)

    def _ready(self) -> tuple[bool, str]:
        """Ready to take deliveries, whatever Slack does: what it lacks is kept."""
        try:
            depth, _ = self._metrics.queue()
        except sqlite3.Error as error:
            return False, f"the queue cannot be read: {error}"
        troubles = self._troubles()
        return True, "\n".join([f"ready, {depth} waiting", *(troubles[about] for about in sorted(troubles))])
