"""A client's connection: one request at a time, and who wants to know what came back."""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

import httptools

from bench_proxy import wire


class Listener(Protocol):
    """Hears what happens on a connection."""

    def chunks_came(self, client: Client, stamps: list[bytes]) -> None:
        """One read brought chunks with these stamps."""

    def reply_ended(self, client: Client) -> None:
        """The reply is complete; the connection is free."""


class LoadError(RuntimeError):
    """A reply was refused or cut off; the message says which."""


class Client(asyncio.Protocol):
    """One keep-alive connection.

    Attributes:
        number: which of the phase's connections it is, from 0; also its ticket.
    """

    def __init__(self, number: int, port: int, listener: Listener, failed: asyncio.Future[None]) -> None:
        self.number = number
        self._host = b"127.0.0.1:%d" % port
        self._listener = listener
        self._failed = failed
        self._rest = b""
        self._closing = False
        self._transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send(self, body: bytes) -> None:
        """Send one chat request."""
        head = b"POST %s HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        self._transport.write(head % (wire.PATH.encode(), self._host, len(body)) + body)

    def close(self) -> None:
        """Hang up, also in the middle of a reply."""
        self._closing = True
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if not self._closing:
            self._parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        if self._parser.get_status_code() != 200:
            self._fail(f"status {self._parser.get_status_code()}: {data[:200].decode(errors='replace')}")
            return
        data = self._rest + data
        end = data.rfind(b"\n\n") + 1
        self._rest = data[end:]
        stamps = wire.read_stamps(data[:end])
        if stamps:
            self._listener.chunks_came(self, stamps)

    def on_message_complete(self) -> None:
        self._rest = b""
        if not self._closing:
            self._listener.reply_ended(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._closing:
            self._fail(f"the connection was closed: {exc or 'end of file'}")

    def _fail(self, reason: str) -> None:
        if not self._failed.done():
            self._failed.set_exception(LoadError(reason))
