"""Which drafter wins at each batch size, where speculation hurts, and the batch from which on it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from specwatch_bench.profile_table import Price, Range
from specwatch_bench.report_cell import CellReport
from specwatch_bench.report_draws import Floats, interval
from specwatch_bench.report_target import Target

_SURE: Final = 0.95
_WORTH_SAYING: Final = 0.05


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


class Effect(StrEnum):
    """What speculation did to the output tokens per second."""

    HELPS = "helps"
    HURTS = "hurts"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Speedup:
    """One drafter at one batch size.

    Attributes:
        engine: its name.
        label: in words.
        batch: requests in flight.
        draws: S with its draws.
        modelled: S comes from step times, because the cell itself cannot be published.
        stalled: how much of its cell stood still, in words; empty for less than a twentieth.
    """

    engine: str
    label: str
    batch: int
    draws: Floats
    modelled: bool = False
    stalled: str = ""

    @property
    def range(self) -> Range:
        """S with its 95 % interval."""
        return interval(self.draws)

    @property
    def effect(self) -> Effect:
        """Whether the whole interval lies on one side of 1."""
        seen = self.range
        return Effect.HELPS if seen.lower > 1.0 else Effect.HURTS if seen.upper < 1.0 else Effect.UNCLEAR


@dataclass(frozen=True, slots=True)
class Verdict:
    """One batch size.

    Attributes:
        batch: requests in flight.
        speedups: best first.
        level: labels that the best one does not beat in 95 % of the draws, the best one's first.
    """

    batch: int
    speedups: tuple[Speedup, ...]
    level: tuple[str, ...]

    @property
    def words(self) -> str:
        """The verdict in one sentence."""
        best = self.speedups[0]
        return f"{self._of(best)}; {best.stalled}" if best.stalled else self._of(best)

    def _of(self, best: Speedup) -> str:
        if best.effect is Effect.HELPS:
            rest = self.level[1:]
            beside = f", not told apart from {listed(rest)}" if rest else ""
            verb = "leads" if rest else "wins"
            return f"**{best.label}** {verb} with {best.range.value:.2f}x{beside}{self._hurt()}"
        if best.effect is Effect.HURTS:
            return f"speculation **hurts**: the best drafter gives {best.range.value:.2f}x" + (
                "" if best.stalled else "; leave it off"
            )
        return f"no drafter is shown to help; the best is {best.label} with {best.range.value:.2f}x{self._hurt()}"

    def _hurt(self) -> str:
        hurt = [one.label for one in self.speedups if one.effect is Effect.HURTS]
        return f"; {listed(hurt)} **{'hurts' if len(hurt) == 1 else 'hurt'}**" if hurt else ""


@dataclass(frozen=True, slots=True)
class Crossover:
    """The batch above which a drafter gives less than no speculation.

    Attributes:
        label: the drafter.
        batch: with its interval; None where no batch was measured from which on it always loses.
        words: for people.
    """

    label: str
    batch: Range | None
    words: str


def _stalled(cell: CellReport) -> str:
    steps = cell.steps
    if steps is None or steps.refused or steps.stalled_share < _WORTH_SAYING:
        return ""
    return f"{steps.stalled_s:.1f} of its {steps.seconds:.0f} s stood still"


def speedups_of(target: Target) -> tuple[Speedup, ...]:
    """All pairs of a target on the shared data set; where a cell is not published, S from step times stands in."""
    shared = target.shared
    found = {
        (pair.own.engine, pair.own.batch): Speedup(
            pair.own.engine, target.label(pair.own.engine), pair.own.batch, pair.speedup, stalled=_stalled(pair.own)
        )
        for pair in target.pairs()
        if pair.own.dataset == shared and pair.own.batch is not None and pair.own.head["level"]["repeat"] == 1
    }
    prices = {(price.method, price.depth, price.batch): price for price in target.table.prices}
    for cell in target.cells:
        if cell.steps is None or cell.dataset != shared or (cell.engine, cell.batch) in found:
            continue
        price = prices.get((cell.steps.method, cell.steps.depth, cell.steps.batch))
        if price is not None:
            rates = cell.head.get("synthetic_acceptance")
            draws = gained(price, None if rates is None else 1.0 + price.own.share * sum(rates))
            one = Speedup(cell.engine, target.label(cell.engine), cell.steps.batch, draws, modelled=True)
            found[cell.engine, cell.steps.batch] = one
    return tuple(found.values())


def gained(price: Price, length: float | None = None) -> Floats:
    """S that step times give, with its draws: tokens per second at the run's own lengths and prompts.

    Args:
        price: a drafter at one batch size.
        length: tokens per request and step in place of the run's own.
    """
    own, plain = price.own, price.plain
    kept = own.length if length is None else length
    mine = kept / (own.seconds + own.prefill * own.prompt_per_output * kept * price.batch)
    base = 1.0 / (plain.seconds + plain.prefill * plain.prompt_per_output * price.batch)
    return np.asarray(mine / base)


def verdicts_of(speedups: Sequence[Speedup]) -> tuple[Verdict, ...]:
    """A verdict for each batch size, ascending."""
    by_batch: dict[int, list[Speedup]] = {}
    for one in speedups:
        by_batch.setdefault(one.batch, []).append(one)
    return tuple(_verdict(batch, found) for batch, found in sorted(by_batch.items()))


def _verdict(batch: int, found: Sequence[Speedup]) -> Verdict:
    ordered = sorted(found, key=lambda one: -one.range.value)
    best = ordered[0]
    level = [one.label for one in ordered[1:] if float(np.mean(best.draws[1:] > one.draws[1:])) < _SURE]
    return Verdict(batch, tuple(ordered), (best.label, *level))


def crossovers_of(speedups: Sequence[Speedup]) -> tuple[Crossover, ...]:
    """The crossover of each drafter, in the order in which they come."""
    by_engine: dict[str, dict[int, Speedup]] = {}
    for one in speedups:
        by_engine.setdefault(one.engine, {})[one.batch] = one
    return tuple(_crossover(dict(sorted(found.items()))) for found in by_engine.values() if len(found) > 1)


def _crossover(found: Mapping[int, Speedup]) -> Crossover:
    label = next(iter(found.values())).label
    batches = np.log2(np.array(list(found), dtype=float))
    curves = np.array([one.draws for one in found.values()]).T
    crossings = np.array([_last_crossing(batches, curve) for curve in curves])
    first, last = min(found), max(found)
    if crossings[0] == -np.inf:
        return Crossover(label, None, f"never pays: below 1x at every measured batch, {first} to {last}")
    if crossings[0] == np.inf:
        short = float(np.mean(crossings[1:] < np.inf))
        doubt = f" ({short:.0%} of the draws fall below 1x before)" if short > 0 else ""
        return Crossover(label, None, f"not reached by {last}{doubt}")
    at = np.exp2(np.where(np.isfinite(crossings), crossings, np.where(crossings > 0, batches[-1], batches[0])))
    seen = interval(at)
    lower = f"below {first}" if seen.lower <= first else f"{seen.lower:.0f}"
    upper = f"above {last}" if seen.upper >= last else f"{seen.upper:.0f}"
    early = [str(batch) for batch, one in found.items() if batch < seen.value and one.effect is Effect.HURTS]
    also = f"; hurts at {listed(early)} too" if early else ""
    return Crossover(label, seen, f"{seen.value:.0f} ({lower} to {upper}){also}")


def _last_crossing(batches: Floats, curve: Floats) -> float:
    """Where a curve over log2 of the batch last falls through 1; inf if its end is above, -inf if all is below."""
    if curve[-1] > 1.0:
        return float(np.inf)
    above = np.flatnonzero(curve > 1.0)
    if not above.size:
        return float(-np.inf)
    at = int(above[-1])
    share = (curve[at] - 1.0) / (curve[at] - curve[at + 1])
    return float(batches[at] + share * (batches[at + 1] - batches[at]))
