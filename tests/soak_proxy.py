"""Ten thousand streamed requests with random disconnects: `make soak-proxy ARGS=COUNT`."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
import time
from pathlib import Path

from exporters.proxy.disconnect_load import descriptors, nothing_is_left, send_all
from exporters.proxy.proxy_rig import LIMITS, eventually, sample, sidecar
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread

WARM_UP = 1_000
ROUND = 1_000


def resident_kib() -> int:
    """Resident memory of sidecar, replay engine and clients together, without what malloc only keeps."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def say(line: str) -> None:
    """Tell the person at the terminal, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(count: int) -> None:
    settings = ReplaySettings(per_request=PerRequest.DETAILED, speed=20.0, slots=32)
    limits = LIMITS._replace(engine_idle_s=0.2)
    with ReplayThread(settings) as engine, sidecar(engine.url, limits, request_usage=True) as running:
        asyncio.run(send_all(running.port, WARM_UP, seed=0))
        nothing_is_left(running, {})
        files, memory, started = descriptors(), resident_kib(), time.monotonic()
        whole = left = 0
        for number in range(count // ROUND):
            traffic = asyncio.run(send_all(running.port, ROUND, seed=number + 1))
            whole += traffic.whole
            left += traffic.left
            nothing_is_left(running, {})
            say(f"{(number + 1) * ROUND:>7} requests, resident {resident_kib():,} KiB")
        eventually(lambda: descriptors() <= files, "sockets are left")
        grown = resident_kib() - memory
        say(f"{whole} streams read to their end, {left} left by their client, {time.monotonic() - started:.0f} s")
        for outcome in ("success", "aborted", "error", "cut"):
            say(f"  {outcome}: {sample(running, 'specwatch_request_finished_total', outcome=outcome):.0f}")
        say(f"left behind: 0 tasks, 0 connections, 0 objects; descriptors {descriptors() - files:+d}")
        say(f"resident memory {grown:+,} KiB since request {WARM_UP:,}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
