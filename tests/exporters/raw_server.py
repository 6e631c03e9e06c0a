"""A server on a raw socket that does exactly what a test tells it, right or wrong."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Script = Callable[["Visit"], None]


class Visit:
    """One connection that the server accepted."""

    def __init__(self, sock: socket.socket, stop: threading.Event) -> None:
        self.sock = sock
        self._stop = stop
        self.request = b""

    def read_head(self) -> bytes:
        """Receive the request head."""
        while b"\r\n\r\n" not in self.request and (data := self.sock.recv(65536)):
            self.request += data
        return self.request

    def send(self, *parts: bytes) -> None:
        """Send bytes as they are."""
        for part in parts:
            self.sock.sendall(part)

    def drip(self, data: bytes, every_s: float = 0.02) -> None:
        """Send one byte at a time, for as long as the test runs and the peer takes them."""
        for index in range(len(data)):
            if self._stop.wait(every_s):
                return
            self.sock.sendall(data[index : index + 1])

    def hang(self) -> None:
        """Keep the connection open until the test is over."""
        self._stop.wait(30)

    def reset(self) -> None:
        """Close with a TCP reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.sock.close()


class RawServer:
    """Accepts on a free port of a loopback address and runs a script per connection."""

    def __init__(self, script: Script, host: str = "127.0.0.1") -> None:
        self._script = script
        self._listener = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=64
        )
        self._stop = threading.Event()
        self._visits: list[Visit] = []
        self._threads = [threading.Thread(target=self._accept, name="raw-server")]
        self.scheme = "http"
        self.host = host
        self.port = int(self._listener.getsockname()[1])
        self._threads[0].start()

    @property
    def requests(self) -> list[bytes]:
        """What each connection sent so far, in order."""
        return [visit.request for visit in self._visits]

    @property
    def url(self) -> str:
        """Address of a metrics page on this server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}/metrics"

    def close(self) -> None:
        """Stop and wait for every thread."""
        self._stop.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            visit = Visit(sock, self._stop)
            self._visits.append(visit)
            thread = threading.Thread(target=self._serve, args=(visit,), name="raw-server-visit")
            self._threads.append(thread)
            thread.start()

    def _serve(self, visit: Visit) -> None:
        with visit.sock:
            try:
                self._script(visit)
            except OSError:
                return  # the peer went away, as it should when the script is rude


@contextmanager
def raw_server(script: Script, host: str = "127.0.0.1") -> Iterator[RawServer]:
    """Run a server for one test."""
    server = RawServer(script, host)
    try:
        yield server
    finally:
        server.close()


def answer(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> Script:
    """A script that sends one whole answer; `length` may lie."""
    size = len(body) if length is None else length
    head = "\r\n".join((f"HTTP/1.1 {status}", f"Content-Length: {size}", *headers, "", "")).encode("latin-1")

    def script(visit: Visit) -> None:
        visit.read_head()
        visit.send(head, body)

    return script
