"""Drive a replay engine inside one event loop and read what it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from specwatch_exporters.replay.clock import Clock
from specwatch_exporters.replay.engine import ReplayEngine
from specwatch_exporters.replay.settings import ReplaySettings

Result = TypeVar("Result")
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
FAST = 2000.0
"""A speed at which a step takes microseconds, so that tests wait for nothing."""
LONGEST = 60.0


@dataclass(frozen=True)
class Bench:
    """A running engine with a client session."""

    engine: ReplayEngine
    session: aiohttp.ClientSession

    async def page(self) -> Samples:
        return samples_of(await self.text("/metrics"))

    async def text(self, path: str) -> str:
        async with self.session.get(self.engine.url + path) as response:
            return await response.text()

    async def complete(self, **body: Any) -> dict[str, Any]:
        status, answer = await self.post("/v1/completions", body)
        assert status == 200, answer
        return answer

    async def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        async with self.session.post(self.engine.url + path, json=body, headers=headers) as response:
            return response.status, json.loads(await response.read())

    async def stream(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> list[dict[str, Any] | str]:
        return [event async for event in self.events(path, body, headers)]

    async def events(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[dict[str, Any] | str]:
        asked = {"stream": True, **body}
        async with self.session.post(self.engine.url + path, json=asked, headers=headers) as response:
            assert response.status == 200, await response.text()
            async for raw in response.content:
                line = raw.decode().strip()
                if line:
                    data = line.removeprefix("data: ")
                    yield data if data == "[DONE]" else json.loads(data)

    async def control(self, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        status, answer = await self.post(f"/replay/{name}", body or {})
        assert status == 200, answer
        return answer

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a state that nothing announces."""
        while not condition():  # noqa: ASYNC110 (the engine has no event for every state)
            await asyncio.sleep(0.001)


def with_engine(
    scenario: Callable[[Bench], Awaitable[Result]],
    settings: ReplaySettings | None = None,
    clock: Clock | None = None,
) -> Result:
    """Run a scenario against a fresh engine; a scenario that takes too long fails."""

    async def run() -> Result:
        chosen = settings or ReplaySettings(speed=FAST)
        async with (
            asyncio.timeout(LONGEST),
            ReplayEngine(chosen, clock=clock) as engine,
            aiohttp.ClientSession() as session,
        ):
            return await scenario(Bench(engine, session))

    return asyncio.run(run())


def samples_of(page: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float | None:
    """The one sample of that name whose labels include `labels`; None when there is none."""
    wanted = set(labels.items())
    found = [number for (own, own_labels), number in samples.items() if own == name and wanted <= own_labels]
    assert len(found) <= 1, (name, labels, found)
    return found[0] if found else None
