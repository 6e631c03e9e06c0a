"""Runs river's detectors on series that simulated pods left; started with the Python of their own environment.

    PYTHONPATH=tests PYTHON tests/bench_detect/river_child.py FOLDER SLOW_DAYS HORIZON

FOLDER has `test/POD` and `tune/POD`, each with `quiet.npy` and one file for each change; what was found is printed
as JSON, one object a line. Only pages for a drop count: the last two minutes lie under the pod's mean.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from bench_detect.peer_grid import INPUTS, Choice, Peer, defaults, ladders
from bench_detect.peer_search import loosest, quickness

DAY: Final = 8640
SLOW: Final = "KSWIN"
SLOW_LEAD: Final = 720
RECENT: Final = 12
MONTH_DAYS: Final = 30


@dataclass(frozen=True)
class Series:
    """Values of one kind, NaN where a scrape had hardly any drafts.

    Attributes:
        values: by scrape.
        mean: of the pod's unchanged days.
        change: scrape of the change; the length of the series without one.
    """

    values: Sequence[float]
    mean: float
    change: int

    def last(self, scrapes: int) -> Series:
        """Without what is more than that many scrapes before the change."""
        cut = max(0, self.change - scrapes)
        return Series(self.values[cut:], self.mean, self.change - cut)

    def first(self, scrapes: int) -> Series:
        """The first scrapes only."""
        return Series(self.values[:scrapes], self.mean, min(self.change, scrapes))


@dataclass(frozen=True)
class Pods:
    """Series of several pods, by input: unchanged ones, and changes by ratio."""

    quiet: dict[str, list[Series]]
    changes: dict[str, dict[float, list[Series]]]


def pages(peer: Peer, series: Series) -> Iterator[int]:
    """Scrapes at which it says that the values have dropped."""
    recent: list[float] = []
    for index, value in enumerate(series.values):
        if math.isnan(value):
            continue
        recent.append(value)
        peer.update(value)
        if peer.drift_detected and sum(recent[-RECENT:]) / len(recent[-RECENT:]) < series.mean:
            yield index
        if len(recent) > 100 * RECENT:
            del recent[:-RECENT]


def false_pages(choice: Choice, quiet: Sequence[Series], stop_over: int | None = None) -> int:
    """False pages over all pods; no more are counted once there are over `stop_over`."""
    count = 0
    for series in quiet:
        for _ in pages(choice.make(), series):
            count += 1
            if stop_over is not None and count > stop_over:
                return count
    return count


def keeps(pods: Pods, allowed: int, choice: Choice) -> bool:
    """Whether it has no more false pages than allowed."""
    return false_pages(choice, pods.quiet[choice.source], allowed) <= allowed


def delay(choice: Choice, series: Series) -> int | None:
    """Scrapes from the change to the first page after it; None if there is none."""
    return next((at + 1 - series.change for at in pages(choice.make(), series) if at >= series.change), None)


def delays(choice: Choice, pods: Pods) -> dict[float, list[int | None]]:
    """By ratio."""
    found = {}
    for ratio, changes in pods.changes[choice.source].items():
        tried = [each.last(SLOW_LEAD) for each in changes[::4]] if choice.detector == SLOW else changes
        found[ratio] = [delay(choice, series) for series in tried]
    return found


def tune(detector: str, pods: Pods, allowed: int, horizon: int) -> tuple[Choice | None, int]:
    """The quickest settings that keep the budget; None where none do, and how many ladders had some."""
    best, kept = None, 0
    least = math.inf
    for ladder in ladders(detector):
        choice = loosest(ladder, partial(keeps, pods, allowed))
        if choice is None:
            continue
        kept += 1
        took = quickness(list(delays(choice, pods).values()), horizon)
        if took < least:
            best, least = choice, took
    return best, kept


def load(folder: Path, slow_days: int | None = None) -> Pods:
    """Read all pods of a folder; only the first days of each if `slow_days` is given."""
    quiet: dict[str, list[Series]] = {name: [] for name in INPUTS}
    changes: dict[str, dict[float, list[Series]]] = {name: {} for name in INPUTS}
    for pod in sorted(folder.iterdir()):
        whole = np.load(pod / "quiet.npy")
        for column, name in enumerate(INPUTS):
            mean = float(np.nanmean(whole[:, column]))
            own = Series(whole[:, column].tolist(), mean, len(whole))
            quiet[name].append(own if slow_days is None else own.first(slow_days * DAY))
            for path in sorted(pod.glob("change-*.npy")):
                _, _, ratio, at = path.stem.split("-")
                values = np.load(path)[:, column].tolist()
                changes[name].setdefault(float(ratio), []).append(Series(values, mean, int(at)))
    return Pods(quiet, changes)


def report(choice: Choice, pods: Pods, kind: str) -> dict[str, object]:
    """What one way to run a peer did on the pods of the test."""
    quiet = pods.quiet[choice.source]
    return {
        "detector": choice.detector,
        "kind": kind,
        "settings": choice.words(),
        "pages": false_pages(choice, quiet),
        "days": sum(len(series.values) for series in quiet) / DAY,
        "delays": {f"{ratio:g}": found for ratio, found in delays(choice, pods).items()},
    }


def main(arguments: Sequence[str]) -> None:
    """Run all detectors."""
    folder, slow_days, horizon = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    for choice in defaults():
        slow = choice.detector == SLOW
        if slow and not slow_days:
            continue
        days = slow_days if slow else None
        test, tuning = load(folder / "test", days), load(folder / "tune", days)
        say(report(choice, test, "default"))
        seen = sum(len(series.values) for series in tuning.quiet["length"]) / DAY
        best, kept = tune(choice.detector, tuning, int(seen // MONTH_DAYS), horizon)
        if best is None:
            say({"detector": choice.detector, "kind": "tuned", "settings": "", "tuning_days": seen})
        else:
            say({**report(best, test, "tuned"), "tuning_days": seen, "ladders": kept})


def say(found: dict[str, object]) -> None:
    """One line for the parent."""
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
