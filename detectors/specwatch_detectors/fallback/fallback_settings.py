"""Constants of the policy, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_detectors.fallback.level import Level


@dataclass(frozen=True, slots=True)
class FallbackSettings:
    """How readily the policy acts.

    Attributes:
        levels: that the deployment has; the first is home.
        margin: share by which another level must be better. 0.03: run-to-run noise of throughput is 1 to 2 %.
        switch_cost_s: seconds of the whole capacity that a switch costs (drain, cold prefix cache; a restart if
            there is no second pool). Regret must exceed it first: at most twice the cost of knowing the future.
        dwell_s: least time on a level. 900: alarms and autoscalers settle within a quarter of an hour.
        flips_per_day: switches in any 24 hours; at the limit the policy latches and somebody must look. 4: a drift
            with its return, and a second one; the last is kept for leaving.
        probe_first_s: wait from a fallback to the first probe. 600: a rollback of a bad deploy takes minutes.
        probe_most_s: longest wait; it doubles from probe to probe. 3,600: a probe takes 2 to 15 s of the capacity,
            one an hour at most 0.4 %, and an hour without a good draft about a third of it. The wait of least cost
            is sqrt(2 c D / g) for a probe's price c, drifts of length D and the share g that is lost meanwhile.
        probe_s: length of one probe, at most. 300: bounds within 3 % at 5 % of a busy pod.
        probe_wins: probes in a row that must pay before coming home. 2: one lucky probe is not a cure.
        least_effective: drafts over design effect behind a payoff. 30: below, its bounds are not to be trusted.
        stale_after_s: age of inputs at which nothing is done. 120: two lost rounds are no outage.
        gap_s: regret is counted over no more than this between two rounds. 600: what happened in a longer gap is
            not known.
        recall_s: how long what home gave when it was left says something of now. 3,600: traffic changes within
            hours.
        doubt_s: how long an estimate that turned out wrong is not believed. 86,400: at most one such mistake a day.
    """

    levels: tuple[Level, ...] = (Level.DRAFT, Level.NGRAM, Level.OFF)
    margin: float = 0.03
    switch_cost_s: float = 60.0
    dwell_s: float = 900.0
    flips_per_day: int = 4
    probe_first_s: float = 600.0
    probe_most_s: float = 3_600.0
    probe_s: float = 300.0
    probe_wins: int = 2
    least_effective: float = 30.0
    stale_after_s: float = 120.0
    gap_s: float = 600.0
    recall_s: float = 3_600.0
    doubt_s: float = 86_400.0

    def __post_init__(self) -> None:
        """Check the whole.

        Raises:
            ValueError: what is wrong, in one line.
        """
        depths = [level.depth for level in self.levels]
        if len(depths) < 2 or depths != sorted(set(depths)):
            raise ValueError("levels must be two or more, in the order draft, fewer, ngram, off, none twice")
        if not 0.0 <= self.margin < 0.5:
            raise ValueError(f"margin must be from 0 to 0.5, got {self.margin}")
        if self.flips_per_day < 2 or self.probe_wins < 1:
            raise ValueError("flips_per_day must be at least 2 (away and back) and probe_wins at least 1")
        times = (self.switch_cost_s, self.dwell_s, self.probe_first_s, self.probe_s, self.stale_after_s, self.gap_s)
        if (
            min(*times, self.recall_s, self.doubt_s, self.least_effective) < 0.0
            or self.probe_most_s < self.probe_first_s
        ):
            raise ValueError(
                "times and least_effective must not be negative, and probe_most_s not below probe_first_s"
            )

    @property
    def home(self) -> Level:
        """The level to come back to."""
        return self.levels[0]
