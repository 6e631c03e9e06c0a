"""Which labels tell pods apart, and which only tell apart who looked at the pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

REPLICA_LABELS: Final = ("prometheus_replica", "__replica__", "receive_replica")
"""Labels of replicas of one Prometheus, as its operator, Mimir and Thanos Receive call them."""

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PodLabels:
    """Splits the labels of a target.

    Without `pod`, every label that the metric itself does not have and that names no replica belongs to the pod:
    `instance`, `pod`, `namespace`, `job` and whatever else the scrape added. With `pod`, only those named do, and
    two series that differ elsewhere (two jobs that scrape one pod) are two views of the same counter.

    Attributes:
        pod: labels that tell pods apart; empty for all that are left.
        replica: labels that tell replicas of a Prometheus apart.
    """

    pod: frozenset[str] = field(default_factory=frozenset)
    replica: frozenset[str] = frozenset(REPLICA_LABELS)

    @classmethod
    def of(cls, pod: Iterable[str] = (), replica: Iterable[str] = REPLICA_LABELS) -> PodLabels:
        """From lists of names."""
        return cls(frozenset(pod), frozenset(replica))

    def split(self, labels: Mapping[str, str], own: frozenset[str]) -> tuple[Labels, Labels]:
        """The pod, and the view of it.

        Args:
            labels: of a series.
            own: labels that the metric itself has; they belong to neither.

        Returns:
            Both as sorted pairs; an empty value counts as no label, as in Prometheus.
        """
        pod: list[tuple[str, str]] = []
        view: list[tuple[str, str]] = []
        for name, value in sorted(labels.items()):
            if name == "__name__" or name in own or not value:
                continue
            seen = name not in self.replica if not self.pod else name in self.pod
            (pod if seen else view).append((name, value))
        return tuple(pod), tuple(view)
