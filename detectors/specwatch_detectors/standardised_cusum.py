"""Class-standardised CUSUM: does the draft accept less within the classes of traffic?

Each class has a baseline of its own, and the evidence of an interval is the sum over classes:

    l = sum_c l_c,   l_c as in `chain_cusum.py` with q_c and d_c;   S = max(0, S + l),   alarm when S >= h

so a shift of traffic from a class that accepts well to one that accepts badly adds nothing, while a worse draft
adds evidence in every class. Parameters, guarantees and source: `chain_cusum.py`, the classes taken as
independent.

Failure modes: classes without a baseline are left out until they have one; a change inside a class (longer prompts,
another language) still looks like drift; records must carry the class.
"""

from __future__ import annotations

from collections.abc import Mapping

from specwatch_detectors.chain_cusum import ChainCusum
from specwatch_detectors.detector import State
from specwatch_detectors.window import Window


class StandardisedCusum:
    """One CUSUM over the summed evidence of several classes.

    Args:
        classes: by traffic class, a CUSUM with that class's baseline and design effect; only its increments count.
        threshold: h in nats, > 0.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: the threshold is not positive.
    """

    __slots__ = ("_classes", "evidence", "threshold")

    def __init__(self, classes: Mapping[str, ChainCusum], *, threshold: float, state: State | None = None) -> None:
        if not threshold > 0.0:
            raise ValueError(f"threshold must be positive, got {threshold}")
        self._classes = dict(classes)
        self.threshold = threshold
        self.evidence = 0.0 if state is None else max(0.0, state["evidence"])

    def update(self, observation: Mapping[str, Window]) -> float:
        """Take one interval in, a window per class; returns S / h: 1 or more is an alarm."""
        self.evidence = max(0.0, self.evidence + self.increment(observation))
        return self.evidence / self.threshold

    def increment(self, observation: Mapping[str, Window]) -> float:
        """Evidence of one interval for the alternative, in nats, each class clipped by itself."""
        return sum(
            self._classes[name].increment(window) for name, window in observation.items() if name in self._classes
        )

    def reset(self) -> None:
        """Forget the evidence."""
        self.evidence = 0.0

    def state(self) -> dict[str, float]:
        """The evidence so far, in nats."""
        return {"evidence": self.evidence}
