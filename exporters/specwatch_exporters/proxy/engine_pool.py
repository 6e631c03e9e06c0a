"""Connections to the engine: idle ones are reused, new ones are made as they are needed."""

from __future__ import annotations

import asyncio
import ssl
from typing import NamedTuple, Protocol

from specwatch_exporters.proxy.engine_connection import EngineConnection
from specwatch_exporters.proxy.own_answers import Refusal
from specwatch_exporters.proxy.proxy_limits import ProxyLimits


class EngineTarget(NamedTuple):
    """Where the engine is.

    Attributes:
        host: name or address.
        port: 1 to 65535.
        tls: how to speak https, or None for http.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None


class Applicant(Protocol):
    """Whoever wants a connection: an exchange."""

    @property
    def over(self) -> bool:
        """Whether it does not need one any more."""

    def engine_ready(self, connection: EngineConnection) -> None:
        """Here it is."""

    def engine_unreachable(self, refusal: Refusal) -> None:
        """There is none."""


class EnginePool:
    """Gives connections out.

    Args:
        target: where the engine is.
        limits: times.
    """

    def __init__(self, target: EngineTarget, limits: ProxyLimits) -> None:
        self.limits = limits
        self._target = target
        self._idle: list[EngineConnection] = []
        self._all: set[EngineConnection] = set()
        self._empty = asyncio.Event()
        self._reaper: asyncio.TimerHandle | None = None
        self._connecting: set[asyncio.Task[None]] = set()

    @property
    def open_count(self) -> int:
        """Connections, idle and in use, and those being made."""
        return len(self._all) + len(self._connecting)

    def request(self, applicant: Applicant) -> None:
        """Give a connection, now or as soon as it is made."""
        while self._idle:
            connection = self._idle.pop()
            if connection.quiet:
                applicant.engine_ready(connection)
                return
            connection.abort()
        task = asyncio.get_running_loop().create_task(self._connect(applicant))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    def give_back(self, connection: EngineConnection) -> None:
        """Take a connection back behind a complete response."""
        connection.rest()
        self._idle.append(connection)
        if self._reaper is None:
            self._reaper = asyncio.get_running_loop().call_later(self.limits.engine_idle_s, self._reap)

    def forget(self, connection: EngineConnection) -> None:
        """A connection is gone."""
        self._all.discard(connection)
        if not self._all:
            self._empty.set()
        if connection in self._idle:
            self._idle.remove(connection)

    def _reap(self) -> None:
        """Close what has rested for too long; the longest rest is the first in the list."""
        self._reaper = None
        loop = asyncio.get_running_loop()
        oldest = loop.time() - self.limits.engine_idle_s
        while self._idle and self._idle[0].rests_since <= oldest:
            self._idle.pop(0).abort()
        if self._idle:
            left = self._idle[0].rests_since - oldest
            self._reaper = loop.call_later(left, self._reap)

    async def close(self) -> None:
        """Close every connection, wait for those being made."""
        if self._reaper is not None:
            self._reaper.cancel()
        for task in tuple(self._connecting):
            task.cancel()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        for connection in tuple(self._all):
            connection.abort()
        if self._all:
            await self._empty.wait()

    async def _connect(self, applicant: Applicant) -> None:
        loop = asyncio.get_running_loop()
        host, port, tls = self._target
        try:
            async with asyncio.timeout(self.limits.connect_s):
                _, connection = await loop.create_connection(lambda: EngineConnection(self), host, port, ssl=tls)
        except TimeoutError:
            applicant.engine_unreachable(Refusal.CONNECT_TIMEOUT)
            return
        except (OSError, UnicodeError):
            applicant.engine_unreachable(Refusal.UNREACHABLE)
            return
        self._all.add(connection)
        self._empty.clear()
        if applicant.over:
            self.give_back(connection)
        else:
            applicant.engine_ready(connection)
