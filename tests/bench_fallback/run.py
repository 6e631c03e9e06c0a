"""What fallback is worth, in simulation: a month with ten drifts, under six ways of falling back."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench_fallback.experiment import run
from bench_fallback.plan import FULL, QUICK, Plan
from bench_fallback.report import as_json, report


def read_arguments(arguments: Sequence[str] | None) -> tuple[Plan, argparse.Namespace]:
    """The plan, and where to write."""
    parser = argparse.ArgumentParser(prog="bench-fallback", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two times ten days instead of five months")
    parser.add_argument("--seeds", type=int, metavar="N", help="months to simulate")
    parser.add_argument("--sweep", action="store_true", help="also ours with other constants, one at a time")
    parser.add_argument("--json", metavar="FILE", help="write all figures of all months there; - for here only")
    chosen = parser.parse_args(arguments)
    plan = QUICK if chosen.quick else FULL
    seeds = plan.seeds if chosen.seeds is None else chosen.seeds
    if seeds < 1:
        parser.error("--seeds must be 1 or more")
    return replace(plan, seeds=seeds, sweep=chosen.sweep), chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate and print."""
    plan, chosen = read_arguments(arguments)
    began = time.monotonic()
    found = run(plan, os.cpu_count() or 1, lambda text: print(text, file=sys.stderr, flush=True))
    body = json.dumps(as_json(found, plan), indent=1)
    if chosen.json not in {None, "-"}:
        Path(chosen.json).write_text(body + "\n", encoding="utf-8")
    print(body if chosen.json == "-" else report(found, plan, (time.monotonic() - began) / 60.0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
