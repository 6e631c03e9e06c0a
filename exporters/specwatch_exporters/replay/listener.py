"""A listening socket that can be closed and opened again on the same port."""

from __future__ import annotations

import socket

from aiohttp import web


class Listener:
    """Accepts connections for a runner; while closed it keeps the port, and connecting is refused.

    Args:
        runner: set-up runner that serves the connections.
        host: address to bind.
        port: port to bind, 0 for any free one.
    """

    def __init__(self, runner: web.AppRunner, host: str, port: int) -> None:
        self._runner = runner
        self._host = host
        self._site: web.SockSite | None = None
        self._socket = _bound(host, port)
        self.port: int = self._socket.getsockname()[1]

    @property
    def is_open(self) -> bool:
        """Whether connections are accepted."""
        return self._site is not None

    async def open(self) -> None:
        """Begin to accept; nothing happens when it already does."""
        if self._site is None:
            self._site = web.SockSite(self._runner, self._socket)
            await self._site.start()

    async def close(self) -> None:
        """Refuse connections from now on; those that exist stay."""
        if self._site is not None:
            await self._site.stop()
            self._site = None
            self._socket = _bound(self._host, self.port)

    async def release(self) -> None:
        """Give the port back."""
        if self._site is not None:
            await self._site.stop()
            self._site = None
        self._socket.close()


def _bound(host: str, port: int) -> socket.socket:
    """A socket that holds the port and does not listen yet."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound
