"""Settings of a monitor, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_detectors.threshold import Budget


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """How one stream is judged.

    Attributes:
        budget: false pages allowed; gives the threshold h.
        safety: factor on a design effect that a monitor measured itself, in hours. 1.5: it errs by about a third.
        profile_safety: factor on one that a profile brings. 1.2: estimates from a week err by about a tenth.
        watch_at: score from which the state is `watch`. 0.5: in 30 quiet days some intervals get there, few stay.
        learn_below: score under which the baseline may still learn. 0.3: above, drift would be learned as normal.
        least_effective: drafts over design effect since the onset before an alarm counts. 30: below, the normal
            approximation is not good enough to wake anybody.
        clear_threshold: nats of evidence for "as before" that end a drift. 6.9: while a drift of the mildest size
            lasts, one wrong clearance in 1,000 intervals; far fewer for a larger one.
        class_lag_s: seconds by which counts of classes may come after the total's: requests report when they end.
            60 is a long answer; nothing is said about the mix before.
        class_patience_s: seconds without counts of classes after which a drop of the total counts as drift, and for
            which a class without traffic still counts as drifted. 900: a request sidecar restarts in less.
        class_ripening_s: seconds after which a drop of the total counts as drift although classes too young to tell
            may explain it. A day: most have a baseline by then, and what gets worse meanwhile shows in the others.
        history_chunk_s: how finely the last hour is kept for explanations. 15: an onset is known no better.
        payoff_half_life_s: how fast old evidence on the payoff fades. 300 gives bounds of a few percent.
        stale_after_s: seconds without drafts after which the state is `cannot_tell`.
    """

    budget: Budget = Budget()  # noqa: RUF009 - immutable
    safety: float = 1.5
    profile_safety: float = 1.2
    watch_at: float = 0.5
    learn_below: float = 0.3
    least_effective: float = 30.0
    clear_threshold: float = 6.9
    class_lag_s: float = 60.0
    class_patience_s: float = 900.0
    class_ripening_s: float = 86_400.0
    history_chunk_s: float = 15.0
    payoff_half_life_s: float = 300.0
    stale_after_s: float = 300.0
