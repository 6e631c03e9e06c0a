"""The manners in which the stub streams."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from bench_proxy import wire


class Stream(Protocol):
    """One answer under way."""

    def start(self, finished: Callable[[], None]) -> None:
        """Send what may be sent at once; call `finished` after the last byte."""

    def cancel(self) -> None:
        """The connection is gone."""

    def finish(self) -> None:
        """Send the end now."""


class _StampedStream:
    def __init__(self, transport: asyncio.Transport, order: wire.StreamOrder, end: bytes) -> None:
        self._transport = transport
        self._rate = order.rate
        self._left = order.chunks
        self._end = end
        self._over = False
        self._finished: Callable[[], None] = lambda: None

    def start(self, finished: Callable[[], None]) -> None:
        """Begin."""
        self._finished = finished

    def cancel(self) -> None:
        """Send no more."""
        self._left, self._over = 0, True

    def finish(self) -> None:
        """Send what ends a stream."""
        self._left, self._over = 0, True
        if not self._transport.is_closing():
            self._transport.write(self._end)
            self._finished()


class PacedStream(_StampedStream):
    """A chunk every 1/rate seconds, on its own clock: a late one does not move the next."""

    def start(self, finished: Callable[[], None]) -> None:
        """Send the first chunk and plan the others."""
        super().start(finished)
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time()
        self._tick()

    def cancel(self) -> None:
        """Drop the planned chunk."""
        super().cancel()
        self._timer.cancel()

    def finish(self) -> None:
        """Drop it and send the end."""
        self._timer.cancel()
        super().finish()

    def _tick(self) -> None:
        self._transport.write(wire.stamped_chunk())
        self._left -= 1
        self._due += 1 / self._rate
        self._timer = self._loop.call_at(self._due, self._tick if self._left else self.finish)


class ReportedStream(_StampedStream):
    """A block of chunks for every block that the client reports, so that a set number is under way at most."""

    def __init__(self, transport: asyncio.Transport, order: wire.StreamOrder, end: bytes) -> None:
        super().__init__(transport, order, end)
        self._block = wire.CHUNKS_A_REPORT[order.manner]
        self._ahead = wire.BLOCKS_AHEAD[order.manner]

    def start(self, finished: Callable[[], None]) -> None:
        """Send the blocks that may be under way."""
        super().start(finished)
        for _ in range(self._ahead):
            self.next()

    def next(self) -> None:
        """Send the next block, or the end."""
        if self._left > 0:
            self._transport.write(b"".join(wire.stamped_chunk() for _ in range(self._block)))
            self._left -= self._block
        elif not self._over:
            self.finish()
