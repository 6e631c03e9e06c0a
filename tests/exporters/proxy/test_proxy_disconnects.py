from __future__ import annotations

import asyncio

from exporters.proxy.disconnect_load import alive, descriptors, nothing_is_left, send_all
from exporters.proxy.proxy_rig import LIMITS, eventually, sample, sidecar
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread

COUNT = 400
LEFT_OVER = 3
"""Descriptors that the interpreter may open for itself meanwhile."""


def test_random_disconnects_leave_nothing_behind() -> None:
    settings = ReplaySettings(per_request=PerRequest.DETAILED, speed=20.0, slots=16)
    limits = LIMITS._replace(engine_idle_s=0.05)
    with ReplayThread(settings) as engine, sidecar(engine.url, limits, request_usage=True) as running:
        objects = alive()
        asyncio.run(send_all(running.port, 20, seed=1))
        nothing_is_left(running, objects)
        before = descriptors()
        traffic = asyncio.run(send_all(running.port, COUNT, seed=2))
        nothing_is_left(running, objects)
        eventually(lambda: descriptors() <= before + LEFT_OVER, "sockets are left")
        assert traffic.whole > COUNT // 5
        assert traffic.left > COUNT // 5
        finished = sample(running, "specwatch_request_finished_total")
        assert finished == COUNT + 20
        assert sample(running, "specwatch_request_finished_total", outcome="aborted") > 0
