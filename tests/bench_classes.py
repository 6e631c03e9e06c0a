"""What one classification costs with the shipped model: prints the table that docs/traffic-classes.md keeps.

Wall time is what a request waits for; processor time leaves out what other programs took from this one.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from random import Random

from specwatch_exporters.classes import hashed_linear
from specwatch_exporters.classes.hashed_linear import HashedLinearClassifier

ROUNDS = 2000
LENGTH = 4000
_PROSE = (
    "The committee met in the old town hall and talked about the harbour, the price of bread and a new road. "
    "Nobody wanted to begin, so the oldest member told a story of 1874, when the river froze for 40 days. "
)


def prompts() -> dict[str, str]:
    """Prompts of 4,000 characters, of the usual kinds and of the most expensive ones, and a huge one."""
    rng = Random(1)
    source = Path(hashed_linear.__file__).read_text()
    rows = [
        {"id": rng.randint(1, 9999), "city": "Lisbon", "total": round(rng.uniform(1, 900), 2)} for _ in range(200)
    ]
    letters = "abcdefghijklmnopqrstuvwxyz"
    return {
        "code": _cut(source),
        "prose": _cut(_PROSE),
        "random words": _cut(" ".join("".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(900))),
        "JSON records": _cut(json.dumps(rows)),
        "Chinese characters": "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(LENGTH)),
        "punctuation only": "".join(rng.choices("()[]{}<>+-*/=!?.,;:'\"#$%&@^~|", k=LENGTH)),
        "worst case: letters and blanks in turn": "".join(rng.choice(letters) + " " for _ in range(LENGTH // 2)),
        "worst case: letters and digits in turn": "".join(f"{rng.choice(letters)}7" for _ in range(LENGTH // 2)),
        "prose of 10 MiB": _PROSE * (10 * 2**20 // len(_PROSE)),
    }


def main() -> None:
    classifier = HashedLinearClassifier.default()
    print(
        f"Python {sys.version.split()[0]}; {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f}; {ROUNDS} rounds\n"
    )
    print("| prompt | characters | wall median | wall p99 | processor median | processor p99 |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, text in prompts().items():
        walls, processors = _times(classifier, text)
        cells = [f"{1e3 * value:.2f} ms" for times in (walls, processors) for value in _middle_and_tail(times)]
        print(f"| {name} | {len(text):,} | {' | '.join(cells)} |")


def _cut(text: str) -> str:
    return (text * (LENGTH // len(text) + 1))[:LENGTH]


def _times(classifier: HashedLinearClassifier, text: str) -> tuple[list[float], list[float]]:
    walls, processors = [], []
    for _ in range(ROUNDS):
        wall, processor = time.perf_counter(), time.thread_time()
        classifier.classify(text)
        processors.append(time.thread_time() - processor)
        walls.append(time.perf_counter() - wall)
    return walls, processors


def _middle_and_tail(times: list[float]) -> tuple[float, float]:
    return statistics.median(times), statistics.quantiles(times, n=100)[98]


if __name__ == "__main__":
    main()
