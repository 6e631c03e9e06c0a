"""One absolute deadline for everything that happens on a socket.

A socket's own timeout starts again with every byte, so a peer that sends one byte a second holds a reader for ever.
Here every receive gets what is left until one fixed moment, and a bound on bytes as well.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class ByteLimitError(OSError):
    """The peer sent more bytes than the reader accepts."""


class Deadline:
    """A fixed moment.

    Args:
        seconds: from now until the moment.
        clock: monotonic seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def remaining(self) -> float:
        """Seconds left, over 0.

        Raises:
            TimeoutError: the moment has passed.
        """
        left = self._end - self._clock()
        if left <= 0:
            raise TimeoutError
        return left


class DeadlineReader(io.RawIOBase):
    """Receiving end of a socket, bounded in time and in bytes; wrap it in `io.BufferedReader`.

    Closing it leaves the socket open: whoever opened the socket closes it.

    Args:
        sock: connected socket, or a TLS socket.
        deadline: when to give up, whatever trickles in until then.
        max_bytes: how many bytes to accept in all.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline, max_bytes: int) -> None:
        self._sock = sock
        self._deadline = deadline
        self._max_bytes = max_bytes
        self.received = 0

    def readable(self) -> bool:
        """Always True."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Receive what is there, at most the buffer's length.

        Raises:
            TimeoutError: the deadline has passed.
            ByteLimitError: more than `max_bytes` came in.
            OSError: the connection broke.
        """
        self._sock.settimeout(self._deadline.remaining())
        count = self._sock.recv_into(buffer)
        self.received += count
        if self.received > self._max_bytes:
            raise ByteLimitError(f"more than {self._max_bytes} bytes")
        return count
