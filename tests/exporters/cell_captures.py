"""Captures from a measured cell of the benchmark: its two pages, and what the client saw between them.

    PYTHONPATH=tests .venv/bin/python tests/exporters/cell_captures.py CELL.jsonl.gz FOLDER NAME

writes NAME-before.prom and NAME-after.prom as they are in the cell, and NAME's figures to FOLDER/figures.json.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

MICROSECONDS: Final = 1e6


def main(cell: str, folder: str, name: str) -> None:
    """Write pages and figures of one cell."""
    with gzip.open(cell, "rt") as file:
        rows = [json.loads(line) for line in file]
    pages = {row["when"]: row for row in rows if row["kind"] == "page"}
    for when, page in pages.items():
        Path(folder, f"{name}-{when}.prom").write_text(page["text"])
    requests = [row for row in rows if row["kind"] == "request"]
    path = Path(folder, "figures.json")
    known = json.loads(path.read_text()) if path.exists() else {}
    known[name] = figures(requests, pages["before"]["at"], pages["after"]["at"])
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def figures(requests: Sequence[dict[str, Any]], start: float, end: float) -> dict[str, float]:
    """What the client saw from the first page to the second, both in seconds of the cell's clock.

    `steps` are the pieces of text after each request's first: one for every decode step of the engine.
    """
    ended = [one for one in requests if start < (one["sent"] + one["ended"]) / MICROSECONDS <= end]
    begun = [one for one in requests if start < (one["sent"] + one["chunks"][0]) / MICROSECONDS <= end]
    streamed = [size for one in requests for at, size in _pieces(one) if start < at <= end]
    told = [one["metrics"]["queue_time_ms"] for one in ended if "metrics" in one]
    return {
        "ended": len(ended),
        "output_tokens": sum(one["out"] for one in ended),
        "prompt_tokens": sum(one["in"] for one in ended),
        "steps": sum(len(one["chunks"]) - 1 for one in ended),
        "e2e_seconds": round(sum(one["ended"] for one in ended) / MICROSECONDS, 6),
        "first_tokens": len(begun),
        "ttft_seconds": round(sum(one["chunks"][0] for one in begun) / MICROSECONDS, 6),
        "streamed_tokens": sum(streamed),
        "in_flight": sum(
            one["sent"] / MICROSECONDS <= end < (one["sent"] + one["ended"]) / MICROSECONDS for one in requests
        ),
        **({"queue_seconds": round(sum(told) / 1e3, 9)} if told else {}),
    }


def _pieces(request: dict[str, Any]) -> Iterator[tuple[float, int]]:
    """When each piece of text came, in seconds of the cell's clock, and its tokens."""
    at = request["sent"]
    for wait, size in zip(request["chunks"], request["sizes"], strict=True):
        at += wait
        yield at / MICROSECONDS, size


if __name__ == "__main__":
    main(*sys.argv[1:])
