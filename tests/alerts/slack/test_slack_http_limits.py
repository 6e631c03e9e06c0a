"""Alerts in a burst through the HTTP side: what is answered 200 is kept, and memory does not grow with it."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

import aiohttp

from alerts.slack.receiver_process import receiving
from alerts.slack.slack_rig import alert, body
from alerts.slack.slack_server import SlackServer

_MOST_GROWTH_KB = 150_000


def resident(pid: int, what: str) -> int:
    """Memory in KiB."""
    found = re.search(rf"^{what}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1))


async def burst(url: str, deliveries: list[bytes]) -> list[int]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=200)) as session:

        async def post(delivery: bytes) -> int:
            for _ in range(100):
                async with session.post(f"{url}/alertmanager", data=delivery) as answer:
                    if answer.status != 503:
                        return answer.status
                await asyncio.sleep(0.05)  # as Alertmanager does
            return 503

        return await asyncio.gather(*map(post, deliveries))


def test_ten_thousand_alerts_at_once(slack: SlackServer, tmp_path: Path) -> None:
    slack.now = time.time
    slack.down = True
    deliveries = [
        body(*(alert(f"vllm-{number}-{one}", model=f"m{number}") for one in range(20)), group=f"m{number}")
        for number in range(500)
    ]
    with receiving(slack, tmp_path, "--no-pictures") as receiver:
        before = resident(receiver.process.pid, "VmRSS")
        assert set(asyncio.run(burst(receiver.url, deliveries))) == {200}
        assert 'alerts_total{turn="firing"} 10000.0' in receiver.page("/metrics")
        assert receiver.value("specwatch_slack_queue_depth") == 500.0
        whole = body(*(alert(f"vllm-{number}", model="one") for number in range(10_000)), group="one")
        assert receiver.deliver(whole)[0] == 200
        assert receiver.value("specwatch_slack_queue_depth") == 501.0
        assert resident(receiver.process.pid, "VmHWM") - before < _MOST_GROWTH_KB
        calls = len(slack.calls)
    assert calls < 60
