"""How fast pods with GPUs are added and taken away: quickly up, slowly down, by their start-up time."""

from __future__ import annotations

from typing import Final

from specwatch_deploy.scale.hpa_behavior import KUBERNETES_DEFAULT, Behavior, Policy, PolicyType, ScalingRules

LEAST_WINDOW_S: Final = 180
MOST_WINDOW_S: Final = 1800
"""An HPA takes up to an hour; a pod that nobody needed for half an hour is not needed."""

_MOST_PERIOD_S: Final = 1800


def gpu_behavior(start_up_s: int, window_s: int | None = None) -> Behavior:
    """Behaviour for pods with that start-up time.

    Up: as Kubernetes does by itself, since the demand has its own limit. Down: to the most that was wanted in
    three start-up times (3 to 30 minutes), half of the pods per start-up time at most: who takes a pod away too
    early pays its start again.

    Args:
        start_up_s: from asking for a pod to its first request.
        window_s: for scaling in, if it is not to follow from that.
    """
    window = min(MOST_WINDOW_S, max(LEAST_WINDOW_S, 3 * start_up_s)) if window_s is None else window_s
    return Behavior(
        up=KUBERNETES_DEFAULT.up,
        down=ScalingRules(window, (Policy(PolicyType.PERCENT, 50, min(_MOST_PERIOD_S, max(60, start_up_s))),)),
    )
