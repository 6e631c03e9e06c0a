"""Scaling on demand beside what others scale on, in simulation: seven traces, swept peers, clairvoyant plans."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from bench_scale.scale_report import Limit, report
from specwatch_deploy.scale.gpu_behavior import LEAST_WINDOW_S
from specwatch_deploy.scale.simulation.comparison import Comparison, compare, run_one
from specwatch_deploy.scale.simulation.comparison_words import as_json
from specwatch_deploy.scale.simulation.contenders import SimulationSettings, ours
from specwatch_deploy.scale.simulation.engine_speed import EngineSpeed
from specwatch_deploy.scale.simulation.traces import STEP, TRACES

SLOTS = 32
HELD_OUT = (11, 12, 13, 14)
"""Seeds that played no part in choosing constants; 1 to 3 did."""
WINDOWS = (LEAST_WINDOW_S, 120, 60)
"""For scaling in, seconds: the one that is shipped, and shorter ones, to see what it costs and what it is for."""


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What is run, and where to write."""
    parser = argparse.ArgumentParser(prog="bench-scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the first setting of each peer")
    parser.add_argument("--seed", type=int, default=HELD_OUT[0], metavar="N", help="of the arrivals of the tables")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    return parser.parse_args(arguments)


def run_trace(index: int, settings: SimulationSettings, sweep: bool) -> Comparison:
    """One trace; the answer leaves the trace's function out, which no process can send."""
    found = compare(TRACES[index], settings, sweep=sweep)
    return Comparison(TRACES[index].without_rate(), found.ours, found.peers, found.plans)


def step_ratio(settings: SimulationSettings) -> float:
    """Pod seconds on the step over those of the cheapest plan that attains as much; infinite if none does."""
    found = compare(STEP, settings, peers=False)
    cost = found.clairvoyant_cost
    return math.inf if cost is None else found.ours.score.pod_seconds / cost


def in_time(index: int, settings: SimulationSettings) -> float:
    """Share of requests in time on one trace, specwatch's way."""
    return run_one(TRACES[index], settings, ours(settings)).score.attained


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate and print."""
    chosen = read_arguments(arguments)
    settings = SimulationSettings(speed=EngineSpeed.of_profile(SLOTS), seed=chosen.seed)
    began = time.monotonic()
    count = range(len(TRACES))
    with ProcessPoolExecutor(max(1, chosen.jobs)) as pool:
        jobs = [pool.submit(run_trace, index, settings, not chosen.quick) for index in count]
        windows = {
            window: (
                [pool.submit(step_ratio, replace(settings, seed=seed, window_s=window)) for seed in HELD_OUT],
                [pool.submit(in_time, index, replace(settings, window_s=window)) for index in count],
            )
            for window in WINDOWS
        }
        found = []
        for job in jobs:
            found.append(job.result())
            print(f"{found[-1].trace.name}: done", file=sys.stderr, flush=True)
        limits = [
            Limit(window, tuple(job.result() for job in steps), tuple(job.result() for job in shares))
            for window, (steps, shares) in windows.items()
        ]
    if chosen.json:
        body = json.dumps([as_json(item, settings) for item in found], indent=1)
        Path(chosen.json).write_text(body + "\n", encoding="utf-8")
    print(report(found, limits, HELD_OUT, settings, (time.monotonic() - began) / 60.0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
