"""What the sidecar of each pod said last, put together to one speed-up per level."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from specwatch_detectors.design_effect import PRIOR, SAFETY
from specwatch_detectors.fallback.observation import Seen
from specwatch_detectors.payoff.payoff import LEAST_EFFECTIVE, Bounds
from specwatch_exporters.request_labels import BATCH_EDGES, BATCH_LABELS

UNKNOWN_DESIGN: Final = PRIOR * SAFETY
"""Design effect where a pod does not say: that of the payoff meter itself."""


@dataclass(slots=True)
class PodSight:
    """One pod.

    Attributes:
        bounds: by batch bucket and bound, each with its time.
        running: requests, or None.
        drafts: in the last minutes.
        design: design effect.
    """

    bounds: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)
    running: float | None = None
    drafts: float = 0.0
    design: float = UNKNOWN_DESIGN

    def seen(self) -> Seen | None:
        """Its speed-up at the batch that runs now, or None if it does not say."""
        whole = {batch: three for batch, own in self.bounds.items() if (three := _three(own)) is not None}
        if not whole:
            return None
        now = _bucket(self.running)
        chosen = [whole[now]] if now in whole else list(whole.values())
        at = max(at for _, at in chosen)
        return Seen(_envelope([bounds for bounds, _ in chosen]), at, self._effective(), self.running)

    def _effective(self) -> float:
        """Effective drafts; the payoff meter exports no speed-up with too few, so what it needs is there.

        The design effect that is exported is the drift test's, which over days takes slow changes of the traffic
        for spread, and makes little of a busy fleet.
        """
        return max(LEAST_EFFECTIVE, self.drafts / max(1.0, self.design)) if self.drafts > 0.0 else 0.0


def together(pods: Iterable[PodSight]) -> Seen | None:
    """One speed-up of several pods, each by its share of the drafts.

    Bounds are averaged as they are: the errors of step times are the same for all pods, so that they do not shrink
    with the number of pods.
    """
    known = [(pod.drafts, seen) for pod in pods if (seen := pod.seen()) is not None]
    if not known:
        return None
    total = sum(drafts for drafts, _ in known)
    weights = [drafts / total if total > 0.0 else 1.0 / len(known) for drafts, _ in known]
    lower, estimate, upper = (
        sum(weight * getattr(seen.bounds, bound) for weight, (_, seen) in zip(weights, known, strict=True))
        for bound in ("lower", "estimate", "upper")
    )
    bounds = Bounds(min(lower, estimate), estimate, max(upper, estimate))
    running = [
        (weight, seen.batch) for weight, (_, seen) in zip(weights, known, strict=True) if seen.batch is not None
    ]
    share = sum(weight for weight, _ in running)
    batch = sum(weight * own for weight, own in running) / share if share > 0.0 else None
    return Seen(bounds, max(seen.at for _, seen in known), sum(seen.effective for _, seen in known), batch)


def _three(own: Mapping[str, tuple[float, float]]) -> tuple[Bounds, float] | None:
    try:
        (lower, at), (estimate, _), (upper, _) = own["lower"], own["estimate"], own["upper"]
    except KeyError:
        return None
    return (Bounds(lower, estimate, upper), at) if 0.0 <= lower <= estimate <= upper else None


def _bucket(running: float | None) -> str:
    if running is None or running <= 0.0:
        return ""
    return BATCH_LABELS[bisect_left(BATCH_EDGES, running)]


def _envelope(found: list[Bounds]) -> Bounds:
    """Where it is not known which batch runs: nothing narrower than all of them."""
    estimate = sum(bounds.estimate for bounds in found) / len(found)
    return Bounds(min(bounds.lower for bounds in found), estimate, max(bounds.upper for bounds in found))
