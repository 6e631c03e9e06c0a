"""All that is done with one simulated pod: calibrate, watch unchanged days, try changes, leave series for peers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from bench_detect import fixed_rules
from bench_detect.demand import Floats
from bench_detect.lower_bound import at_finite_run_length, evidence, first_order
from bench_detect.ours import Watch
from bench_detect.outcome import Bound, Outcome
from bench_detect.plan import CHANGES_FROM, CHANGES_TO, HORIZON, LEAD, RATIOS, Plan
from bench_detect.pod import Pod, calibrate
from bench_detect.simulator import Counts
from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.monitor_settings import MonitorSettings

LORDEN_TOTAL, LORDEN_CLASS = "Lorden bound, total", "Lorden bound, by class"
OPTIMUM_TOTAL, OPTIMUM_CLASS = "optimum at that ARL, total", "optimum at that ARL, by class"

LEAST_DRAFTS: Final = 200
"""Scrapes with fewer are kept from peers: one short answer is no reading of the acceptance length."""


@dataclass(frozen=True)
class Found:
    """What one pod gave.

    Attributes:
        outcomes: ours and the fixed rules, by name.
        bounds: by name.
        designs: measured design effects by stream; the empty name is the total.
    """

    outcomes: Mapping[str, Outcome]
    bounds: Mapping[str, Bound]
    designs: Mapping[str, float]


def run_pod(pod: Pod, plan: Plan, settings: MonitorSettings, folder: Path | None, *, ours: bool = True) -> Found:
    """Run one pod.

    Args:
        pod: which.
        plan: how much.
        settings: of the monitors.
        folder: where the series for peers go; None: nowhere.
        ours: False for a pod that peers are only tuned on.
    """
    calibrations = calibrate(pod, plan.history, settings)
    designs = {name: known.design for name, known in calibrations.items()}
    outcomes: dict[str, Outcome] = {}
    bounds: dict[str, Bound] = {}
    quiet = [pod.day(number) for number in range(plan.history, plan.history + plan.days)]
    if ours:
        watch = Watch.begin(settings, calibrations, pod.names)
        for day in quiet:
            watch.feed(day.counts, day.restarts)
        for name, pages in watch.pages.items():
            outcomes[name] = Outcome(name, plan.days, len(pages))
        totals = np.concatenate([day.counts.sum(axis=1) for day in quiet])
        for name, firing in fixed_rules.breaches(totals, calibrations[""].baseline).items():
            outcomes[name] = Outcome(name, plan.days, fixed_rules.pages(firing))
    if folder is not None:
        series = [_series(day.counts.sum(axis=1), calibrations[""]) for day in quiet]
        np.save(folder / "quiet.npy", np.concatenate(series))
    for number in range(plan.trials):
        _try_changes(pod, number, settings, calibrations, (outcomes, bounds) if ours else None, folder)
    return Found(outcomes, bounds, designs)


def _try_changes(
    pod: Pod,
    number: int,
    settings: MonitorSettings,
    calibrations: Mapping[str, Calibration],
    result: tuple[dict[str, Outcome], dict[str, Bound]] | None,
    folder: Path | None,
) -> None:
    """One day on which the draft becomes worse at a random hour, once for each size of drop."""
    calm = replace(pod, habits=replace(pod.habits, restarts=0.0))
    at = int(np.random.default_rng([*pod.seed, pod.slots, number, 3]).integers(CHANGES_FROM, CHANGES_TO))
    day_before, before = calm.trial_day(2 * number).counts, calm.trial_day(2 * number + 1).counts
    watch = Watch.begin(settings, calibrations, pod.names)
    if result is not None:
        watch.feed(before[at - LEAD : at])
    for ratio in RATIOS:
        after = calm.trial_day(2 * number + 1, ratio).counts[at : at + HORIZON]
        if result is not None:
            outcomes, bounds = result
            _add_delays(outcomes, ratio, watch.fork(), after, before[at - LEAD : at], calibrations)
            _add_bounds(bounds, ratio, after, calibrations, pod.names)
        if folder is not None:
            whole = np.concatenate((day_before, before[:at], after)).sum(axis=1)
            series = _series(whole, calibrations[""])
            np.save(folder / f"change-{number}-{ratio:g}-{len(day_before) + at}.npy", series)


def _add_delays(
    outcomes: dict[str, Outcome],
    ratio: float,
    watch: Watch,
    after: Counts,
    lead: Counts,
    calibrations: Mapping[str, Calibration],
) -> None:
    watch.feed(after, until_found=True)
    for name, pages in watch.pages.items():
        outcomes[name].delays.setdefault(ratio, []).append(pages[0] + 1 if pages else None)
    whole = np.concatenate((lead, after)).sum(axis=1)
    for name, firing in fixed_rules.breaches(whole, calibrations[""].baseline).items():
        outcomes[name].delays.setdefault(ratio, []).append(fixed_rules.first(firing[len(lead) :]))


def _add_bounds(
    bounds: dict[str, Bound],
    ratio: float,
    after: Counts,
    calibrations: Mapping[str, Calibration],
    names: tuple[str, ...],
) -> None:
    total = evidence(after.sum(axis=1, keepdims=True), calibrations, ("",), ratio)
    by_class = evidence(after, calibrations, names, ratio)
    for name, value in (
        (LORDEN_TOTAL, first_order(total)),
        (OPTIMUM_TOTAL, at_finite_run_length(total)),
        (LORDEN_CLASS, first_order(by_class)),
        (OPTIMUM_CLASS, at_finite_run_length(by_class)),
    ):
        bounds.setdefault(name, Bound(name)).delays.setdefault(ratio, []).append(value)


def _series(totals: Counts, known: Calibration) -> Floats:
    """What peers see of each scrape: acceptance length, and its distance from the baseline in standard errors.

    Scrapes with hardly any drafts are NaN in both.
    """
    drafts, accepted = totals[:, 0].astype(float), totals[:, 1:].sum(axis=1).astype(float)
    some = np.maximum(drafts, 1.0)
    spread = np.sqrt(some * known.baseline.variance(1) * known.design)
    score = (accepted - some * (known.baseline.mean_accepted or 0.0)) / spread
    pair = np.stack((1.0 + accepted / some, score), axis=1)
    pair[drafts < LEAST_DRAFTS] = np.nan
    return pair
