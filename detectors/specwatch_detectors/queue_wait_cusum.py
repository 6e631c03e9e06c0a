"""Queue-wait CUSUM: do more requests than before wait long?

Waits are many small ones and a tail, so their mean says little. Counted is the share of requests that waited
longer than an edge of the histogram that few requests passed when all was well. Formula, for an interval with x of
n requests beyond the edge, a baseline share p0 and the alternative p1 = r p0 (1/2 at most):

    l = (1/d) [ x ln(p1 / p0) + (n - x) ln((1 - p1) / (1 - p0)) ],   S = max(0, S + l),   alarm when S >= h

Parameters: the edge and p0, from `tail_edge` over the baseline's buckets; the ratio r (2 and 5); the design effect
d, because requests wait together (one burst fills the queue for all that come after it); the threshold h. Clipping
as in `chain_cusum.py`, of which this is the case of one position.

Guarantees: those of `chain_cusum.py`: with d >= 1 the mean time between false alarms is at least exp(h) intervals.

Failure modes: more load makes longer queues, and that is an alarm here: it says that users wait, not why; an engine
counts a wait when the request ENDS, so long answers report late; a share below 0.5 % counts as 0.5 %, so that
two waits on an idle engine are not news; an edge coarser than the waits of interest hides them (vLLM's own begin at
0.3 s).

Source: Page 1954; tempering: Kish 1965, Rao and Scott 1984.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from specwatch_detectors.chain_cusum import ChainCusum
from specwatch_detectors.detector import State
from specwatch_detectors.window import NOTHING, Window

LEAST_SHARE: Final = 0.005
TAIL: Final = 0.05
"""Share of requests beyond the edge that is looked for: the 95th percentile."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Requests of one interval.

    Attributes:
        longer: those that waited longer than the edge.
        requests: all whose wait is known.
    """

    longer: float
    requests: float


class QueueWaitCusum:
    """One CUSUM on the share of requests that waited longer than an edge.

    Args:
        share: p0, of the baseline; under 0.5 % it counts as 0.5 %.
        ratio: r > 1.
        design: design effect d >= 1, safety factor included.
        threshold: h in nats, > 0.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: an argument is out of its range; a share of 1/2 or more leaves no room for longer waits.
    """

    __slots__ = ("_cusum",)

    def __init__(
        self, share: float, *, ratio: float, design: float, threshold: float, state: State | None = None
    ) -> None:
        if not 0.0 <= share < 0.5 or not ratio > 1.0:
            raise ValueError(f"share must be at least 0 and under 0.5, ratio over 1, got {share} and {ratio}")
        base = max(LEAST_SHARE, share)
        other = min(0.5, ratio * base)
        self._cusum = ChainCusum([base], ratio=other / base, design=design, threshold=threshold, state=state)

    def update(self, observation: Waits) -> float:
        """Take one interval in; returns S / h: 1 or more is an alarm."""
        return self._cusum.update(_as_window(observation))

    def increment(self, observation: Waits) -> float:
        """Evidence of one interval for longer waits, in nats, clipped."""
        return self._cusum.increment(_as_window(observation))

    @property
    def score(self) -> float:
        """S / h."""
        return self._cusum.evidence / self._cusum.threshold

    @property
    def evidence(self) -> float:
        """S in nats."""
        return self._cusum.evidence

    def reset(self) -> None:
        """Forget the evidence."""
        self._cusum.reset()

    def state(self) -> dict[str, float]:
        """The evidence so far, in nats."""
        return self._cusum.state()


def _as_window(waits: Waits) -> Window:
    if not waits.requests > 0.0:
        return NOTHING
    longer = min(waits.longer, waits.requests)
    return Window(waits.requests, (longer,), (waits.requests,), longer)


def tail_edge(buckets: Mapping[float, float], share: float = TAIL) -> tuple[float, float] | None:
    """The lowest edge that at most `share` of the baseline's requests passed, and the share that did.

    Args:
        buckets: upper edge to cumulative count, +Inf among them.
        share: of requests beyond the edge, at most.

    Returns:
        Edge in seconds and share beyond it; None without requests, or if too many lie beyond the last finite edge.
    """
    requests = buckets.get(math.inf, 0.0)
    if not requests > 0.0:
        return None
    for edge in sorted(buckets):
        beyond = max(0.0, 1.0 - buckets[edge] / requests)
        if not math.isinf(edge) and beyond <= share:
            return edge, beyond
    return None


def waits_beyond(buckets: Mapping[float, float], edge: float) -> Waits:
    """The requests of an interval by an edge of its histogram.

    Args:
        buckets: increases in the interval: upper edge to cumulative count, +Inf among them.
        edge: one of the edges, seconds.

    Returns:
        No requests where the histogram lacks the edge: what cannot be known is no evidence.
    """
    requests = buckets.get(math.inf, 0.0)
    if edge not in buckets or not requests > 0.0:
        return Waits(0.0, 0.0)
    return Waits(max(0.0, requests - buckets[edge]), requests)
