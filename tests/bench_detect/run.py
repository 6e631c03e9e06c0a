"""Drift detectors on simulated traffic: false pages, delays, bounds, peers, costs: `make bench-detect`.

    PYTHONPATH=tests .venv/bin/python tests/bench_detect/run.py [--quick]

Everything but the costs comes from seeds and is the same in every run. docs/drift-detection.md keeps a printed
result and says how to read it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from bench_detect import spread_check, update_cost
from bench_detect.detect_table import Results, report, report_json
from bench_detect.experiment import compare, stress
from bench_detect.plan import FULL, QUICK, Plan


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Compare drift detectors on simulated traffic.")
    parser.add_argument("--quick", action="store_true", help="a minute instead of a quarter of an hour")
    parser.add_argument("--no-peers", action="store_true", help="without river, which is installed on first use")
    parser.add_argument("--json", metavar="FILE", help="also write all figures into a file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="pods at once")
    return parser.parse_args(arguments)


def measure(plan: Plan, say: Callable[[str], None], *, peers: bool, jobs: int) -> Results:
    """Run all of it."""
    with tempfile.TemporaryDirectory(prefix="bench-detect-") as folder:
        columns, problems = compare(plan, Path(folder), say, peers=peers, processes=jobs)
    stresses = stress(plan, say, jobs)
    say("design effects and costs")
    spreads = spread_check.measure(11, max(1, min(3, plan.days)))
    return Results(plan, columns, stresses, spreads, update_cost.measure(plan.updates), problems)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    chosen = read_arguments(arguments)
    signal.signal(signal.SIGTERM, stop)
    try:
        results = measure(QUICK if chosen.quick else FULL, say, peers=not chosen.no_peers, jobs=chosen.jobs)
    except KeyboardInterrupt:
        say("stopped; nothing is left running")
        return 130
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(report_json(results), indent=1) + "\n")
    print(report(results))
    return 0


def stop(number: int, frame: FrameType | None) -> None:
    """End everything that runs."""
    del number, frame
    raise KeyboardInterrupt


def say(line: str) -> None:
    """Tell the person how far it is, beside the result."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
