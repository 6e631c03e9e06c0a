"""Name lookup that keeps a deadline.

`getaddrinfo` has no timeout, and a dead DNS server holds it for half a minute. It runs in a thread of its own; a
lookup that is still running is joined by the next caller, so a dead server costs one thread, not one per scrape.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

from specwatch_exporters.sidecar.deadline import Deadline

Address = tuple[int, tuple[Any, ...]]
Lookup = Callable[[str, int], list[Address]]


def system_lookup(host: str, port: int) -> list[Address]:
    """Ask the system's resolver.

    Returns:
        (address family, socket address) pairs in the order to try them.

    Raises:
        OSError: the name is unknown or no server answered (`socket.gaierror`).
        UnicodeError: the name cannot be one.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(int(family), address) for family, _, _, _, address in found]


class _Pending:
    """One running lookup and, at its end, what came of it."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.addresses: list[Address] = []
        self.error: OSError | UnicodeError | None = None


class Resolver:
    """Looks names up within a deadline, one thread per name at most.

    Args:
        lookup: the blocking lookup.
    """

    def __init__(self, lookup: Lookup = system_lookup) -> None:
        self._lookup = lookup
        self._lock = threading.Lock()
        self._running: dict[tuple[str, int], _Pending] = {}

    def resolve(self, host: str, port: int, deadline: Deadline) -> list[Address]:
        """Addresses of a host; numeric ones need no lookup.

        Raises:
            TimeoutError: no answer before the deadline.
            OSError: as `system_lookup`.
            UnicodeError: likewise.
        """
        try:
            numeric = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except (socket.gaierror, UnicodeError):
            return self._look_up(host, port, deadline)
        return [(int(family), address) for family, _, _, _, address in numeric]

    def _look_up(self, host: str, port: int, deadline: Deadline) -> list[Address]:
        pending = self._join_or_start(host, port)
        if not pending.done.wait(deadline.remaining()):
            raise TimeoutError
        if pending.error is not None:
            raise pending.error
        return pending.addresses

    def _join_or_start(self, host: str, port: int) -> _Pending:
        with self._lock:
            pending = self._running.get((host, port))
            if pending is None:
                pending = self._running[host, port] = _Pending()
                arguments = (host, port, pending)
                threading.Thread(target=self._run, args=arguments, name="specwatch-dns", daemon=True).start()
            return pending

    def _run(self, host: str, port: int, pending: _Pending) -> None:
        try:
            pending.addresses = self._lookup(host, port)
        except (OSError, UnicodeError) as error:
            pending.error = error
        finally:
            with self._lock:
                self._running.pop((host, port), None)
            pending.done.set()
