"""Under what a run was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench_proxy.percentile import percentile
from bench_proxy.quiet import QUIET_SHARE


@dataclass(frozen=True)
class Conditions:
    """What a reader must know beside the figures.

    Attributes:
        date: day of the run.
        machine: what `describe_machine` says.
        rounds: how many were made.
        others: share of all processors that others used, for every visit that was kept.
        load_before: load average of one minute when measuring began.
        load_after: at the end; this run's own load is in it.
        minutes: how long measuring took, what was repeated included.
    """

    date: str
    machine: str
    rounds: int
    others: Sequence[float]
    load_before: float
    load_after: float
    minutes: float

    def lines(self) -> list[str]:
        """As text."""
        disturbed = sum(share > QUIET_SHARE for share in self.others)
        usual, most = percentile(self.others, 50), max(self.others)
        visits = f"{disturbed} of {len(self.others)} visits had more than {QUIET_SHARE:.0%}"
        return [
            f"{self.date}; {self.machine}; {self.rounds} rounds, {self.minutes:.1f} minutes.",
            f"Others used {usual:.0%} of the machine at the median and {most:.0%} at most; {visits}.",
            f"Load average {self.load_before:.2f} when it began, {self.load_after:.2f} at the end, own included.",
        ]
