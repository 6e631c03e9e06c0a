"""A pass-through on aiohttp's server and client with uvloop: what the sidecar would be built on otherwise.

    python aiohttp_proxy.py PORT UPSTREAM

It copies status, fields and bodies as they come, and reads nothing of them.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

ONE_HOP = frozenset({"connection", "keep-alive", "te", "transfer-encoding", "upgrade"})

aiohttp = import_module("aiohttp")
web = import_module("aiohttp.web")


async def pass_on(request: Any, session: Any, upstream: str) -> Any:
    """Send one request to the upstream and its answer to the client, piece by piece."""
    fields = [(name, content) for name, content in request.headers.items() if name.lower() not in ONE_HOP]
    body = request.content if request.can_read_body else None
    async with session.request(request.method, upstream + request.path_qs, headers=fields, data=body) as answer:
        response = web.StreamResponse(status=answer.status, reason=answer.reason)
        for name, content in answer.headers.items():
            if name.lower() not in ONE_HOP:
                response.headers.add(name, content)
        await response.prepare(request)
        async for piece in answer.content.iter_any():
            await response.write(piece)
        await response.write_eof()
        return response


def application(upstream: str) -> Any:
    """The server, with one client for all requests."""
    sessions: list[Any] = []

    async def open_session(_app: Any) -> AsyncIterator[None]:
        timeout, connector = aiohttp.ClientTimeout(total=None), aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as session:
            sessions.append(session)
            yield

    async def handle(request: Any) -> Any:
        return await pass_on(request, sessions[0], upstream)

    app = web.Application()
    app.cleanup_ctx.append(open_session)
    app.router.add_route("*", "/{path:.*}", handle)
    return app


if __name__ == "__main__":
    loop = import_module("uvloop").new_event_loop()
    port = int(sys.argv[1])
    web.run_app(application(sys.argv[2]), host="127.0.0.1", port=port, access_log=None, print=None, loop=loop)
