"""Measures one phase with one contender: a load generator of its own for each."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from typing import Final

from bench_proxy.bench import Bench, last_line
from bench_proxy.child import running
from bench_proxy.entry import Entry
from bench_proxy.load_job import Figures, LoadJob
from bench_proxy.plan import PhasePlan
from bench_proxy.start_up import RunningStub

_SPARE_S: Final = 40.0


def visit(bench: Bench, plan: PhasePlan, entry: Entry, stub: RunningStub) -> None:
    """Add the figures to the entry, or the reason why there are none; then it takes no part any more."""
    job = LoadJob(
        **asdict(plan), port=entry.port, stub_port=stub.http, arrivals_port=stub.arrivals, pids=entry.pids()
    )
    found = run_load(bench, job)
    if isinstance(found, str):
        entry.reason = f"failed in phase `{plan.phase}`: {found}"
        bench.say(f"{entry.name}: {entry.reason}")
    else:
        entry.found.setdefault(plan.phase, []).append(found)


def run_load(bench: Bench, job: LoadJob) -> Figures | str:
    """Run the load generator; return its figures or what went wrong."""
    limit = job.warm_s + job.seconds + _SPARE_S
    log = bench.folder / "load.log"
    with running(bench.module("load", json.dumps(asdict(job))), log, bench.cores.load, piped=True) as process:
        try:
            out, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return f"no result within {limit:.0f} s"
    if process.returncode != 0 or not out:
        return f"the load generator ended with status {process.returncode}: {last_line(log)}"
    found: dict[str, float | str] = json.loads(out)
    failed = found.pop("failed", None)
    return str(failed) if failed else {name: float(value) for name, value in found.items()}
