"""Limits of the request sidecar on what one client or engine may send."""

from __future__ import annotations

from typing import NamedTuple


class ProxyLimits(NamedTuple):
    """Limits.

    Attributes:
        head_bytes: of a head, and of the trailers.
        head_fields: fields in a head, and in the trailers.
        target_bytes: of the request target.
        body_bytes: of a request's body.
        read_bytes: of a body that is read for metrics; larger ones are passed on unread.
        clients: connections at a time; further ones wait.
        pipelined: requests that may wait on one connection.
        idle_s: time that a client may take between two requests, the next one's head included.
        linger_s: time for a client to read an answer that came before its request had ended.
        connect_s: time for the engine to accept a connection.
        engine_idle_s: time that an idle connection to the engine is kept. uvicorn, which vLLM and SGLang run on,
            closes after 5 s, and a request that meets the closing is lost.
    """

    head_bytes: int = 64 * 1024
    head_fields: int = 256
    target_bytes: int = 16 * 1024
    body_bytes: int = 64 * 1024 * 1024
    read_bytes: int = 1024 * 1024
    clients: int = 10_000
    pipelined: int = 32
    idle_s: float = 75.0
    linger_s: float = 2.0
    connect_s: float = 5.0
    engine_idle_s: float = 3.0
