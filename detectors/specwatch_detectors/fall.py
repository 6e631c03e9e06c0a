"""The fall that a detector is gathering evidence of: when it began and what was counted since."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_detectors.window import NOTHING, Window


@dataclass(slots=True)
class Fall:
    """Begins with the first interval whose evidence is not gone again.

    Attributes:
        since: start of that interval, seconds; None while there is no evidence.
        counts: of all intervals from it on.
    """

    since: float | None = None
    counts: Window = NOTHING

    def take(self, observation: Window, began: float, *, quiet: bool) -> None:
        """One interval; `quiet` says that no evidence is left, which ends the fall."""
        if quiet:
            self.end()
            return
        if self.since is None:
            self.since = began
        self.counts += observation

    def end(self) -> None:
        """There is no evidence any more."""
        self.since, self.counts = None, NOTHING
