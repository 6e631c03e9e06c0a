"""One deadline for whatever hangs, and nothing that stays behind."""

from __future__ import annotations

import gc
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from exporters.fetch_rig import (
    GZIP,
    PAGE,
    continue_for_ever,
    drip_body,
    drip_chunks,
    drip_head,
    failure,
    failure_of,
    flood,
    hang_after_head,
    hang_at_once,
    hang_without_length,
    reset_at_once,
)
from exporters.raw_server import Script, answer, raw_server
from specwatch_exporters.sidecar.fetch import fetch
from specwatch_exporters.sidecar.fetch_error import REMEDIES, Cause, FetchError


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (hang_at_once, "connected, and no answer came"),
        (hang_after_head, "the answer stopped after"),
        (hang_without_length, "the answer stopped after"),
        (drip_head, "the head of the answer stopped after"),
        (drip_body, "the answer stopped after"),
        (drip_chunks, "the answer stopped after"),
        (continue_for_ever, "the head of the answer stopped after"),
    ],
)
def test_one_deadline_holds_for_everything(script: Script, said: str) -> None:
    error = failure_of(script, timeout_s=0.8)
    assert error.cause is Cause.TIMEOUT
    assert said in error.message
    assert error.message.endswith("(limit 0.8 s)")


def test_a_connection_that_is_never_accepted_times_out() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        try:
            for sock in waiting:
                sock.setblocking(False)  # noqa: FBT003
                sock.connect_ex(("127.0.0.1", port))
            error = failure(f"http://127.0.0.1:{port}/metrics", 0.3)
        finally:
            for sock in waiting:
                sock.close()
    assert error.cause is Cause.TIMEOUT


def open_sockets() -> set[str]:
    links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    return {str(link.readlink()) for link in links if link.is_symlink() and "socket:" in str(link.readlink())}


@pytest.mark.parametrize(
    "script",
    [answer(PAGE), flood, hang_after_head, reset_at_once, answer(b"", status="500 No"), answer(PAGE, GZIP)],
)
def test_no_thread_and_no_socket_stays_behind(script: Script) -> None:
    gc.disable()  # what is left must not depend on the collector
    try:
        threads, sockets = set(threading.enumerate()), open_sockets()
        with raw_server(script) as server:
            for _ in range(5):
                with suppress(FetchError):
                    fetch(server.url, timeout_s=0.2)
        assert set(threading.enumerate()) - threads == set()
        assert open_sockets() - sockets == set()
    finally:
        gc.enable()


def test_every_cause_has_a_remedy() -> None:
    assert set(Cause) <= set(REMEDIES)
