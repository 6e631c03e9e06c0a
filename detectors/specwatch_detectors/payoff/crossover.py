"""At which batch sizes a run's own acceptance would not pay, by a profile of measured steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specwatch_detectors.payoff.measured_steps import MeasuredSteps, MethodCurve
from specwatch_detectors.payoff.payoff import speedup
from specwatch_detectors.payoff.step_cost import Load, Unknown
from specwatch_detectors.payoff.step_profile import StepProfile


@dataclass(frozen=True, slots=True)
class Crossover:
    """One method at one K.

    Attributes:
        length: tokens per request and step of the run.
        losing: ranges of batch sizes, ends included, at which S is 1 or less with the prefill of the run.
        losing_alone: the same for decode alone.
        last: largest batch size of the run.
    """

    method: str
    depth: int
    length: float
    losing: tuple[tuple[int, int], ...]
    losing_alone: tuple[tuple[int, int], ...]
    last: int


def crossovers(profile: StepProfile) -> Iterator[Crossover]:
    """Every run of the profile whose length is known."""
    steps = profile.steps
    if not isinstance(steps, MeasuredSteps):
        return
    for method in profile.methods:
        for curve in steps.methods[method]:
            if curve.length is not None:
                last = int(min(curve.seconds.batches[-1], steps.plain_curve.batches[-1]))
                prompts = profile.prompt_per_output or 0.0
                ranges = [_losing(profile, method, curve, ratio, last) for ratio in (prompts, 0.0)]
                yield Crossover(method, curve.depth, curve.length, ranges[0], ranges[1], last)


def words(losing: Sequence[tuple[int, int]], last: int) -> str:
    """Ranges in words."""
    if not losing:
        return f"pays at all, up to {last}"
    if losing[0] == (1, last):
        return "pays at none"
    named = [f"{first}" if first == end else f"{first} to {end}" for first, end in losing]
    return f"does not pay at {', '.join(named)}" + ("" if losing[-1][1] == last else f", pays again up to {last}")


def _losing(
    profile: StepProfile, method: str, curve: MethodCurve, prompts: float, last: int
) -> tuple[tuple[int, int], ...]:
    cost, found = profile.cost_of(method), list[tuple[int, int]]()
    for batch in range(1, last + 1):
        price = cost.at(Load(batch, float(curve.depth) if curve.drafted is None else curve.drafted))
        if isinstance(price, Unknown) or curve.length is None:
            continue
        spec = None if price.spec_prefill_share is None else price.spec_prefill_share * prompts
        if speedup(curve.length, price.ratio, price.prefill_share * prompts, spec) > 1.0:
            continue
        if found and found[-1][1] == batch - 1:
            found[-1] = (found[-1][0], batch)
        else:
            found.append((batch, batch))
    return tuple(found)
