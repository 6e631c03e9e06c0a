"""The report as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

from bench_fallback.causes import CAUSES
from bench_fallback.drift_score import MARGIN, DriftScore
from bench_fallback.experiment import LONG_RUN, SWEEP, Scores
from bench_fallback.incident import DRIFTS
from bench_fallback.lever import LEVERS
from bench_fallback.plan import (
    OBJECTIVE,
    PODS,
    STRICT_TARGET_S,
    TICK_S,
    TOKEN_TARGET_S,
    TTFT_TARGET_S,
    Plan,
)
from bench_fallback.score import Score
from bench_fallback.steps import ERROR, PROFILE
from bench_fallback.table import duration, spread, table

NAMES: Final = (
    "no fallback",
    "one-way gate",
    "threshold to off",
    "threshold to ngram",
    "specwatch",
    "clairvoyant",
)
OURS, NONE, BEST = "specwatch", "no fallback", "clairvoyant"
Rows = Sequence[tuple[str, Callable[[Score], float], int, str]]

FIGURES: Final[Rows] = (
    ("requests within both targets, %", lambda s: 100.0 * s.good, 2, ""),
    ("within the TTFT target, %", lambda s: 100.0 * s.ttft, 2, ""),
    ("within the time per token, %", lambda s: 100.0 * s.token, 2, ""),
    (f"both, with {STRICT_TARGET_S * 1e3:.0f} ms per token, %", lambda s: 100.0 * s.strict, 2, ""),
    ("refused after 20 s of waiting, %", lambda s: 100.0 * s.refused, 3, ""),
    ("error budget burnt, minutes", lambda s: s.budget_minutes, 0, ""),
)
MORE_FIGURES: Final[Rows] = (
    ("tokens per GPU second, served", lambda s: s.tokens_per_gpu_s, 1, ""),
    ("tokens per GPU second, at a full batch", lambda s: s.capacity, 0, ""),
    ("GPU hours lost", lambda s: s.gpu_hours, 0, ""),
    ("of them in the mix shift", lambda s: s.lost_in_shift_s * PODS / 3600.0, 0, ""),
    ("switches", lambda s: s.switches, 1, ""),
    ("false switches", lambda s: s.false_switches, 1, ""),
    ("probes", lambda s: s.probes, 0, ""),
    ("latched, somebody had to look", lambda s: s.latches, 1, ""),
    ("harmful drifts missed", lambda s: s.missed, 1, ""),
)


def report(found: Sequence[Scores], plan: Plan, minutes: float) -> str:
    """The whole report.

    Args:
        found: by month.
        plan: what was run.
        minutes: that it took.
    """
    parts = [_head(found, plan, minutes)]
    for lever in plan.levers:
        parts += [f"### Lever: {lever} ({LEVERS[lever].words})", _figures(found, lever, plan)]
    first = plan.levers[0]
    parts += ["### Drift by drift", _drifts(found, first), _drift_legend()]
    parts += ["### Where capacity was lost", _causes(found, first)]
    if plan.sweep:
        parts += ["### Other constants", _sweep(found, first)]
    return "\n\n".join(parts)


def _head(found: Sequence[Scores], plan: Plan, minutes: float) -> str:
    return (
        f"Simulated: {len(found)} months of {plan.days} days, {PODS} pods of one H200, ticks of {TICK_S} s;"
        f" took {minutes:.0f} minutes.\n"
        f"Step times: profile `{PROFILE}`, from one run each with dummy weights; the simulated engine's are off by"
        f" {ERROR:.0%} (standard deviation), which no contender knows.\n"
        f"Targets: first token within {TTFT_TARGET_S:g} s and {TOKEN_TARGET_S * 1e3:.0f} ms per token, both for"
        f" {OBJECTIVE:.0%} of requests: an error budget of {(1.0 - OBJECTIVE) * plan.days * 1440:.0f} minutes.\n"
        "Cells: mean over the months ± half the width of its 95 % interval (Student's t); months differ in traffic,"
        " sizes and times of drifts, and step times."
    )


def _of(found: Sequence[Scores], lever: str, name: str, first: str) -> list[Score]:
    """A contender's months; those that need no lever ran under the first."""
    return [each.get((lever, name)) or each[first, name] for each in found]


def _figures(found: Sequence[Scores], lever: str, plan: Plan) -> str:
    first = plan.levers[0]
    by_name = {name: _of(found, lever, name, first) for name in NAMES}
    rows = [[title, *_cells(by_name, value, digits)] for title, value, digits, _ in FIGURES]
    saved = [
        spread([n.budget_minutes - s.budget_minutes for n, s in zip(by_name[NONE], scores, strict=True)])
        for scores in by_name.values()
    ]
    rows.append(["error budget saved, minutes", *saved])
    rows += [[title, *_cells(by_name, value, digits)] for title, value, digits, _ in MORE_FIGURES]
    ratio = [
        spread([s.lost_s / b.lost_s for s, b in zip(scores, by_name[BEST], strict=True)], 1)
        for scores in by_name.values()
    ]
    rows.append(["loss over the clairvoyant's", *ratio])
    return table(["", *NAMES], rows)


def _cells(by_name: dict[str, list[Score]], value: Callable[[Score], float], digits: int) -> list[str]:
    return [spread([float(value(each)) for each in scores], digits) for scores in by_name.values()]


def _drifts(found: Sequence[Scores], lever: str) -> str:
    names = [name for name in NAMES if name not in {NONE, BEST}]
    head = ["drift of the draft", "harmful in", "avoidable, GPU hours"]
    head += [f"{name}: to act, to return" for name in names]
    rows = []
    for number, drift in enumerate(DRIFTS):
        every = {name: _drift_column(found, lever, name, number) for name in (*names, NONE)}
        if not every[NONE]:
            continue
        harmful = sum(each.harmful for each in every[NONE])
        avoidable = statistics.mean(each.avoidable_s for each in every[NONE]) * PODS / 3600.0
        cells = [_times(every[name]) for name in names]
        rows.append([drift.name, f"{harmful} of {len(every[NONE])}", f"{avoidable:.1f}", *cells])
    return table(head, rows)


def _drift_column(found: Sequence[Scores], lever: str, name: str, number: int) -> list[DriftScore]:
    scores = [each[lever, name] for each in found]
    return [each.drifts[number] for each in scores if number < len(each.drifts)]


def _times(drifts: Sequence[DriftScore]) -> str:
    harmful = [each for each in drifts if each.harmful]
    if not harmful:
        return "-"
    acted = [each.acted_s for each in harmful if each.acted_s is not None]
    if not acted:
        return "never"
    back = [each.returned_s for each in harmful if each.returned_s is not None]
    text = duration(statistics.median(acted))
    if len(acted) < len(harmful):
        text += f" ({len(acted)} of {len(harmful)})"
    return f"{text}, {duration(statistics.median(back))}" if back else f"{text}, -"


def _drift_legend() -> str:
    return (
        "Harmful: doing nothing loses more than two switches cost, in so many months; another level was better by"
        f" {MARGIN:.0%} or more. To act: from the first such moment to the decision; to return: from the end of the"
        " drift to the decision; medians over the months in which it was harmful. (n of m): left in n of m."
        " 0 s: it was still away from an earlier one."
    )


def _causes(found: Sequence[Scores], lever: str) -> str:
    rows = []
    for cause in CAUSES:
        cells = [spread([each[lever, name].causes[cause] * PODS / 3600.0 for each in found], 1) for name in NAMES]
        rows.append([cause, *cells])
    return table(["GPU hours", *NAMES], rows)


def _sweep(found: Sequence[Scores], lever: str) -> str:
    rows = []
    for name in (OURS, *SWEEP, LONG_RUN):
        scores = [each[lever, name] for each in found]
        rows.append(
            [
                "as shipped" if name == OURS else name,
                spread([s.gpu_hours for s in scores]),
                spread([100.0 * s.good for s in scores], 2),
                spread([s.switches for s in scores], 1),
                spread([s.false_switches for s in scores], 1),
                spread([s.probes for s in scores]),
                spread([s.latches for s in scores], 1),
                spread([s.missed for s in scores], 1),
            ]
        )
    head = ["", "GPU hours lost", "in both targets, %", "switches", "false", "probes", "latches", "missed"]
    return table(head, rows)


def as_json(found: Sequence[Scores], plan: Plan) -> dict[str, Any]:
    """All figures of all months."""
    months = [
        [{"lever": lever, "contender": name, **asdict(each)} for (lever, name), each in scores.items()]
        for scores in found
    ]
    return {"plan": asdict(plan), "months": months}
