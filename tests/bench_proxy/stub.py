"""The stub upstream, a process of its own: answers chat requests in the manner that each asks for.

It prints one line of JSON with its two ports, `http` and `arrivals`, and runs until it is terminated. On `arrivals`
the client reports, two bytes a ticket, which streams have received a block of chunks; these then send the next one.
When that connection closes, all streams end in good order: a proxy that does not notice that its clients are gone
would otherwise be busy while the next one is measured.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable
from functools import partial
from typing import cast

import httptools

from bench_proxy import wire
from bench_proxy.fast_loop import run_loop
from bench_proxy.stub_streams import PacedStream, ReportedStream, Stream


class Stub:
    """What all connections share.

    Attributes:
        waiting: the streams that wait for reports, by ticket.
        open: all streams.
    """

    def __init__(self) -> None:
        self.waiting: dict[int, ReportedStream] = {}
        self.open: set[Stream] = set()

    def make(self, order: wire.StreamOrder, transport: asyncio.Transport, *, usage: bool) -> Stream:
        """Prepare a stream."""
        end = wire.stream_end(usage=usage)
        if order.manner == "paced":
            return PacedStream(transport, order, end)
        self.waiting[order.ticket] = ReportedStream(transport, order, end)
        return self.waiting[order.ticket]


class StubConnection(asyncio.Protocol):
    """One connection of a proxy or of the client itself."""

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self._body: list[bytes] = []
        self._parser = httptools.HttpRequestParser(self)
        self._stream: Stream | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        body = b"".join(self._body)
        self._body.clear()
        order = wire.read_order(body)
        if order is None:
            state = {"data": [{"id": wire.MODEL, "object": "model"}], "open_streams": len(self._stub.open)}
            self._transport.write(wire.whole_reply(json.dumps(state).encode()))
        elif order.manner == "whole":
            self._transport.write(wire.SMALL_REPLY)
        else:
            self._transport.write(wire.STREAM_HEAD)
            self._stream = self._stub.make(order, self._transport, usage=b'"include_usage"' in body)
            self._stub.open.add(self._stream)
            self._stream.start(self._finished)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self._stream is not None:
            self._stream.cancel()
            self._finished()

    def _finished(self) -> None:
        if self._stream is not None:
            self._stub.open.discard(self._stream)
        self._stream = None


class Arrivals(asyncio.Protocol):
    """The client's reports: two bytes a ticket."""

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        whole = len(data) & ~1
        self._rest = data[whole:]
        for (ticket,) in struct.iter_unpack("!H", data[:whole]):
            stream = self._stub.waiting.get(ticket)
            if stream is not None:
                stream.next()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._stub.waiting.clear()
        for stream in list(self._stub.open):
            stream.finish()


async def listen(stub: Stub) -> dict[str, asyncio.Server]:
    """Listen on two free ports of the loopback address; return the servers by what they serve."""
    loop = asyncio.get_running_loop()
    factories: dict[str, Callable[[], asyncio.Protocol]] = {
        "http": partial(StubConnection, stub),
        "arrivals": partial(Arrivals, stub),
    }
    return {
        name: await loop.create_server(factory, "127.0.0.1", 0, backlog=1024) for name, factory in factories.items()
    }


def port_of(server: asyncio.Server) -> int:
    """Where it listens."""
    return int(server.sockets[0].getsockname()[1])


async def serve() -> None:
    """Serve until the process is terminated."""
    servers = await listen(Stub())
    print(json.dumps({name: port_of(server) for name, server in servers.items()}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    run_loop(serve())
