"""Outputs on their way from the engine to one request's handler."""

from __future__ import annotations

import asyncio

from specwatch_exporters.replay.sequence import Sequence
from specwatch_exporters.replay.step_result import Output


class MailboxClosedError(Exception):
    """The engine ended before the request did."""


class Mailbox:
    """Holds outputs until the handler takes them.

    A handler that is late gets several steps at once, as one output: vLLM's collector merges in the same way.
    """

    def __init__(self, sequence: Sequence) -> None:
        self.sequence = sequence
        self._pending: list[Output] = []
        self._ready = asyncio.Event()
        self._closed = False

    def put(self, output: Output) -> None:
        """Add one step's output."""
        self._pending.append(output)
        self._ready.set()

    def close(self) -> None:
        """Tell the handler that nothing more will come."""
        self._closed = True
        self._ready.set()

    async def take(self) -> Output:
        """Wait for output and return all of it as one.

        Raises:
            MailboxClosedError: when the engine went away.
        """
        await self._ready.wait()
        if self._closed:
            raise MailboxClosedError
        self._ready.clear()
        pending, self._pending = self._pending, []
        tokens = sum(output.tokens for output in pending)
        return Output(self.sequence, pending[0].first, tokens, pending[-1].finish)
