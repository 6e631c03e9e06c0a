"""The sidecar's HTTP server: a bounded number of connections, none of which can hold it.

Each connection gets a thread, up to `MAX_CONNECTIONS`; when all are taken the oldest is cut off. An honest client
sends its head in one packet and is done in milliseconds, so the oldest is a slow or hostile one, and a scrape gets
through even while others drip bytes into every connection.
"""

from __future__ import annotations

import logging
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from prometheus_client import CollectorRegistry

from specwatch_exporters.sidecar.request_handler import RequestHandler
from specwatch_exporters.sidecar.setting_values import Listen
from specwatch_exporters.sidecar.site import MetricsSite, Site
from specwatch_exporters.sidecar.status import Status

LOG = logging.getLogger("specwatch.serve")
MAX_CONNECTIONS = 16
_BACKLOG = 128
_EVICTION_S = 2.0
_JOIN_S = 5.0


class ListenError(OSError):
    """The address cannot be listened on; the message says which and why, `strerror` only why."""

    def __str__(self) -> str:
        return f"cannot listen on {self.filename}: {self.strerror}"


def serve(
    listen: Listen,
    registry: CollectorRegistry,
    status: Callable[[], Status],
    ready: Callable[[], tuple[bool, str]],
) -> RunningServer:
    """Start serving in the background.

    Args:
        listen: where; an empty host is every address, IPv4 and IPv6.
        registry: what `/metrics` shows.
        status: what the status page shows.
        ready: whether the engine is being read, and if not, why.

    Raises:
        ListenError: the address is taken, not this machine's, or not allowed.
    """
    return serve_site(listen, Site(registry, status, ready))


def serve_site(listen: Listen, site: MetricsSite) -> RunningServer:
    """Start serving pages in the background.

    Raises:
        ListenError: the address is taken, not this machine's, or not allowed.
    """
    return RunningServer(bind(listen), site)


def bind(listen: Listen) -> socket.socket:
    """Listen on an address; an empty host is every address, IPv4 and IPv6.

    Raises:
        ListenError: the address is taken, not this machine's, or not allowed.
    """
    try:
        return _bind(listen)
    except (OSError, UnicodeError) as error:
        raise _not_listening(error, listen) from error


def _not_listening(error: OSError | UnicodeError, listen: Listen) -> ListenError:
    number = getattr(error, "errno", None) or 0
    # The system's own words; create_server appends the address to them, and lookups count below zero.
    reason = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or "it is not an address"
    return ListenError(number, reason, str(listen))


def _bind(listen: Listen) -> socket.socket:
    if not listen.host:
        if socket.has_dualstack_ipv6():
            return socket.create_server(
                ("", listen.port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=_BACKLOG
            )
        return socket.create_server(("", listen.port), backlog=_BACKLOG)
    found = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = found[0]
    return socket.create_server(address[:2], family=family, backlog=_BACKLOG)


class RunningServer:
    """A server at work; close it, or use it as a context manager.

    Attributes:
        port: the port that it listens on.
    """

    def __init__(self, listener: socket.socket, site: MetricsSite) -> None:
        self._listener = listener
        self._site = site
        self._lock = threading.Lock()
        self._live: dict[socket.socket, threading.Thread] = {}
        self._slots = threading.Semaphore(MAX_CONNECTIONS)
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._closed = False
        self.port = int(listener.getsockname()[1])
        listener.settimeout(0)
        self._acceptor = threading.Thread(target=self._accept, name="specwatch-http", daemon=True)
        self._acceptor.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening, cut every connection off, wait for the threads; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._wake_writer.close()
        self._acceptor.join(_JOIN_S)
        with self._lock:
            live = dict(self._live)
        for sock, thread in live.items():
            _cut(sock)
            thread.join(_JOIN_S)
        self._wake_reader.close()
        self._listener.close()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._wake_reader, selectors.EVENT_READ)
            while not self._closed:
                selector.select()
                if not self._closed:
                    self._admit_next()

    def _admit_next(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:  # out of descriptors: wait for some to come back instead of spinning
            LOG.warning("cannot accept a connection: %s", error.strerror)
            time.sleep(0.1)
            return
        if not self._slots.acquire(blocking=False) and not self._evict():
            sock.close()
            return
        self._start(sock)

    def _evict(self) -> bool:
        """Cut the oldest connection off and take its slot."""
        with self._lock:
            oldest = next(iter(self._live), None)
            if oldest is not None:
                _cut(oldest)
        LOG.debug("all %d connections are taken; the oldest was cut off", MAX_CONNECTIONS)
        return self._slots.acquire(timeout=_EVICTION_S)

    def _start(self, sock: socket.socket) -> None:
        thread = threading.Thread(target=self._visit, args=(sock,), name="specwatch-http-visit", daemon=True)
        with self._lock:
            self._live[sock] = thread
        try:
            thread.start()
        except RuntimeError as error:  # the system has no thread to give
            LOG.warning("cannot serve a connection: %s", error)
            self._end(sock)

    def _visit(self, sock: socket.socket) -> None:
        try:
            RequestHandler(sock, self._site)
        finally:
            self._end(sock)

    def _end(self, sock: socket.socket) -> None:
        with self._lock:
            self._live.pop(sock, None)
            sock.close()
        self._slots.release()


def _cut(sock: socket.socket) -> None:
    """Wake whoever waits on a connection: it reads an end, and its write fails."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it was gone already
