"""vLLM's line of engine load, V0 and V1: running and waiting requests, KV cache, generation throughput."""

from __future__ import annotations

import re
from dataclasses import dataclass

MARKER = "Avg prompt throughput:"
_NAME = re.compile(r"(?:Engine (\d{1,6})|(\d{1,6}) Engines Aggregated):\s*$")
_RUNNING = re.compile(r"Running: (\d{1,9}) reqs")
_WAITING = re.compile(r"(?:Waiting|Pending): (\d{1,9}) reqs")
_KV = re.compile(r"KV cache usage: (\d{1,3}(?:\.\d+)?)%")
_SPEED = re.compile(r"Avg generation throughput: (\d+(?:\.\d+)?) tokens/s")


@dataclass(frozen=True, slots=True)
class EngineLine:
    """One engine's load.

    Attributes:
        prefix: text before the engine's name.
        engine: engine id as printed (`002`), or None.
        engines: engines behind the line; more than 1 for an aggregate.
        running: requests running.
        waiting: requests waiting (V0: pending).
        kv_cache_usage: 0 to 1.
        generating: True if tokens were generated in the interval.
    """

    prefix: str
    engine: str | None
    engines: int
    running: int | None
    waiting: int | None
    kv_cache_usage: float | None
    generating: bool


def parse_engine_line(text: str) -> EngineLine:
    """Read a line that holds the marker."""
    start = text.index(MARKER)
    name = _NAME.search(text, 0, start)
    kv, speed = _KV.search(text, start), _SPEED.search(text, start)
    return EngineLine(
        prefix=text[: start if name is None else name.start()],
        engine=None if name is None else name[1],
        engines=1 if name is None or name[2] is None else max(1, int(name[2])),
        running=_count(_RUNNING, text),
        waiting=_count(_WAITING, text),
        kv_cache_usage=None if kv is None else round(float(kv[1]) / 100.0, 6),
        generating=speed is not None and float(speed[1]) > 0,
    )


def _count(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return None if found is None else int(found[1])
