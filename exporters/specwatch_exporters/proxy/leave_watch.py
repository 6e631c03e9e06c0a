"""Clients that leave while nothing is read from them.

A loop sees the end of a connection by reading it, so one whose reading is on hold could leave unseen. The system
knows better: EPOLLRDHUP says that the peer has closed, whatever stands unread before the end. One epoll of its own
holds the connections on hold, and the loop watches that.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_ON_LINUX: Final = hasattr(select, "epoll")


class LeaveWatch:
    """Tells when the peers of certain sockets leave; elsewhere than on Linux it tells nothing.

    Holding and releasing cost one system call each. Must be used in the loop's thread.
    """

    def __init__(self) -> None:
        self._epoll: select.epoll | None = None
        self._tell: dict[int, Callable[[], None]] = {}

    def watch(self, descriptor: int, tell: Callable[[], None]) -> None:
        """Call `tell` once when the peer has closed or reset the connection."""
        if not _ON_LINUX or descriptor < 0:
            return
        if self._epoll is None:
            self._epoll = select.epoll()
            asyncio.get_running_loop().add_reader(self._epoll.fileno(), self._look)
        self._tell[descriptor] = tell
        try:
            self._epoll.register(descriptor, select.EPOLLRDHUP)
        except FileExistsError:
            self._epoll.modify(descriptor, select.EPOLLRDHUP)

    def forget(self, descriptor: int, tell: Callable[[], None]) -> None:
        """Stop; a number that the system has given to another socket since stays with that one."""
        if self._tell.get(descriptor) == tell:
            self._drop(descriptor)

    def close(self) -> None:
        """Give the epoll back."""
        epoll, self._epoll = self._epoll, None
        self._tell.clear()
        if epoll is not None:
            asyncio.get_running_loop().remove_reader(epoll.fileno())
            epoll.close()

    def _look(self) -> None:
        if self._epoll is None:
            return
        for descriptor, _ in self._epoll.poll(0):
            tell = self._tell.get(descriptor)
            self._drop(descriptor)
            if tell is not None:
                tell()

    def _drop(self, descriptor: int) -> None:
        self._tell.pop(descriptor, None)
        if self._epoll is not None:
            with suppress(OSError):  # a closed one has left the epoll by itself
                self._epoll.unregister(descriptor)
