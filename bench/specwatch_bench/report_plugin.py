"""What specwatch's plugin inside vLLM costs: each cell with it beside the same cell without it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from specwatch_bench.profile_estimate import estimate
from specwatch_bench.profile_table import Range
from specwatch_bench.report_cell import CellReport
from specwatch_bench.report_draws import Floats, interval
from specwatch_bench.report_target import Target
from specwatch_bench.student_mean import mean_of

_LIKE: Final = ("kind", "model", "arguments", "speculative", "acceptance", "body")


@dataclass(frozen=True, slots=True)
class PluginPair:
    """A cell with the plugin and its counterpart.

    Attributes:
        own: with the plugin.
        step: time of a step without prefill over that without the plugin.
        extra: microseconds that a step takes longer.
        rate: output tokens per second over those without the plugin.
    """

    own: CellReport
    step: Floats
    extra: Floats
    rate: Floats


@dataclass(frozen=True, slots=True)
class StartPair:
    """A cell and the same cell of another start, both without the plugin.

    Attributes:
        other: the target that has the other start.
        step: time of a step without prefill over that of the other start.
        rate: the same of output tokens per second.
    """

    other: Target
    step: float
    rate: float


@dataclass(frozen=True, slots=True)
class PluginCost:
    """All pairs together.

    Attributes:
        pairs: number of them.
        step: mean quotient of step times with Student's interval between the pairs; no width with one pair.
        rate: the same of output tokens per second.
        extra_us: mean of what a step takes longer.
    """

    pairs: int
    step: Range
    rate: Range
    extra_us: float


def plugin_pairs(target: Target) -> Iterator[PluginPair]:
    """Every cell with the plugin that has a counterpart which differs in the plugin alone."""
    plain = {_place(cell): cell for cell in reversed(target.published) if cell.plugin is None}
    for cell in target.published:
        other = plain.get(_place(cell)) if cell.plugin is not None else None
        if other is None or not (_timed(cell) and _timed(other)):
            continue
        own, bare = _seconds(cell), _seconds(other)
        yield PluginPair(cell, own / bare, (own - bare) * 1e6, cell.tok_s / other.tok_s)


def start_pairs(target: Target, targets: Sequence[Target]) -> Iterator[StartPair]:
    """The cells without the plugin beside the same cells of other targets: what another start makes of them."""
    own = {_same(cell): cell for cell in reversed(target.published) if cell.plugin is None}
    for other in targets:
        for cell in other.published if other is not target else ():
            here = own.get(_same(cell))
            if here is None or cell.plugin is not None or not (_timed(cell) and _timed(here)):
                continue
            ratio = float(_seconds(here)[0] / _seconds(cell)[0]), float(here.tok_s[0] / cell.tok_s[0])
            yield StartPair(other, *ratio)


def _timed(cell: CellReport) -> bool:
    return cell.steps is not None and not cell.steps.refused


def _seconds(cell: CellReport) -> Floats:
    return estimate([cell.steps]).seconds if cell.steps is not None else np.full(1, math.nan)


def _same(cell: CellReport) -> tuple[str, str, str]:
    """Like `_place`, where acceptance may be set for other classes, too."""
    told = [name for name in _LIKE if name != "acceptance"]
    return _key(cell, told, cell.head.get("synthetic_acceptance"), cell.head.get("version"))


def _place(cell: CellReport) -> tuple[str, str, str]:
    return _key(cell, _LIKE)


def _key(cell: CellReport, told: Sequence[str], *more: object) -> tuple[str, str, str]:
    engine: Mapping[str, Any] = cell.head["engine"]
    return repr([*(engine.get(name) for name in told), *more]), cell.load, cell.dataset


def plugin_cost(pairs: list[PluginPair]) -> PluginCost:
    """One figure of one or more pairs; quotients are averaged by their logarithm."""
    return PluginCost(
        pairs=len(pairs),
        step=_mean([float(pair.step[0]) for pair in pairs]),
        rate=_mean([float(pair.rate[0]) for pair in pairs]),
        extra_us=float(np.mean([pair.extra[0] for pair in pairs])),
    )


def _mean(quotients: list[float]) -> Range:
    found = mean_of([math.log(one) for one in quotients])
    half = found.half or 0.0
    return Range(math.exp(found.value), math.exp(found.value - half), math.exp(found.value + half))


def pair_words(draws: Floats, digits: int) -> str:
    """A quotient with the 95 % interval within its runs."""
    seen = interval(draws)
    return f"{seen.value:.{digits}f} ({seen.lower:.{digits}f} to {seen.upper:.{digits}f})"
