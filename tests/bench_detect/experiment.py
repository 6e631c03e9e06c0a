"""The whole comparison: pods in parallel, then peers on what they left."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from bench_detect import river_peers
from bench_detect.demand import Habits
from bench_detect.outcome import Bound, Outcome
from bench_detect.plan import Plan
from bench_detect.pod import Pod
from bench_detect.pod_run import Found, run_pod
from bench_detect.traffic_class import ALIKE, APART, TrafficClass
from bench_proxy.contender import UnavailableError
from specwatch_detectors.monitor_settings import MonitorSettings

TEST_SEED, TUNE_SEED, STRESS_SEED = 101, 202, 303

Say = Callable[[str], None]


@dataclass
class Column:
    """Pods of one size.

    Attributes:
        slots: most requests at once.
        outcomes: by contender.
        bounds: by name.
        designs: measured design effects by stream, one a pod.
    """

    slots: int
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    bounds: dict[str, Bound] = field(default_factory=dict)
    designs: dict[str, list[float]] = field(default_factory=dict)

    def add(self, found: Found) -> None:
        """Take in what one pod gave."""
        for name, outcome in found.outcomes.items():
            self.outcomes.setdefault(name, Outcome(name)).add(outcome)
        for name, bound in found.bounds.items():
            self.bounds.setdefault(name, Bound(name)).add(bound)
        for name, design in found.designs.items():
            self.designs.setdefault(name, []).append(design)


@dataclass(frozen=True)
class Stress:
    """Traffic that is meant to be hard.

    Attributes:
        name: for the reader.
        classes: of traffic.
        habits: how uneven the demand is.
    """

    name: str
    classes: tuple[TrafficClass, ...]
    habits: Habits


STRESSES: Final = (
    Stress("classes far apart (lengths 1.9 to 3), their mix moves by the hour", APART, Habits()),
    Stress("clients' batches move a class by 5 % of the odds for minutes", ALIKE, Habits(burst_offset=0.05)),
)


@dataclass(frozen=True)
class _Task:
    pod: Pod
    plan: Plan
    folder: Path | None
    ours: bool


def compare(plan: Plan, folder: Path, say: Say, *, peers: bool, processes: int) -> tuple[list[Column], list[str]]:
    """Run all; returns a column a size of pod, and what could not be done.

    Args:
        plan: how much.
        folder: for the series that peers read.
        say: told how far it is.
        peers: whether river's detectors take part.
        processes: pods at once.
    """
    columns, problems = [], []
    python = None
    if peers:
        try:
            python = river_peers.provide_python()
        except UnavailableError as error:
            problems.append(f"river's detectors: {error}")
    for slots in plan.slots:
        say(f"{slots} slots: {plan.pods} pods")
        own = folder / f"{slots}" if python is not None else None
        column = Column(slots)
        for found in _run(_tasks(plan, slots, own), processes):
            column.add(found)
        columns.append(column)
    if python is not None:
        say("river's detectors")
        children = [river_peers.start(python, folder / f"{slots}", plan.slow_days) for slots in plan.slots]
        for column, child in zip(columns, children, strict=True):
            try:
                column.outcomes.update({each.name: each for each in river_peers.collect(child)})
            except UnavailableError as error:
                problems.append(f"{column.slots} slots: {error}")
    return columns, problems


def _tasks(plan: Plan, slots: int, folder: Path | None) -> list[_Task]:
    tasks = []
    kinds = [("test", TEST_SEED, plan.pods)]
    if folder is not None:
        kinds.append(("tune", TUNE_SEED, plan.tuning_pods))
    for kind, seed, pods in kinds:
        for number in range(pods):
            own = None if folder is None else folder / kind / f"{number:03d}"
            if own is not None:
                own.mkdir(parents=True)
            tasks.append(_Task(Pod((seed, number), ALIKE, slots), plan, own, kind == "test"))
    return tasks


def _run(tasks: Sequence[_Task], processes: int) -> list[Found]:
    if processes < 2:
        return [_do(task) for task in tasks]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return pool.map(_do, tasks, chunksize=1)


def _do(task: _Task) -> Found:
    return run_pod(task.pod, task.plan, MonitorSettings(), task.folder, ours=task.ours)


def stress(plan: Plan, say: Say, processes: int) -> dict[str, list[Column]]:
    """False pages on hard traffic, without changes; by name."""
    found: dict[str, list[Column]] = {}
    if not plan.stress_pods:
        return found
    short = replace(plan, trials=0)
    for each in STRESSES:
        say(each.name)
        for slots in plan.slots:
            column = Column(slots)
            pods = [
                Pod((STRESS_SEED, number), each.classes, slots, each.habits) for number in range(plan.stress_pods)
            ]
            for one in _run([_Task(pod, short, None, ours=True) for pod in pods], processes):
                column.add(one)
            found.setdefault(each.name, []).append(column)
    return found
