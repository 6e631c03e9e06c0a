"""Connections to the engine: idle ones are reused, new ones are made as they are needed."""

from __future__ import annotations

import asyncio
import ssl
from typing import NamedTuple, Protocol

from specwatch_exporters.proxy.connect_problem import connect_problem
from specwatch_exporters.proxy.engine_connection import EngineConnection
from specwatch_exporters.proxy.lane import Lane
from specwatch_exporters.proxy.own_address import Ends
from specwatch_exporters.proxy.own_answers import Refusal
from specwatch_exporters.proxy.proxy_limits import ProxyLimits
from specwatch_exporters.proxy.sparse_log import SparseLog


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
        log: hears why the engine cannot be reached.
        lane: its own, if it is one of several pools.
    """

    def __init__(self, target: EngineTarget, limits: ProxyLimits, log: SparseLog, lane: Lane | None = None) -> None:
        self.limits = limits
        self._lane = lane
        self._target = target
        self._log = log
        self._idle: list[EngineConnection] = []
        self._all: set[EngineConnection] = set()
        self._ends: set[Ends | None] = set()
        self._empty = asyncio.Event()
        self._reaper: asyncio.TimerHandle | None = None
        self._connecting: set[asyncio.Task[None]] = set()

    @property
    def open_count(self) -> int:
        """Connections, idle and in use, and those being made."""
        return len(self._all) + len(self._connecting)

    def is_own(self, client: Ends | None) -> bool:
        """Whether a client's connection is the other side of one of this pool: the upstream leads back here."""
        return client in self._ends

    def trouble(self, reason: str) -> None:
        """The engine sent what is no answer."""
        self._log.warn(f"answer{self._suffix}", f"{self._name} sent no valid HTTP/1.1: {reason}")

    @property
    def _suffix(self) -> str:
        """Tells the troubles of several pools apart."""
        return "" if self._lane is None else f" {self._lane.name}"

    @property
    def _name(self) -> str:
        host = f"[{self._target.host}]" if ":" in self._target.host else self._target.host
        return f"the engine at {host}:{self._target.port}"

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
        self._ends.discard(connection.ends)
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
                _, connection = await loop.create_connection(
                    lambda: EngineConnection(self, self._lane), host, port, ssl=tls
                )
        except (OSError, UnicodeError) as error:
            problem = connect_problem(error, self.limits.connect_s)
            self._log.warn(f"connect{self._suffix}", f"{self._name} cannot be reached: {problem}")
            timed_out = isinstance(error, TimeoutError)
            applicant.engine_unreachable(Refusal.CONNECT_TIMEOUT if timed_out else Refusal.UNREACHABLE)
            return
        self._all.add(connection)
        if connection.ends is not None:
            self._ends.add(connection.ends)
        self._empty.clear()
        if applicant.over:
            self.give_back(connection)
        else:
            applicant.engine_ready(connection)
