"""How a pod gets from one level to another, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bench_fallback.plan import PODS

VERIFY_S: Final = 60.0
"""Seconds that a staged movement waits after each stage, to look at errors and latency."""

STAGES: Final = (1, 5, PODS)
"""Pods on the new level after each stage: 5 %, 25 %, all."""


@dataclass(frozen=True)
class Lever:
    """One lever.

    Attributes:
        name: of it.
        out_s: seconds for which a pod that changes serves nobody.
        at_once: pods that may be out together.
        cold_s: seconds in which the prefix cache of a changed pod warms up (1/e).
        switch_cost_s: what the policy is told that a switch costs, seconds of the whole capacity.
        words: what it stands for.
    """

    name: str
    out_s: float
    at_once: int
    cold_s: float
    switch_cost_s: float
    words: str


LEVERS: Final = {
    "pools": Lever(
        "pools",
        20.0,
        5,
        120.0,
        60.0,
        "a second set of pods asleep on the same GPUs; one takes 20 s to change places",
    ),
    "rollout": Lever(
        "rollout", 150.0, 5, 120.0, 180.0, "one Deployment; a pod restarts in 150 s, five pods at a time"
    ),
}
IN_ENGINE: Final = Lever("in the engine", 0.0, PODS, 0.0, 0.0, "the engine stops drafting between two steps")
