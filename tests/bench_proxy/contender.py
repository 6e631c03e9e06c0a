"""One way from the client to the stub, and how it comes to run."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench_proxy.child import Launch


class UnavailableError(RuntimeError):
    """A contender cannot be installed or started here; the message is one line that says why."""


@dataclass(frozen=True)
class Place:
    """Where a contender runs.

    Attributes:
        folder: for its files; nothing else is in it.
        port: on which it shall listen, on the loopback address.
        stub_port: where its upstream listens.
    """

    folder: Path
    port: int
    stub_port: int

    @property
    def upstream(self) -> str:
        """The stub's address."""
        return f"http://127.0.0.1:{self.stub_port}"


@dataclass(frozen=True)
class Contender:
    """A proxy.

    Attributes:
        name: its column in the table.
        prepare: fetches it if need be and returns its version; raises UnavailableError.
        launch: writes its configuration and returns its command line.
    """

    name: str
    prepare: Callable[[], str]
    launch: Callable[[Place], Launch]


def free_port() -> int:
    """A port of the loopback address that nobody uses at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
