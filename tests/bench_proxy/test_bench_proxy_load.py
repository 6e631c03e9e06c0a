"""Load generator against stub, every phase, with nothing between them."""

from __future__ import annotations

import asyncio

import pytest

from bench_proxy.load import measure
from bench_proxy.load_job import Figures, LoadJob, Phase
from bench_proxy.stub import Stub, listen, port_of


async def run_phase(phase: Phase) -> tuple[Figures, Stub]:
    """A short phase and the stub that served it."""
    stub = Stub()
    servers = await listen(stub)
    ports = {name: port_of(server) for name, server in servers.items()}
    job = LoadJob(
        phase=phase,
        port=ports["http"],
        stub_port=ports["http"],
        arrivals_port=ports["arrivals"],
        pids=(),
        connections=4,
        rate=100,
        chunks=32,
        warm_s=0.2,
        seconds=0.5,
    )
    try:
        found = await measure(job)
        for _ in range(500):
            if stub.open:
                await asyncio.sleep(0.01)
    finally:
        for server in servers.values():
            server.close()
            await server.wait_closed()
    return found, stub


@pytest.mark.parametrize("phase", ["alone", "flood", "small"])
def test_capacity_phases_count(phase: Phase) -> None:
    found, stub = asyncio.run(run_phase(phase))
    assert found["count"] > 0
    assert not stub.open


def test_paced_streams_report_delays() -> None:
    found, stub = asyncio.run(run_phase("paced"))
    assert found["chunks"] > found["requests"] > 0
    assert 0 < found["delay_p50_ms"] <= found["delay_p99_ms"]
    assert not stub.open


def test_open_streams_all_begin() -> None:
    found, stub = asyncio.run(run_phase("memory"))
    assert found["open_mib"] == 0  # nobody's memory was asked for
    assert not stub.open
