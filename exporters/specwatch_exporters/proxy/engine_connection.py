"""One connection to the engine: carries one exchange at a time."""

from __future__ import annotations

import asyncio
import select
from typing import Protocol, cast

from specwatch_exporters.proxy.lane import Lane
from specwatch_exporters.proxy.own_address import Ends, ends
from specwatch_exporters.proxy.own_answers import Refusal
from specwatch_exporters.proxy.proxy_limits import ProxyLimits
from specwatch_exporters.proxy.response_parser import AnswerError, Received, ResponseParser


class EngineUser(Protocol):
    """Whoever uses a connection: an exchange."""

    def received(self, got: Received) -> None:
        """The engine sent something."""

    def engine_lost(self, refusal: Refusal) -> None:
        """The connection is gone before the response was complete."""

    def engine_full(self) -> None:
        """Writing runs ahead of the engine."""

    def engine_drained(self) -> None:
        """The engine has caught up."""


class ConnectionKeeper(Protocol):
    """Where a connection belongs: the pool."""

    limits: ProxyLimits

    def forget(self, connection: EngineConnection) -> None:
        """The connection is gone."""

    def give_back(self, connection: EngineConnection) -> None:
        """The connection may carry another request."""

    def trouble(self, reason: str) -> None:
        """The engine sent what is no answer."""


class EngineConnection(asyncio.Protocol):
    """A connection, idle or in use.

    Args:
        keeper: is told when the connection is gone.
        lane: of the pool where there are several.

    Attributes:
        lane: see above.
        rests_since: the loop's time at the end of the last exchange.
        ends: this side and the engine's.
    """

    def __init__(self, keeper: ConnectionKeeper, lane: Lane | None = None) -> None:
        self._keeper = keeper
        self.lane = lane
        self._user: EngineUser | None = None
        self._parser: ResponseParser | None = None
        self._transport: asyncio.Transport | None = None
        self.rests_since = 0.0
        self.ends: Ends | None = None

    @property
    def usable(self) -> bool:
        """Whether a request may be written to it."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def quiet(self) -> bool:
        """Whether nothing has come on an idle connection: neither bytes nor the end, read or not yet read.

        The system is asked, because an engine that has just closed would lose the request that is sent to it.
        """
        if self._transport is None or self._transport.is_closing():
            return False
        sock = self._transport.get_extra_info("socket")
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLIN)
        return not poll.poll(0)

    @property
    def reusable(self) -> bool:
        """Whether another request may follow, now that a response is complete."""
        return self.usable and self._parser is not None and self._parser.reusable

    def begin(self, user: EngineUser, method: bytes) -> None:
        """Take the connection for one exchange."""
        self._user = user
        self._parser = ResponseParser(method, self._keeper.limits)

    def give_back(self) -> None:
        """To where it belongs, behind a complete response."""
        self._keeper.give_back(self)

    def rest(self) -> None:
        """The exchange is over: wait for the next one."""
        self._user = self._parser = None
        self.resume_reading()
        self.rests_since = asyncio.get_running_loop().time()

    def write(self, data: bytes) -> None:
        """Send bytes; what cannot be sent is dropped, and the loss is told through `engine_lost`."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def pause_reading(self) -> None:
        """Stop reading: the client is behind."""
        if self.usable:
            cast("asyncio.Transport", self._transport).pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        if self.usable:
            cast("asyncio.Transport", self._transport).resume_reading()

    def abort(self) -> None:
        """Close at once; the user is told nothing any more."""
        self._user = None
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport (asyncio)."""
        self._transport = cast("asyncio.Transport", transport)
        self.ends = ends(transport.get_extra_info("sockname"), transport.get_extra_info("peername"))

    def data_received(self, data: bytes) -> None:
        """Parse and hand on (asyncio)."""
        user, parser = self._user, self._parser
        if user is None or parser is None:
            self.abort()  # an idle connection has nothing to say
            return
        try:
            got = parser.feed(data)
        except AnswerError as error:
            self.abort()
            self._keeper.trouble(str(error))
            user.engine_lost(Refusal.BAD_ANSWER)
            return
        user.received(got)

    def eof_received(self) -> None:
        """The engine has finished sending: that ends a body without a length (asyncio)."""
        if self._user is not None and self._parser is not None and self._parser.end_of_stream():
            self._user.received(Received(end=True))

    def connection_lost(self, _error: Exception | None) -> None:
        """Tell whoever is left (asyncio)."""
        self._transport = None
        self._keeper.forget(self)
        user, self._user = self._user, None
        if user is not None:
            user.engine_lost(Refusal.NO_ANSWER)

    def pause_writing(self) -> None:
        """The write buffer is full (asyncio)."""
        if self._user is not None:
            self._user.engine_full()

    def resume_writing(self) -> None:
        """The write buffer has drained (asyncio)."""
        if self._user is not None:
            self._user.engine_drained()
