"""The fall that a detector is gathering evidence of: when it began and what was counted since."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specwatch_detectors.baseline import Baseline
from specwatch_detectors.window import NOTHING, Window

MOST_PARTS: Final = 32
"""Parts kept apart; with more, the smallest neighbours are joined: a beginning long ago is known less sharply."""
_FADE: Final = 0.995
"""Weight of what was counted in a drift, an interval later: the last 200 intervals count."""


@dataclass(slots=True)
class Fall:
    """Begins with the first interval whose evidence is not gone again; `onset` says when it most likely began.

    Attributes:
        since: start of that interval, seconds; None while there is no evidence.
        counts: of all intervals from it on.
    """

    since: float | None = None
    counts: Window = NOTHING
    _parts: list[tuple[float, Window]] = field(default_factory=list)

    def take(self, observation: Window, began: float, *, quiet: bool) -> None:
        """One interval with drafts; `quiet` says that no evidence is left, which ends the fall."""
        if quiet:
            self.end()
            return
        if self.since is None:
            self.since = began
        self.counts += observation
        self._parts.append((began, observation))
        if len(self._parts) > MOST_PARTS:
            self._join()

    def _join(self) -> None:
        """Make one part of the two neighbours that have the fewest drafts together."""
        parts = self._parts
        least = min(range(len(parts) - 1), key=lambda at: parts[at][1].drafts + parts[at + 1][1].drafts)
        (began, one), (_, other) = parts[least : least + 2]
        parts[least : least + 2] = [(began, one + other)]

    def onset(self, baseline: Baseline, depth: int) -> tuple[float | None, Window]:
        """The most likely beginning, and the counts from it on: evidence gathers before a fall, too, by chance.

        Of all beginnings it is the one from which on the fewest tokens were kept for what the baseline lets expect,
        (expected - kept)^2 / variance: the likelihood ratio of a change of unknown size, for many drafts.

        Args:
            baseline: what is expected.
            depth: draft tokens per draft, for engines without positions.
        """
        best, since, counts, from_here = 0.0, self.since, self.counts, NOTHING
        for began, observation in reversed(self._parts):
            from_here += observation
            found = _shortfall(from_here, baseline, depth)
            if found > best:
                best, since, counts = found, began, from_here
        return since, counts

    def settle(self, baseline: Baseline, depth: int) -> None:
        """It is an alarm: from now on it began when it most likely did."""
        self.since, self.counts = self.onset(baseline, depth)
        self._parts = []

    def hold(self, observation: Window) -> None:
        """The fall is an alarm and lasts: keep what acceptance is like in it."""
        self.counts = self.counts.scaled(_FADE) + observation

    def rebase(self, now: float) -> None:
        """Kept times in the future are moved to now."""
        self.since = None if self.since is None else min(self.since, now)
        self._parts = [(min(began, now), seen) for began, seen in self._parts]

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        parts = [[began, Baseline(seen).as_json()] for began, seen in self._parts]
        return {"since": self.since, "counts": Baseline(self.counts).as_json(), "parts": parts}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Fall:
        """Go on from what `state` gave.

        Raises:
            KeyError, TypeError, ValueError: it is not the state of a fall.
        """
        since = None if state["since"] is None else float(state["since"])
        parts = [(float(began), Baseline.from_json(seen).counts) for began, seen in state["parts"]]
        return cls(since, Baseline.from_json(state["counts"]).counts, parts)

    def begin_anew(self, since: float, counts: Window) -> None:
        """It is another fall than before, that began later."""
        self.since, self.counts, self._parts = since, counts, []

    def end(self) -> None:
        """There is no evidence any more."""
        self.since, self.counts, self._parts = None, NOTHING, []


def _shortfall(seen: Window, baseline: Baseline, depth: int) -> float:
    """Tokens that the baseline lets expect and that were not kept, in standard errors of independent drafts."""
    if seen.accepted:
        rows = [(kept, tried, q) for kept, tried, q in zip(seen.accepted, seen.trials, baseline.q, strict=False)]
        missing = sum(tried * q - kept for kept, tried, q in rows)
        variance = sum(tried * q * (1.0 - q) for _, tried, q in rows)
    else:
        missing = seen.drafts * (baseline.mean_accepted or 0.0) - seen.accepted_tokens
        variance = seen.drafts * baseline.variance(depth)
    return missing / math.sqrt(variance) if variance > 0.0 else 0.0
