"""One client's connection: its requests in order, one exchange at a time."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from typing import Protocol, cast

from specwatch_exporters.proxy.exchange import Exchange
from specwatch_exporters.proxy.http_head import Header, RequestHead
from specwatch_exporters.proxy.leave_watch import LeaveWatch
from specwatch_exporters.proxy.own_address import Ends, ends
from specwatch_exporters.proxy.own_answers import Refusal, refusal_bytes
from specwatch_exporters.proxy.parties import Passage
from specwatch_exporters.proxy.request_parser import RefusedError, RequestParser

_FLUSH_S = 30.0
_RESET = struct.pack("ii", 1, 0)


class ClientRegister(Passage, Protocol):
    """Where connections are listed, and what is the same for all of them.

    Attributes:
        leaves: sees a client leave while nothing is read from it.
    """

    leaves: LeaveWatch

    def comes_back(self, client: Ends | None) -> bool:
        """Whether a client is the sidecar itself."""

    def client_joined(self, client: ClientConnection) -> None:
        """A client has connected."""

    def client_left(self, client: ClientConnection) -> None:
        """Its connection is gone."""


class ClientConnection(asyncio.Protocol):
    """A connection.

    Requests behind the current one (pipelining) wait, and nothing more is read meanwhile; only that the client
    leaves is still seen.

    Args:
        register: see `ClientRegister`.

    Attributes:
        full: whether the client is behind: it reads more slowly than it is written to.
        reading: whether one read is being taken apart.
    """

    def __init__(self, register: ClientRegister) -> None:
        self._register = register
        self._parser = RequestParser(self, register.limits)
        self._queue: deque[Exchange] = deque()
        self._receiving: Exchange | None = None
        self._refusal: Refusal | None = None
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._idle_since: float | None = None
        self._holds: set[str] = set()
        self._descriptor = -1
        self._ends: Ends | None = None
        self._known = False
        self.full = False
        self.reading = False
        self._closing = False
        self._deaf = False

    # From asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport and wait for a request.

        asyncio's own loop turns Nagle's algorithm off only on sockets that name their protocol, which accepted ones
        do not; with it on, a chunk waits up to 40 ms for the client's delayed acknowledgement.
        """
        self._transport = cast("asyncio.Transport", transport)
        self._ends = ends(transport.get_extra_info("peername"), transport.get_extra_info("sockname"))
        sock = transport.get_extra_info("socket")
        if sock is not None:
            self._descriptor = sock.fileno()
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._register.client_joined(self)
        self._rest()

    def data_received(self, data: bytes) -> None:
        """Parse; while the connection is closing, and behind what cannot be read, what comes is thrown away."""
        if self._closing or self._deaf:
            return
        self.reading = True
        try:
            self._parser.feed(data)
        except RefusedError as error:
            self._refuse(error.refusal)
        finally:
            self.reading = False
        if self._queue:
            self._queue[0].flush()

    def eof_received(self) -> None:
        """The client has closed, or half closed: servers of LLM APIs take both for leaving, and so does this."""
        self._leave()
        self._close(linger=False)

    def connection_lost(self, _error: Exception | None) -> None:
        """The connection is gone."""
        self._closing = True
        self._transport = None
        self._register.leaves.forget(self._descriptor, self.eof_received)
        self._set_timer(None)
        self._register.client_left(self)
        self._leave()

    def pause_writing(self) -> None:
        """The client is behind."""
        self.full = True
        if self._queue:
            self._queue[0].client_full()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self.full = False
        if self._queue:
            self._queue[0].client_drained()

    # From the parser.

    def request_head(self, head: RequestHead) -> None:
        """A request begins."""
        self._idle_since = None
        if not self._known:  # by its first request a connection of the sidecar's own can be told from others
            self._known = True
            if self._register.comes_back(self._ends):
                raise RefusedError(Refusal.LOOP)
        if len(self._queue) >= self._register.limits.pipelined:
            raise RefusedError(Refusal.PIPELINE)
        exchange = Exchange(head, self, self._register)
        self._receiving = exchange
        self._queue.append(exchange)
        if len(self._queue) == 1:
            exchange.start()
        else:
            self.hold_reading("queue")

    def request_body(self, data: bytes) -> None:
        """A part of its body."""
        if self._receiving is not None:
            self._receiving.request_body(data)

    def request_end(self, trailers: list[Header]) -> None:
        """It is complete."""
        exchange, self._receiving = self._receiving, None
        if exchange is not None:
            exchange.request_end(trailers)

    # From the exchange.

    def write(self, data: bytes) -> None:
        """Send bytes; a client that has left gets none."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def hold_reading(self, reason: str) -> None:
        """Stop reading until every reason is released."""
        if not self._holds and self._transport is not None:
            self._transport.pause_reading()
            self._register.leaves.watch(self._descriptor, self.eof_received)
        self._holds.add(reason)

    def release_reading(self, reason: str) -> None:
        """Take a reason back."""
        if reason in self._holds:
            self._holds.discard(reason)
            if not self._holds and self._transport is not None:
                self._register.leaves.forget(self._descriptor, self.eof_received)
                self._transport.resume_reading()

    def exchange_done(self, *, keep_alive: bool) -> None:
        """The current answer was written whole: go on, or close."""
        done = self._queue.popleft()
        if not keep_alive:
            self._close(linger=self._receiving is done)
        elif self._queue:
            self._queue[0].start()
        elif self._refusal is not None:
            self._answer_and_close(self._refusal)
        else:
            self._rest()
        if len(self._queue) < 2:
            self.release_reading("queue")

    def break_off(self, *, hard: bool) -> None:
        """Close without the answer's end: what was received still goes out, unless the end is told by closing."""
        if self._transport is None:
            return
        self._drop_queue()
        if hard:
            sock = self._transport.get_extra_info("socket")
            if sock is not None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._transport.abort()
        else:
            self._close(linger=False)

    # From the service.

    def close_when_idle(self) -> None:
        """The sidecar stops: close now if there is no request, else behind its answer."""
        if not self._queue:
            self._close(linger=False)

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    # Inside.

    def _refuse(self, refusal: Refusal) -> None:
        """The bytes cannot be read any further; the client is listened to only for its leaving."""
        self._deaf = True
        self.release_reading("queue")
        if self._receiving is not None:
            self._receiving.request_failed(refusal)
        elif self._queue:
            self._refusal = refusal
        else:
            self._answer_and_close(refusal)

    def _answer_and_close(self, refusal: Refusal) -> None:
        self.write(refusal_bytes(refusal, keep_alive=False))
        self._close(linger=True)

    def _close(self, *, linger: bool) -> None:
        """Close behind what was written; a client that still sends gets time to read the answer first."""
        if self._transport is None:
            return
        self._closing = True
        if linger:
            for reason in tuple(self._holds):
                self.release_reading(reason)
            self._set_timer(self._register.limits.linger_s)
        else:
            self._transport.close()
            self._set_timer(_FLUSH_S)

    def _rest(self) -> None:
        """Wait for the next request; one timer runs on from request to request, for making one each time costs."""
        loop = asyncio.get_running_loop()
        self._idle_since = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self._register.limits.idle_s, self._check_rest)

    def _check_rest(self) -> None:
        self._timer = None
        if self._idle_since is None or self._closing:
            return
        loop = asyncio.get_running_loop()
        left = self._idle_since + self._register.limits.idle_s - loop.time()
        if left > 0:
            self._timer = loop.call_later(left, self._check_rest)
        else:
            self._close(linger=False)

    def _set_timer(self, seconds: float | None) -> None:
        """Close after so many seconds; None for never."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._transport is None:
            return
        if self._transport.is_closing():
            self._transport.abort()
        else:
            self._close(linger=False)

    def _leave(self) -> None:
        exchanges = tuple(self._queue)
        self._drop_queue()
        for exchange in exchanges:
            exchange.client_gone()

    def _drop_queue(self) -> None:
        rest = tuple(self._queue)[1:]
        self._queue.clear()
        self._receiving = None
        for exchange in rest:
            exchange.client_gone()
