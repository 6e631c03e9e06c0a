"""A comparison in words and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from specwatch_deploy.scale.simulation.comparison import Comparison, Result
from specwatch_deploy.scale.simulation.contenders import SimulationSettings

HEAD = ("", "replicas", "pod hours", "in time", "p50", "p95", "p99", "changes")


def row(result: Result) -> tuple[str, ...]:
    """One contender's cells, as `HEAD` has them."""
    score = result.score
    return (
        result.name,
        f"{score.least}-{score.most}",
        f"{score.pod_seconds / 3600.0:.2f}",
        f"{score.attained:.2%}",
        *(seconds(value) for value in score.waits),
        str(score.changes),
    )


def seconds(value: float) -> str:
    """A wait; `never` for requests that were not scheduled until the end."""
    if value == math.inf:
        return "never"
    return f"{value:.0f} s" if value >= 10.0 else f"{value:.2g} s" if value else "0"


def verdicts(found: Comparison) -> Iterator[str]:
    """What the comparison says, in sentences."""
    score, ideal, best = found.ours.score, found.clairvoyant_cost, found.best_peer
    if ideal is None:
        if found.plans:
            yield "No plan with these bounds attains as much, though it knows every arrival."
    else:
        yield (
            f"specwatch costs {score.pod_seconds / ideal:.2f} times the cheapest plan that knows every arrival and "
            f"attains as much ({ideal / 3600.0:.2f} pod hours)."
        )
    if best is None:
        yield "No other way costs as little as specwatch."
        return
    gap = 100.0 * (score.attained - best.score.attained)
    than = "more" if gap >= 0.0 else "fewer"
    yield f"At no more cost the best other is {best.name}: specwatch has {abs(gap):.2f} points {than} in time."


def told(found: Comparison, settings: SimulationSettings) -> str:
    """What was simulated."""
    return (
        f"Simulated: {found.trace.name}, {found.trace.text}; {settings.speed.slots} slots a pod, start-up "
        f"{settings.start_s} s, queue wait objective {settings.wait_slo_s:g} s, seed {settings.seed}; p50 to p99: "
        f"queue wait. Step times: {settings.speed.source}."
    )


def as_json(found: Comparison, settings: SimulationSettings) -> dict[str, Any]:
    """Everything, waits that never ended as null."""
    return {
        "simulated": True,
        "trace": found.trace.name,
        "told": told(found, settings),
        "ours": _result(found.ours),
        "peers": [_result(peer) for peer in found.peers],
        "plans": [_result(plan) for plan in found.plans],
        "clairvoyant_pod_seconds": found.clairvoyant_cost,
        "verdicts": list(verdicts(found)),
    }


def _result(result: Result) -> dict[str, Any]:
    score = result.score
    waits = [value if math.isfinite(value) else None for value in score.waits]
    return {
        "name": result.name,
        "pod_seconds": round(score.pod_seconds, 1),
        "attained": round(score.attained, 6),
        "wait_p50_p95_p99_s": waits,
        "replicas": [score.least, score.most],
        "changes": score.changes,
    }
