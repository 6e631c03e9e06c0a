"""Constants of carrying a decision out, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransitionSettings:
    """How carefully traffic is moved.

    Attributes:
        watch_s: how long a step that has settled is watched before the next. 60: two scrapes of everything.
        watch_most_s: how long at most, while little is seen. 300: then it goes on.
        settle_s: time for a step to settle; then it is undone. 1,200: a large model loads in minutes.
        backoff_s: wait after the first failure that may pass; it doubles. 5: a conflict passes at once.
        backoff_most_s: longest such wait. 300: an API server is back within minutes.
        tries: failures in a row that may pass before it is given up. 6: two and a half minutes by the waits above.
        resume_s: age of the last entry from which a half done movement is taken back after a restart, not gone on
            with. 1,800: what was decided then may no longer hold, and another controller may have led since.
        refused_s: wait after a movement was refused or given up. 900: somebody has to mend something first.
    """

    watch_s: float = 60.0
    watch_most_s: float = 300.0
    settle_s: float = 1200.0
    backoff_s: float = 5.0
    backoff_most_s: float = 300.0
    tries: int = 6
    resume_s: float = 1800.0
    refused_s: float = 900.0

    def __post_init__(self) -> None:
        """Check the whole.

        Raises:
            ValueError: what is wrong, in one line.
        """
        times = (self.watch_s, self.settle_s, self.resume_s, self.refused_s)
        if (
            min(times) < 0.0
            or self.backoff_s <= 0.0
            or self.watch_most_s < self.watch_s
            or self.backoff_most_s < self.backoff_s
        ):
            raise ValueError(
                "times must not be negative, backoff_s above 0, and the longest ones not below the first"
            )
        if self.tries < 1:
            raise ValueError("tries must be at least 1")

    def backoff(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row."""
        return float(min(self.backoff_most_s, self.backoff_s * 2.0 ** min(failures - 1, 30)))
