"""Prints what a profile says: `python -m specwatch_detectors.payoff.break_even_table [PROFILE ...]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Final

from specwatch_detectors.payoff.crossover import crossovers, words
from specwatch_detectors.payoff.measured_steps import MeasuredSteps
from specwatch_detectors.payoff.profile_file import ProfileError, load_profile, shipped_names
from specwatch_detectors.payoff.step_cost import Cost, Load, Unknown
from specwatch_detectors.payoff.step_profile import StepProfile
from specwatch_exporters.request_labels import BATCH_EDGES

DEPTHS: Final = (1, 3, 5)


def columns(profile: StepProfile) -> tuple[tuple[str, int], ...]:
    """Methods and K to show: those that were run, or K of 1, 3 and 5 where constants give any."""
    if isinstance(profile.steps, MeasuredSteps):
        return tuple((name, run.depth) for name in profile.methods for run in profile.steps.methods[name])
    return tuple((name, depth) for name in profile.methods for depth in DEPTHS)


def break_even_lines(profile: StepProfile, context: float | None = None) -> Iterator[str]:
    """Break-even tau* per batch bucket, at its upper edge, as a Markdown table; `*` marks extrapolation.

    Args:
        profile: the step times.
        context: tokens of context per request; the profile's own if None.
    """
    shown = columns(profile)
    tokens = profile.context_tokens if context is None else context
    yield f"{profile.name}: {profile.target}, {profile.hardware}, {profile.engine}; {profile.label}"
    yield ""
    yield "| batch | " + " | ".join(f"{method} K={depth}" for method, depth in shown) + " |"
    yield "|---" * (len(shown) + 1) + "|"
    for batch in BATCH_EDGES:
        costs = [profile.cost_of(method).at(Load(batch, depth, tokens)) for method, depth in shown]
        yield f"| {batch} | " + " | ".join(map(_cell, costs)) + " |"


def crossover_lines(profile: StepProfile) -> Iterator[str]:
    """At which batch sizes the acceptance of the run itself pays, as a Markdown table; nothing without runs."""
    found = tuple(crossovers(profile))
    if not found:
        return
    yield ""
    yield "| drafter | tokens per step in the run | with the run's prefill | decode alone |"
    yield "|---|---|---|---|"
    for one in found:
        mixed, alone = words(one.losing, one.last), words(one.losing_alone, one.last)
        yield f"| {one.method} K={one.depth} | {one.length:.2f} | {mixed} | {alone} |"


def _cell(cost: Cost | Unknown) -> str:
    if isinstance(cost, Unknown):
        return "unknown"
    return f"{cost.ratio:.2f}{'*' if cost.caveats else ''}"


def main(arguments: Sequence[str]) -> int:
    """Print the tables of the profiles named, or of all that ship.

    Returns:
        0, or 2 for a profile that cannot be read.
    """
    for name in arguments or shipped_names():
        try:
            profile = load_profile(name)
        except ProfileError as error:
            sys.stderr.write(f"{error}\n")
            return 2
        sys.stdout.write("\n".join((*break_even_lines(profile), *crossover_lines(profile))) + "\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
