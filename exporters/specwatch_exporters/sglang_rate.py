"""SGLang's acceptance rate: three formulas by version, told apart from the numbers themselves.

With A accepted draft tokens over S verify calls, every version reports the length L = (A + S) / S. The rate of the
gauge and of the log line is

- 0.5.4 to 0.5.10: (A + S) / (S * slots) = L / slots: bonus token and root slot are counted. `slots` is the number
  of steps + 1 up to 0.5.5 and the number of draft tokens from 0.5.6 on;
- from 0.5.11 on: A / (S * (slots - 1)) = (L - 1) / (slots - 1): strict.

Slots are whole numbers, so L / rate is whole under the first formula and (L - 1) / rate under the second. Printed
values are rounded; intervals take that into account. Where both are whole and disagree, the rate stays unknown.

Source: sglang wheels 0.5.4, 0.5.6, 0.5.11 and 0.5.23, `report_decode_stats` and what it was called before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeGuard

from specwatch_exporters.notices import Notice

MAX_SLOTS = 256
MAX_EVIDENCE = 4096
STRICT, ROOTED, UNKNOWN = "strict", "rooted", "unknown"
_EXACT = 1e-7


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What a reported rate and length mean.

    Attributes:
        rate: accepted / draft tokens, 0 to 1, or None when it cannot be told.
        length: mean acceptance length, bonus included, or None.
        speculative_tokens: draft tokens per verify call, when the numbers or the caller fix it.
        formula: `strict`, `rooted` (bonus token and root slot counted), or `unknown`.
        notices: what the user must know.
    """

    rate: float | None
    length: float | None
    speculative_tokens: int | None = None
    formula: str = UNKNOWN
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidates:
    """Values of `slots` under which each formula gives the reported rate; empty if none does."""

    strict: frozenset[int]
    rooted: frozenset[int]

    def within(self, slots: int | None) -> Candidates:
        """Only those with the given number of slots, if it is known."""
        return self if slots is None else Candidates(self.strict & {slots}, self.rooted & {slots})


def interpret(
    rate: float | None,
    length: float | None,
    rounding: float,
    draft_tokens: int | None = None,
    strict: bool | None = None,
) -> Interpretation:
    """Turn SGLang's rate into accepted / draft tokens.

    Args:
        rate: as reported, or None.
        length: as reported, bonus included; 0 means that nothing was verified yet.
        rounding: half the last printed digit (0.005 for two decimals); 0 for full precision.
        draft_tokens: SGLang's own count of slots, root included, if known.
        strict: True for 0.5.11 and newer, False for older versions, None if the version is unknown.
    """
    known = length if _is_length(length, max(rounding, _EXACT)) else None
    depth = draft_tokens - 1 if draft_tokens is not None and draft_tokens > 1 else None
    if rate is not None and rate > 1.0 + max(rounding, _EXACT):
        return Interpretation(None, known, depth, UNKNOWN, (_over_one(rate),))
    if rate is None or not 0.0 <= rate < math.inf:
        return Interpretation(_from_length(known, depth), known, depth)
    if known is None:
        return _rate_alone(rate, length, depth, strict)
    if strict is not None:
        slots = frozenset() if depth is None else frozenset({depth + 1})
        own = candidates(rate, known, rounding)
        chosen = slots or (own.strict if strict else own.rooted)
        return _strict(rate, known, chosen) if strict else _rooted(rate, known, chosen)
    return _inferred(rate, known, rounding, depth)


def _is_length(length: float | None, error: float) -> TypeGuard[float]:
    return length is not None and math.isfinite(length) and length >= 1.0 - error


def candidates(rate: float, length: float, rounding: float) -> Candidates:
    """Slots that fit the reported numbers, per formula.

    Args:
        rate: as reported, 0 to 1.
        length: as reported, at least 1.
        rounding: half the last printed digit of both; with 0, values of two to four decimals that fit nothing
            exactly are taken as rounded to the digits they show.
    """
    found = _candidates(rate, length, max(rounding, _EXACT), max(rounding, _EXACT))
    if rounding > 0.0 or found.strict or found.rooted:
        return found
    return _candidates(rate, length, _shown(length), _shown(rate))


def _candidates(rate: float, length: float, length_error: float, rate_error: float) -> Candidates:
    rooted = _whole_ratios(length, rate, length_error, rate_error)
    depths = _whole_ratios(length - 1.0, rate, length_error, rate_error)
    return Candidates(frozenset(depth + 1 for depth in depths), frozenset(slots for slots in rooted if slots > 1))


def _whole_ratios(top: float, bottom: float, top_error: float, bottom_error: float) -> frozenset[int]:
    low = max(0.0, top - top_error) / (bottom + bottom_error)
    high = (top + top_error) / (bottom - bottom_error) if bottom > bottom_error else math.inf
    first, last = max(1, math.ceil(low - _EXACT)), math.floor(min(high + _EXACT, MAX_SLOTS))
    return frozenset(range(first, last + 1))


def _shown(value: float) -> float:
    """Half the last decimal of a value that shows two to four of them."""
    for digits in (2, 3, 4):
        if abs(round(value, digits) - value) < 1e-12:
            return float(0.5 * 10**-digits)
    return _EXACT


def _inferred(rate: float, length: float, rounding: float, depth: int | None) -> Interpretation:
    if rate <= max(rounding, _EXACT):
        return Interpretation(rate, length, depth, STRICT)
    found = candidates(rate, length, rounding).within(None if depth is None else depth + 1)
    if found.strict and not found.rooted:
        return _strict(rate, length, found.strict)
    if found.rooted and not found.strict:
        return _rooted(rate, length, found.rooted)
    converted = {(length - 1.0) / (slots - 1) for slots in found.rooted}
    tolerance = 2.0 * max(rounding, _EXACT)
    if found.strict and converted and all(abs(value - rate) <= tolerance for value in converted):
        return _strict(rate, length, found.strict & found.rooted)
    return Interpretation(None, length, depth, UNKNOWN, (_unclear(rate, length),))


def _strict(rate: float, length: float, slots: frozenset[int]) -> Interpretation:
    return Interpretation(min(rate, 1.0), length, min(slots) - 1 if len(slots) == 1 else None, STRICT)


def _rooted(rate: float, length: float, slots: frozenset[int]) -> Interpretation:
    if len(slots) != 1:
        return Interpretation(None, length, None, ROOTED, (_unclear(rate, length),))
    depth = min(slots) - 1
    converted = min(1.0, max(0.0, (length - 1.0) / depth))
    notice = Notice(
        "rate_converted",
        f"SGLang's rate {rate:.4g} counts the bonus token over {depth + 1} slots, as versions up to 0.5.10 do; "
        f"accepted / draft tokens is {converted:.4g}.",
    )
    return Interpretation(converted, length, depth, ROOTED, (notice,))


def _from_length(length: float | None, depth: int | None) -> float | None:
    return None if length is None or depth is None else min(1.0, max(0.0, (length - 1.0) / depth))


def _rate_alone(rate: float, length: float | None, depth: int | None, strict: bool | None) -> Interpretation:
    """Without a usable length: zeros mean never used, and only a known version gives a rate a meaning."""
    if rate == 0.0 or length == 0.0:
        return Interpretation(None, None, depth)
    if strict:
        return Interpretation(min(rate, 1.0), None, depth, STRICT)
    if strict is None or depth is None:
        return Interpretation(None, None, depth, UNKNOWN, (_unclear(rate, None),))
    return _rooted(rate, rate * (depth + 1), frozenset({depth + 1}))


def _over_one(rate: float) -> Notice:
    text = f"SGLang reports acceptance rate {rate:.4g}; over 1 is impossible (old versions), so it was refused."
    return Notice("rate_over_one", text)


def _unclear(rate: float, length: float | None) -> Notice:
    seen = f"rate {rate:.4g}" if length is None else f"rate {rate:.4g} at length {length:.4g}"
    text = f"SGLang's {seen} fits no single formula of its versions; accepted / draft tokens is unknown."
    return Notice("rate_formula_unknown", text)


@dataclass(slots=True)
class Evidence:
    """Collects reports of one engine until they agree on one formula: versions do not change between two lines."""

    rounding: float
    _strict: frozenset[int] | None = None
    _rooted: frozenset[int] | None = None
    _always_strict: bool = True
    _always_rooted: bool = True
    _seen: set[tuple[float, float]] = field(default_factory=set)

    def add(self, rate: float, length: float) -> None:
        """Take one report into account; rates near 0 or over 1 say nothing about the formula."""
        if not self.rounding < rate <= 1.0 or length < 1.0:
            return
        if (rate, length) in self._seen or len(self._seen) >= MAX_EVIDENCE:
            return
        self._seen.add((rate, length))
        found = candidates(rate, length, self.rounding)
        self._strict = found.strict if self._strict is None else self._strict & found.strict
        self._rooted = found.rooted if self._rooted is None else self._rooted & found.rooted
        self._always_strict &= bool(found.strict)
        self._always_rooted &= bool(found.rooted)

    def formula(self) -> bool | None:
        """True for strict, False for rooted, None while both or neither fit; constant slots decide first."""
        if bool(self._strict) != bool(self._rooted):
            return bool(self._strict)
        if not self._strict and self._seen and self._always_strict != self._always_rooted:
            return self._always_strict
        return None

    def slots(self) -> int | None:
        """The number of slots that fits every report, if there is exactly one."""
        strict = self.formula()
        fitting = (self._strict if strict else self._rooted) if strict is not None else None
        return min(fitting) if fitting and len(fitting) == 1 else None
