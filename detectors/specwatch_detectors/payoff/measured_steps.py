"""Step times as they were measured: one curve without speculation, one for each method and K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from specwatch_detectors.payoff.step_cost import EXTRAPOLATED, INFERRED_DEPTH, Load, Unknown
from specwatch_detectors.payoff.step_curve import Point, StepCurve

# Draft tokens per step and K agree to this share when only the last steps before a limit are cut short.
_SAME_DEPTH: Final = 0.03
_MOST_DEPTH: Final = 2.0


@dataclass(frozen=True, slots=True)
class Timed:
    """A step time.

    Attributes:
        seconds: of one step, prefill left out.
        relative_error: standard error over the value, or None.
        caveats: as in `Cost`.
    """

    seconds: float
    relative_error: float | None = None
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MethodCurve:
    """One method at one K.

    Attributes:
        depth: K, draft tokens per request and step in the run.
        seconds: of a step, by batch size.
        relative_error: standard error of `seconds` over its value, by batch size, or None.
        idle: seconds of a step in which this engine drafts nothing, or None if that was not run.
        prefill: seconds that one prompt token adds to its step, by batch size, or None for as in a plain step.
        length: tokens per request and step in the run, steps without a draft included, or None.
        drafted: draft tokens per request and step in the run, or None for K.
    """

    depth: int
    seconds: StepCurve
    relative_error: StepCurve | None = None
    idle: StepCurve | None = None
    prefill: StepCurve | None = None
    length: float | None = None
    drafted: float | None = None


class MeasuredSteps:
    """Looks step times up.

    With another number of draft tokens per step than any K that was run, time is taken in proportion between the
    nearest two of: drafting nothing, and each K. Drafting nothing costs what was measured for it, else what a step
    without speculation costs. Beyond the largest K the proportion is kept up to twice that K. What is not between
    two runs of the method is marked.

    Beyond the largest batch the ratio of the two times does not fall below the last measured one: two lines through
    noisy points soon cross, and verification of more tokens is not known to get cheaper there.

    Args:
        plain: seconds of a step without speculation.
        methods: by method, one curve per K.
        plain_prefill: seconds that one prompt token adds to a step without speculation, by batch size, or None.
    """

    def __init__(
        self,
        plain: StepCurve,
        methods: Mapping[str, Sequence[MethodCurve]],
        plain_prefill: StepCurve | None = None,
    ) -> None:
        self.plain_curve = plain
        self.plain_prefill = plain_prefill
        self.methods = {name: tuple(sorted(curves, key=_depth)) for name, curves in methods.items()}

    def plain(self, load: Load) -> Timed | Unknown:
        """A step without speculation."""
        return _timed(self.plain_curve.at(load.batch), load.batch)

    def idle(self, method: str, load: Load) -> Timed | Unknown:
        """A step of a speculating engine that drafts nothing."""
        for curve in self.methods.get(method, ()):
            if curve.idle is not None:
                return _timed(curve.idle.at(load.batch), load.batch)
        return Unknown(f"the profile has no step time of {method} with nothing drafted")

    def prefill(self, method: str, load: Load) -> tuple[float, float | None] | None:
        """Seconds that one prompt token adds to a plain step, and to one with speculation where that is known.

        Returns:
            None where the profile has no such curve or the batch is too far from it.
        """
        plain = None if self.plain_prefill is None else self.plain_prefill.at(load.batch)
        if plain is None:
            return None
        curves = self.methods.get(method, ())
        close = min(curves, key=lambda curve: abs(curve.depth - load.drafted), default=None)
        own = None if close is None or close.prefill is None else close.prefill.at(load.batch)
        return plain.value, None if own is None else own.value

    def speculating(self, method: str, load: Load) -> Timed | Unknown:
        """A step with speculation."""
        found, last = self._by_lines(method, load), self.plain_curve.batches[-1]
        if isinstance(found, Unknown) or load.batch <= last:
            return found
        plain, at_last = self.plain(load), replace(load, batch=last)
        edge, plain_edge = self._by_lines(method, at_last), self.plain(at_last)
        if isinstance(plain, Unknown) or isinstance(edge, Unknown) or isinstance(plain_edge, Unknown):
            return found
        return replace(found, seconds=max(found.seconds, plain.seconds * edge.seconds / plain_edge.seconds))

    def _by_lines(self, method: str, load: Load) -> Timed | Unknown:
        curves = self.methods.get(method)
        if not curves:
            known = ", ".join(sorted(self.methods)) or "none"
            return Unknown(f"the profile has no step times for {method} (it has {known})")
        close = min(curves, key=lambda curve: abs(curve.depth - load.drafted))
        if abs(close.depth - load.drafted) <= _SAME_DEPTH * close.depth:
            return _of_curve(close, load.batch)
        deeper = next((curve for curve in curves if curve.depth > load.drafted), curves[-1])
        if load.drafted > deeper.depth * _MOST_DEPTH:
            return Unknown(f"the profile has {method} with K up to {deeper.depth}, not {load.drafted:.3g}")
        upper = _of_curve(deeper, load.batch)
        between = [curve for curve in curves if curve.depth < load.drafted and curve is not deeper]
        if between:
            lower, depth = _of_curve(between[-1], load.batch), between[-1].depth
        else:
            idle = self.idle(method, load)
            lower, depth = (self.plain(load) if isinstance(idle, Unknown) else idle), 0
        if isinstance(lower, Unknown) or isinstance(upper, Unknown):
            return lower if isinstance(lower, Unknown) else upper
        share = (load.drafted - depth) / (deeper.depth - depth)
        inside = bool(between) and deeper.depth > load.drafted
        return _between(lower, upper, share, () if inside else (INFERRED_DEPTH,))


def _depth(curve: MethodCurve) -> int:
    return curve.depth


def _timed(point: Point | None, batch: float, error: float | None = None) -> Timed | Unknown:
    if point is None:
        return Unknown(f"batch {batch:.3g} is too far from the batch sizes of the profile")
    return Timed(point.value, error, (EXTRAPOLATED,) if point.extrapolated else ())


def _of_curve(curve: MethodCurve, batch: float) -> Timed | Unknown:
    error = None if curve.relative_error is None else curve.relative_error.at(batch)
    return _timed(curve.seconds.at(batch), batch, None if error is None else error.value)


def _between(lower: Timed, upper: Timed, share: float, more: tuple[str, ...]) -> Timed:
    seconds = max(lower.seconds + (upper.seconds - lower.seconds) * share, 0.1 * min(lower.seconds, upper.seconds))
    errors = [found for found in (lower.relative_error, upper.relative_error) if found is not None]
    caveats = tuple(dict.fromkeys((*lower.caveats, *upper.caveats, *more)))
    return Timed(seconds, max(errors, default=None), caveats)
