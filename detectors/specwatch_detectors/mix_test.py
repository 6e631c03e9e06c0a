"""Mix or draft? A drop of all traffic is asked: do the classes accept less, or is there more of the poorer ones?

Formula, over the classes c whose baseline q_c was known when the drop began, with s_j accepted of n_j tried since:

    E = sum_c sum_j n_j q_j,   x = sum_c sum_j (n_j q_j - s_j) / E
    e^2 = sum_c d_c sum_j n_j q_j (1 - q_j) (1 + n_j / m_j) / E^2
    l = (g x - g^2 / 2) / e^2

x is the share of acceptance that was lost within classes; e its standard error, with d_c the design effect of class
c and m_j the trials that its baseline comes from, so that a young baseline speaks as softly as it should. l is the
log-likelihood ratio of "the classes lost g" over "they lost nothing". l <= -4.6: the mix. l >= 6.9: the draft.

Parameters: g is the drop of the total, or 7 % if that is less, and at least 6 standard errors of the baselines:
where even the drop of the total is smaller than those nothing is decided. Errors by Wald: 1 % for "the mix", which
takes no alarm away from the classes' own tests, and 0.1 % for "the draft", which pages.

Guarantees: those of Wald's test, as far as d is right. Classes that were not known when the drop began say nothing.

Failure modes: a drop within classes that is much smaller than the drop of the total, and under half of g, counts as
mix; the classes' own tests find it. A change inside a class (longer prompts) is a change.

Source: Wald 1945; the split into mix and within: Kitagawa 1955.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from specwatch_detectors.baseline import Baseline
from specwatch_detectors.drift_monitor import DriftMonitor
from specwatch_detectors.window import NOTHING, Window

_MIX_IS: Final = -4.6
_DRAFT_IS: Final = 6.9
_NOT_ANY_MORE: Final = -6.9
"""Evidence that takes "the draft" back, 0.1 %: a page is not ended lightly."""
_SIZE: Final = 0.07
_LEAST: Final = 0.03
_SURE: Final = 6.0


class MixVerdict(StrEnum):
    """The three answers."""

    OPEN = "open"
    MIX = "mix"
    DRAFT = "draft"


class _Known(NamedTuple):
    """What a stream was like when the drop began."""

    baseline: Baseline
    design: float


class _Lost(NamedTuple):
    """Accepted tokens that the baseline lets expect, those that are missing, and the variances of both sides."""

    expected: float = 0.0
    missing: float = 0.0
    noise: float = 0.0
    doubt: float = 0.0

    def plus(self, other: _Lost) -> _Lost:
        """Both streams together."""
        return _Lost(*(one + two for one, two in zip(self, other, strict=True)))


class MixTest:
    """One question after the other: each drop of the total is asked for anew.

    Args:
        depth: draft tokens per draft, for engines without positions.
        least_effective: drafts over design effect before anything is decided.
        state: what `state` of a predecessor gave.

    Attributes:
        verdict: the answer so far; "mix" stays until the question ends.
    """

    def __init__(self, depth: int, least_effective: float, state: Mapping[str, Any] | None = None) -> None:
        self._depth = depth
        self._least_effective = least_effective
        self._total: _Known | None = None
        self._known: dict[str, _Known] = {}
        self._after: dict[str, Window] = {}
        self._all = NOTHING
        self.verdict = MixVerdict.OPEN
        if state is not None:
            self._total = None if state["whole"] is None else _read(state["whole"])
            self._known = {name: _read(kept) for name, kept in state["known"].items()}
            self._after = {name: Baseline.from_json(kept).counts for name, kept in state["after"].items()}
            self._all = Baseline.from_json(state["all"]).counts
            self.verdict = MixVerdict(state["verdict"])

    @property
    def asked(self) -> bool:
        """A drop has begun, and what was known before it is kept."""
        return self._total is not None

    @property
    def unknown(self) -> dict[str, float]:
        """Classes without a baseline from before the drop, which say nothing, with their share of the drafts."""
        every = sum(window.drafts for window in self._after.values())
        new = {name: window.drafts / every for name, window in self._after.items() if name not in self._known}
        return dict(sorted(new.items()))

    def ask(self, total: DriftMonitor, classes: Mapping[str, DriftMonitor]) -> None:
        """A drop begins: keep what is known, before any baseline learns from it."""
        self._total = _Known(total.bank.baseline, total.bank.design)
        self._known = {
            name: _Known(own.bank.baseline, own.bank.design)
            for name, own in sorted(classes.items())
            if own.bank.members
        }

    def take(self, total: Window, classes: Mapping[str, Window]) -> None:
        """One interval of the drop, once the classes' counts are of the same time as the total's."""
        if self.verdict is MixVerdict.MIX or self._total is None:
            return
        self._all += total
        for name, window in classes.items():
            self._after[name] = self._after.get(name, NOTHING) + window
        evidence = self.evidence
        if evidence >= _DRAFT_IS:  # the next look begins afresh, so that a repair is seen
            self.verdict, self._after, self._all = MixVerdict.DRAFT, {}, NOTHING
        elif evidence <= (_MIX_IS if self.verdict is MixVerdict.OPEN else _NOT_ANY_MORE):
            self.verdict = MixVerdict.MIX

    @property
    def evidence(self) -> float:
        """Nats for "the draft" over "the mix"; 0 where the baselines are too young for the size of the drop."""
        lost = _Lost()
        effective = 0.0
        for name, known in self._known.items():
            seen = self._after.get(name, NOTHING)
            if seen.drafts > 0.0:
                lost = lost.plus(_lost(seen, known, self._depth))
                effective += seen.drafts / known.design
        size = self._size(lost)
        variance = lost.noise + lost.doubt
        if size is None or effective < self._least_effective or variance <= 0.0:
            return 0.0
        return (size * lost.missing - size**2 / 2.0 * lost.expected) * lost.expected / variance

    def _size(self, lost: _Lost) -> float | None:
        """The loss that is tested for, as a share; None where nothing that small can be seen."""
        if self._total is None or lost.expected <= 0.0:
            return None
        whole = _lost(self._all, self._total, self._depth)
        drop = max(_LEAST, whole.missing / whole.expected) if whole.expected > 0.0 else _LEAST
        size = max(_SURE * math.sqrt(lost.doubt) / lost.expected, min(drop, _SIZE))
        return None if size > drop else size

    def end(self) -> None:
        """The total is as before, or the engine has changed: the question is over."""
        self._total, self._known, self._after, self._all = None, {}, {}, NOTHING
        self.verdict = MixVerdict.OPEN

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "whole": None if self._total is None else _written(self._total),
            "known": {name: _written(known) for name, known in self._known.items()},
            "after": {name: Baseline(window).as_json() for name, window in self._after.items()},
            "all": Baseline(self._all).as_json(),
            "verdict": self.verdict.value,
        }


def _lost(seen: Window, known: _Known, depth: int) -> _Lost:
    baseline, design = known
    if seen.accepted and baseline.q:
        found = _Lost()
        for kept, tried, q, learned in zip(
            seen.accepted, seen.trials, baseline.q, baseline.counts.trials, strict=False
        ):
            noise = design * tried * q * (1.0 - q)
            found = found.plus(_Lost(tried * q, tried * q - kept, noise, noise * tried / learned))
        return found
    mean = baseline.mean_accepted
    if mean is None:
        return _Lost()
    noise = design * seen.drafts * baseline.variance(depth)
    expected = seen.drafts * mean
    return _Lost(expected, expected - seen.accepted_tokens, noise, noise * seen.drafts / baseline.counts.drafts)


def _written(known: _Known) -> dict[str, Any]:
    return {"baseline": known.baseline.as_json(), "design": known.design}


def _read(kept: Mapping[str, Any]) -> _Known:
    return _Known(Baseline.from_json(kept["baseline"]), float(kept["design"]))
