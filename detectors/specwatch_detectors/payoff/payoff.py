"""Speed-up of speculation with its bounds, and the verdict.

    S = tau / rho                               decode alone
    S = tau (1 + f) / (rho + tau g)             with prefill

tau is tokens per request and step, bonus included; rho is the time of a step with speculation over one without,
at the same batch and context. Speculation does not speed prefill up: f is the time that prefill takes beside one
plain step, over that step, and g what the same prompts take in steps with speculation. Break-even is
tau* = rho / (1 + f - g), which is rho where a prompt token costs the same in both. Leviathan et al. 2023
(arXiv:2211.17192) for tau / (g c + 1), of which rho is the measured form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specwatch_detectors.payoff.length_estimate import LengthEstimate
from specwatch_detectors.payoff.step_cost import Basis, Cost

Z95: Final = 1.96
LEAST_EFFECTIVE: Final = 30.0
"""Independent drafts below which no verdict is given: the normal approximation is too coarse."""


class Verdict(StrEnum):
    """Is it paying?"""

    PAYS = "pays"
    DOES_NOT_PAY = "does_not_pay"
    CANNOT_TELL = "cannot_tell"


@dataclass(frozen=True, slots=True)
class Bounds:
    """A speed-up with its 95 % bounds; lower <= estimate <= upper."""

    lower: float
    estimate: float
    upper: float

    def __str__(self) -> str:
        return f"{self.estimate:.2f}x ({self.lower:.2f} to {self.upper:.2f})"


@dataclass(frozen=True, slots=True)
class Payoff:
    """The answer for one load.

    Attributes:
        verdict: pays only if the lower bound is above 1, does not pay only if the upper one is below.
        text: the same in words, with the numbers or the reason.
        speedup: None if it cannot be told.
        break_even: tau*, or None.
        caveats: what weakens it.
    """

    verdict: Verdict
    text: str
    speedup: Bounds | None = None
    break_even: float | None = None
    caveats: tuple[str, ...] = ()


def speedup(length: float, ratio: float, prefill: float = 0.0, spec_prefill: float | None = None) -> float:
    """S for one tau.

    Args:
        length: tau, at least 1.
        ratio: rho, above 0.
        prefill: f, time of prefill beside one plain step over that step, 0 or more.
        spec_prefill: g, the same prompts' time in steps with speculation, over the plain step; f if None.
    """
    return length * (1.0 + prefill) / (ratio + length * (prefill if spec_prefill is None else spec_prefill))


def break_even(cost: Cost, prompt_per_output: float = 0.0) -> float | None:
    """The tau from which S is above 1; None if prefill costs so much more with speculation that none is.

    Args:
        cost: rho, and what prefill costs.
        prompt_per_output: prompt tokens that had to be computed per output token.
    """
    if cost.spec_prefill_share is None:
        return cost.ratio
    left = 1.0 + (cost.prefill_share - cost.spec_prefill_share) * prompt_per_output
    return cost.ratio / left if left > 0.0 else None


def speedup_bounds(length: LengthEstimate, cost: Cost, prompt_per_output: float = 0.0, z: float = Z95) -> Bounds:
    """S with bounds from the errors of tau and rho, taken as independent.

    Each bound is S at the likeliest pair of tau and rho that lies z standard errors away in relative terms: for
    small errors the root of the sum of squares, and never outside what tau can be (1 to 1 + K). An error of rho
    that nobody measured counts as 0; the caller says so.
    """
    of_length = length.error / length.value
    of_ratio = cost.relative_error or 0.0
    total = math.hypot(of_length, of_ratio)
    prefill = cost.prefill_share * prompt_per_output
    spec = None if cost.spec_prefill_share is None else cost.spec_prefill_share * prompt_per_output
    estimate = speedup(length.value, cost.ratio, prefill, spec)
    if total <= 0.0:
        return Bounds(estimate, estimate, estimate)
    length_shift = z * length.error * of_length / total
    ratio_shift = 1.0 + z * of_ratio * of_ratio / total
    lowest = max(1.0, length.value - length_shift)
    highest = min(length.most, length.value + length_shift)
    lower = speedup(lowest, cost.ratio * ratio_shift, prefill, spec)
    upper = speedup(highest, cost.ratio / ratio_shift, prefill, spec)
    return Bounds(min(lower, estimate), estimate, max(upper, estimate))


def judge(length: LengthEstimate, cost: Cost, basis: Basis, prompt_per_output: float = 0.0) -> Payoff:
    """The answer where there are drafts and a cost.

    Args:
        length: tau.
        cost: rho, and what prefill costs.
        basis: where the cost comes from.
        prompt_per_output: prompt tokens that had to be computed per output token; 0 for decode alone.
    """
    caveats = cost.caveats if cost.relative_error is not None else (*cost.caveats, "error of step times unknown")
    needed = break_even(cost, prompt_per_output)
    if length.effective < LEAST_EFFECTIVE:
        text = f"cannot tell: too few drafts ({length.effective:.3g} independent, {LEAST_EFFECTIVE:.0f} are needed)"
        return Payoff(Verdict.CANNOT_TELL, text, break_even=needed, caveats=caveats)
    found = speedup_bounds(length, cost, prompt_per_output)
    marks = "".join(f", {mark}" for mark in ((basis.value,) if basis is Basis.ESTIMATED else ()) + cost.caveats)
    if found.lower > 1.0:
        return Payoff(Verdict.PAYS, f"pays {found}{marks}", found, needed, caveats)
    if found.upper < 1.0:
        return Payoff(Verdict.DOES_NOT_PAY, f"does not pay: {found}{marks}", found, needed, caveats)
    return Payoff(Verdict.CANNOT_TELL, f"cannot tell: {found} is too close to 1{marks}", found, needed, caveats)


def nothing_drafted(cost: Cost) -> Payoff:
    """The answer for an engine that speculates and drafts nothing: it pays the tax and gains nothing."""
    if cost.idle_ratio is None:
        text = "cannot tell: nothing is drafted, and what an engine costs that drafts nothing was not measured"
        return Payoff(Verdict.CANNOT_TELL, text, break_even=cost.ratio, caveats=cost.caveats)
    gain = 1.0 / cost.idle_ratio
    slower = cost.idle_ratio - 1.0
    if slower > 0.0:
        text = f"does not pay: nothing is drafted, steps take {slower:.1%} longer than without speculation"
        return Payoff(Verdict.DOES_NOT_PAY, text, Bounds(gain, gain, gain), cost.ratio, cost.caveats)
    text = "cannot tell: nothing is drafted, and steps take no longer for it"
    return Payoff(Verdict.CANNOT_TELL, text, Bounds(gain, gain, gain), cost.ratio, cost.caveats)


def rejected_share(draft_tokens: float, accepted_tokens: float) -> float:
    """Share of draft tokens that were thrown away; 0 without any."""
    return max(0.0, draft_tokens - accepted_tokens) / draft_tokens if draft_tokens > 0.0 else 0.0
