"""Counts of draft steps since a moment of the demonstration, from the sidecar's own counters."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import Metric
from prometheus_client.samples import Sample

from specwatch_exporters import catalog
from specwatch_exporters.drift_catalog import BASELINE

_KEPT: Final = 600
_EVERY_S: Final = 0.9


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals of a model.

    Attributes:
        drafts: draft steps.
        accepted: draft tokens kept.
        positions: of them by position, the first first.
        baseline: acceptance length that drift is measured against, tokens per draft step, or None.
    """

    drafts: float = 0.0
    accepted: float = 0.0
    positions: tuple[float, ...] = ()
    baseline: float | None = None

    def since(self, before: Counts) -> Counts:
        """What has been added."""
        earlier = (*before.positions, *(0.0,) * len(self.positions))
        added = tuple(now - then for now, then in zip(self.positions, earlier, strict=False))
        return Counts(self.drafts - before.drafts, self.accepted - before.accepted, added, self.baseline)

    @property
    def length(self) -> float | None:
        """Acceptance length, bonus token included."""
        return 1.0 + self.accepted / self.drafts if self.drafts > 0 else None

    @property
    def rates(self) -> tuple[float, ...]:
        """Acceptance by position, unconditional."""
        return tuple(one / self.drafts for one in self.positions) if self.drafts > 0 else ()


@dataclass(slots=True)
class CountLog:
    """Counts of the last minutes."""

    _log: deque[tuple[float, Counts]] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def add(self, elapsed_s: float, families: Iterable[Metric], model: str) -> None:
        """Write down what the counters say, once a second at most."""
        if not self._log or elapsed_s - self._log[-1][0] >= _EVERY_S:
            self._log.append((elapsed_s, read_counts(families, model)))

    def since(self, elapsed_s: float) -> Counts:
        """What was added since the first look after a moment; nothing where the log begins later."""
        if not self._log or self._log[0][0] > elapsed_s:
            return Counts()
        then = next((own for at, own in self._log if at >= elapsed_s), self._log[-1][1])
        return self._log[-1][1].since(then)


def read_counts(families: Iterable[Metric], model: str) -> Counts:
    """The totals of a model in the sidecar's metrics."""
    samples = [one for family in families for one in family.samples if one.labels.get("model") == model]
    own = [one for one in samples if one.name == catalog.ACCEPTED_PER_POSITION.name]
    places = {int(one.labels["position"]): 0.0 for one in own}
    for one in own:
        places[int(one.labels["position"])] += one.value
    baselines = [one.value for one in samples if one.name == BASELINE.name and not one.labels["traffic_class"]]
    return Counts(
        _total(samples, catalog.DRAFTS.name),
        _total(samples, catalog.ACCEPTED_TOKENS.name),
        tuple(places[place] for place in sorted(places)),
        baselines[0] if baselines else None,
    )


def _total(samples: Iterable[Sample], name: str) -> float:
    return sum(one.value for one in samples if one.name == name)
