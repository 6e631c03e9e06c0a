"""Arrivals from JSON lines, as Mooncake publishes its traces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from specwatch_deploy.scale.scale_settings import ScaleError

MOST_TOKENS: Final = 10_000_000


def json_rows(lines: Iterable[str], name: str) -> Iterable[tuple[float, int, int]]:
    """Seconds, prompt and output tokens of each line.

    Source: the traces of Mooncake (FAST 2025): `timestamp` in milliseconds, `input_length`, `output_length`; other
    keys, such as `hash_ids`, are of no use here.

    Raises:
        ScaleError: a line is no such object; names it.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            body = json.loads(line)
        except ValueError as error:
            raise ScaleError(f"{where}: it is no JSON") from error
        if not isinstance(body, dict):
            raise ScaleError(f"{where}: it is no object with timestamp, input_length and output_length")
        at = _number(body, "timestamp", where, 1e15) / 1000.0
        prompt, output = (int(_number(body, key, where, MOST_TOKENS)) for key in ("input_length", "output_length"))
        yield at, prompt, max(1, output)


def _number(body: Mapping[str, Any], key: str, where: str, most: float) -> float:
    found = body.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= most:
        raise ScaleError(f"{where}: {key} is {json.dumps(found)[:40]}, and no number from 0 to {most:g}")
    return found
