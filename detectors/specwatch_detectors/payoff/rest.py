"""Intervals in which nothing was drafted: chance, a rest, or an engine that no longer speculates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specwatch_detectors.payoff.bucket_evidence import BucketEvidence
from specwatch_detectors.payoff.payoff import LEAST_EFFECTIVE
from specwatch_exporters.request_labels import BATCH_LABELS

FORGET_S: Final = 60.0
"""A rest of this length is another state of the engine: evidence of drafts before says nothing of later ones."""


class Rest:
    """Counts steps without a draft since the last drafts.

    A drafter with weights drafts in every step, so the first interval without drafts is no chance. A lookup drafts
    only where it finds a match, and a short interval may hold none. So it is a rest once the share of steps that
    had a draft before makes 30 drafts expected and there were none; until then the steps wait, and count as steps
    without a draft if drafts come again.

    Args:
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: the state is not one of a rest.
    """

    __slots__ = ("_expected", "_seconds", "buckets", "off", "resting")

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        self.buckets: dict[str, BucketEvidence] = {}
        """Steps without drafts, by batch bucket."""
        self.resting = False
        """Nothing is drafted now, and that is no chance."""
        self.off = False
        """The engine is known not to speculate."""
        self._expected = 0.0
        self._seconds = 0.0
        if state is not None:
            self._restore(state)

    def add(self, label: str, evidence: BucketEvidence) -> None:
        """Put steps of one bucket to those before."""
        self.buckets[label] = self.buckets.get(label, BucketEvidence()).merged(evidence)

    def ended(self, seconds: float, expected: float | None, *, off: bool) -> None:
        """An interval without drafts has ended.

        Args:
            seconds: its length.
            expected: drafts that it would have had at the share of before; None if that is not known.
            off: the engine is known not to speculate.
        """
        self._seconds += seconds
        self._expected += LEAST_EFFECTIVE if expected is None else expected
        self.off = off
        self.resting = self.resting or off or self._expected >= LEAST_EFFECTIVE

    @property
    def forgets(self) -> bool:
        """Whether the evidence of drafts before it is void."""
        return self.off or (self.resting and self._seconds >= FORGET_S)

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "resting": self.resting,
            "off": self.off,
            "expected": self._expected,
            "seconds": self._seconds,
            "buckets": {label: evidence.as_json() for label, evidence in self.buckets.items()},
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        try:
            self.resting, self.off = bool(state["resting"]), bool(state["off"])
            self._expected, self._seconds = float(state["expected"]), float(state["seconds"])
            buckets = dict(state["buckets"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"not the state of a rest: {error!r}") from error
        self.buckets = {
            label: BucketEvidence.from_json(body) for label, body in buckets.items() if label in BATCH_LABELS
        }
