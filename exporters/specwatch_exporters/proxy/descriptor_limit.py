"""How many connections of clients the system's limit on open files has room for."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final

_HIGHEST: Final = 1 << 20
_RESERVE: Final = 64
"""Files for everything else: the metrics port, its connections, the loop, certificates."""


def client_room(files: int) -> int:
    """Connections of clients that a limit has room for, each with a connection to the engine of its own."""
    if files == resource.RLIM_INFINITY:
        files = _HIGHEST
    return max(1, (files - min(_RESERVE, files // 2)) // 2)


def current_client_room() -> int:
    """The same for the limit of this process."""
    return client_room(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def raise_descriptor_limit() -> None:
    """Take what the system allows: the low default is for programs that cannot handle large numbers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _HIGHEST if hard == resource.RLIM_INFINITY else min(hard, _HIGHEST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
