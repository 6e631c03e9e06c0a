"""How a run did: cost and service."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from specwatch_deploy.scale.simulation.world import Ran

WARM_UP_S: Final = 300.0
TAIL_S: Final = 30.0
"""Requests that arrive so shortly before the end are not judged: nobody saw how long they waited."""


@dataclass(frozen=True, slots=True)
class Score:
    """Figures of one run, without its first minutes.

    Attributes:
        pod_seconds: from asking for a pod to its end, drained.
        attained: share of requests that were scheduled within the objective and not lost.
        waits: p50, p95 and p99 of the queue wait, seconds; infinite if that many never started.
        least: fewest replicas asked for.
        most: most.
        changes: how often the number changed.
        turns: how often its direction changed.
    """

    pod_seconds: float
    attained: float
    waits: tuple[float, float, float]
    least: int
    most: int
    changes: int
    turns: int


def judge(ran: Ran, wait_slo_s: float) -> Score:
    """Judge a run."""
    end = ran.seconds - TAIL_S
    judged = [request for request in ran.requests if WARM_UP_S <= request.arrived < end]
    waits = sorted(request.wait for request in judged)
    good = sum(request.wait <= wait_slo_s and not request.lost for request in judged)
    asked = [replicas for at, replicas, _, _ in ran.rounds if at >= WARM_UP_S]
    steps = [later - earlier for earlier, later in pairwise(asked) if later != earlier]
    return Score(
        pod_seconds=sum(max(0.0, min(pod.gone, ran.seconds) - max(pod.created, WARM_UP_S)) for pod in ran.pods),
        attained=good / len(judged) if judged else math.nan,
        waits=(_at(waits, 0.50), _at(waits, 0.95), _at(waits, 0.99)),
        least=min(asked),
        most=max(asked),
        changes=len(steps),
        turns=sum(earlier * later < 0 for earlier, later in pairwise(steps)),
    )


def _at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))] if values else math.nan
