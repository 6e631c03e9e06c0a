"""Synthetic traffic to try the detectors on: no engine and no GPU, the same for the same seed, and no measurement.

Requests of two classes follow each other on a few slots. Each request has an acceptance of its own around that of
its class (logit-normal), a length of its own (log-normal), and the load has a daily cycle, so that counts spread as
clusters do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Final

from specwatch_detectors.chain import Chain

MODEL: Final = "example-70b"
START: Final = 1_772_409_600.0
"""2026-03-02 00:00:00 UTC."""
SLOTS: Final = 16
STEP_S: Final = 0.03
CLASSES: Final[dict[str, Chain]] = {"chat": (0.62, 0.60, 0.60), "code": (0.82, 0.80, 0.79)}
CODE_SHARE: Final = 0.5
CODE_SHARE_AFTER: Final = 0.1
STALE_RATIO: Final = 0.92
_SPREAD: Final = 0.5
_MEAN_LOG_DRAFTS: Final = 5.2
_SD_LOG_DRAFTS: Final = 0.7
_MAX_DRAFTS: Final = 1500
_EXACT_BELOW: Final = 9.0
_HEADER: Final = "time,model,class,target,draft,method,k,drafts,accepted_1,accepted_2,accepted_3"

MADE_UP: Final = "# Synthetic traffic, no measurement:"
"""How such a file begins."""


class Kind(StrEnum):
    """What happens in an example."""

    QUIET = "quiet"
    STALE_DRAFT = "stale-draft"
    MIX_SHIFT = "mix-shift"


@dataclass(frozen=True, slots=True)
class Example:
    """An example.

    Attributes:
        kind: what happens in it.
        hours: its length.
        interval_s: seconds of an interval.
        change_hour: when it happens: the target moves one version on and the draft stays (every conditional
            acceptance times 0.92), or the share of code falls from 50 % to 10 %.
        seed: another number gives other traffic.
    """

    kind: Kind
    hours: float = 6.0
    interval_s: float = 10.0
    change_hour: float = 4.0
    seed: int = 1

    @property
    def change_at(self) -> float:
        """Time of the change, epoch seconds."""
        return START + self.change_hour * 3600.0

    def lines(self) -> Iterator[str]:
        """The lines of its CSV file, with what it is in the first."""
        yield f"{MADE_UP} specwatch detect example, kind {self.kind}, seed {self.seed}."
        yield _HEADER
        traffic = _Traffic(Random(self.seed))  # noqa: S311 - an example, no secret
        for number in range(1, round(self.hours * 3600.0 / self.interval_s) + 1):
            at = START + number * self.interval_s
            changed = self.kind is not Kind.QUIET and at > self.change_at
            stale = changed and self.kind is Kind.STALE_DRAFT
            share = CODE_SHARE_AFTER if changed and self.kind is Kind.MIX_SHIFT else CODE_SHARE
            counts = traffic.interval(at, self.interval_s, share, STALE_RATIO if stale else 1.0)
            target = "70b-v2" if stale else "70b-v1"
            for name, values in counts.items():
                numbers = ",".join(map(str, values))
                yield f"{at:.0f},{MODEL},{name},{target},head-v1,eagle3,3,{numbers}"


@dataclass(slots=True)
class _Request:
    name: str
    q: Chain
    drafts: int


@dataclass(slots=True)
class _Traffic:
    random: Random
    slots: list[_Request | None] = field(default_factory=lambda: [None] * SLOTS)

    def interval(self, at: float, seconds: float, code_share: float, ratio: float) -> dict[str, list[int]]:
        """Drafts and accepted by position, per class."""
        found = {name: [0, 0, 0, 0] for name in CLASSES}
        load = 0.7 + 0.3 * math.sin(2.0 * math.pi * (at - START) / 86_400.0)
        for slot in range(SLOTS):
            left = round(load * seconds / STEP_S)
            while left > 0:
                request = self.slots[slot]
                if request is None:
                    request = self.slots[slot] = self._request(code_share)
                taken = min(left, request.drafts)
                self._draft(found[request.name], request.q, taken, ratio)
                left -= taken
                request.drafts -= taken
                if request.drafts == 0:
                    self.slots[slot] = None
        return found

    def _request(self, code_share: float) -> _Request:
        name = "code" if self.random.random() < code_share else "chat"
        shift = self.random.gauss(0.0, _SPREAD)
        drafts = min(_MAX_DRAFTS, 1 + round(self.random.lognormvariate(_MEAN_LOG_DRAFTS, _SD_LOG_DRAFTS)))
        return _Request(name, tuple(_shifted(value, shift) for value in CLASSES[name]), drafts)

    def _draft(self, counts: list[int], q: Chain, drafts: int, ratio: float) -> None:
        counts[0] += drafts
        reached = drafts
        for position, value in enumerate(q, start=1):
            reached = self._binomial(reached, ratio * value)
            counts[position] += reached

    def _binomial(self, count: int, share: float) -> int:
        """Successes of `count` trials; normal where that is as good."""
        variance = count * share * (1.0 - share)
        if variance < _EXACT_BELOW:
            return sum(self.random.random() < share for _ in range(count))
        return min(count, max(0, round(self.random.gauss(count * share, math.sqrt(variance)))))


def _shifted(share: float, shift: float) -> float:
    """A probability moved by `shift` on the logit scale."""
    return 1.0 / (1.0 + (1.0 - share) / share * math.exp(-shift))
