"""What vLLM's offline example prints of its metrics, read as a page.

Source: `examples/offline_inference/metrics.py` (0.9 to 0.33), which walks through `LLM.get_metrics()`:

    vllm:spec_decode_num_drafts (counter) = 4816
    vllm:spec_decode_num_accepted_tokens_per_pos (vector) = [3467, 2552]
    vllm:time_to_first_token_seconds (histogram)
        sum = 3.1
        count = 80
        0.25 = 80
        +Inf = 80

The labels are not printed: engines and models that share a name are one line each, and are told apart by order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

_NUMBER: Final = r"[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf)"
_LINE: Final = re.compile(
    r"[\s>|]*(?P<name>vllm:\w+) \((?P<kind>counter|gauge|vector|histogram)\)"
    rf"(?: = (?P<value>\[[\d, .]*\]|{_NUMBER}))?",
    re.IGNORECASE,
)
_PART: Final = re.compile(rf"[\s>|]*(?P<part>sum|count|\+Inf|[\d.e+-]+) = (?P<value>{_NUMBER})\s*", re.IGNORECASE)
_POSITIONED: Final = "_per_pos"


def dumped_page(text: str) -> str | None:
    """The page in the classic format, or None if this is no such text."""
    lines = tuple(_samples(text.splitlines()))
    return "\n".join(lines) + "\n" if lines else None


def _samples(lines: Iterable[str]) -> Iterator[str]:
    seen: dict[str, int] = {}
    histogram, labels = "", ""
    for line in lines:
        found = _LINE.match(line)
        if found is None:
            part = _PART.fullmatch(line) if histogram else None
            histogram = histogram if part is not None else ""
            if part is not None:
                yield _part(histogram, labels, part["part"], part["value"])
            continue
        name, value = found["name"], found["value"] or ""
        labels = f'engine="{seen.setdefault(name, 0)}"'
        seen[name] += 1
        histogram = name if found["kind"] == "histogram" else ""
        if value.startswith("["):
            yield from _vector(name, labels, value)
        elif value:
            yield f"{name}{{{labels}}} {value}"


def _vector(name: str, labels: str, value: str) -> Iterator[str]:
    if name.endswith(_POSITIONED):
        for index, one in enumerate(part.strip() for part in value.strip("[]").split(",")):
            yield f'{name}{{{labels},position="{index}"}} {one}'


def _part(name: str, labels: str, part: str, value: str) -> str:
    if part in ("sum", "count"):
        return f"{name}_{part}{{{labels}}} {value}"
    return f'{name}_bucket{{{labels},le="{part}"}} {value}'
