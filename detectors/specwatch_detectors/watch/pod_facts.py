"""What the pods of a fleet say about themselves: version, method, draft tokens per step, restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specwatch_detectors.watch.pod_labels import Labels
from specwatch_detectors.watch.series_increase import MEMORY_S, Pod
from specwatch_detectors.watch.source import RawSeries
from specwatch_exporters import catalog
from specwatch_exporters.metric import Metric

_UNSAID: Final = frozenset({"", "unknown"})


class FactKind(StrEnum):
    """What a fact is about."""

    VERSION = "version"
    METHOD = "method"
    DEPTH = "depth"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a pod said at a time.

    Attributes:
        at: epoch seconds.
        pod: name of the pod.
        kind: what it is about.
        value: version, method or number of draft tokens; empty for a restart.
        model: the model that it is about; None for all models of the pod.
    """

    at: float
    pod: str
    kind: FactKind
    value: str = ""
    model: str | None = None


FACTS: Final[tuple[Metric, ...]] = (
    catalog.ENGINE_RESTARTS,
    catalog.ENGINE_INFO,
    catalog.SPECULATION_INFO,
    catalog.NUM_SPECULATIVE_TOKENS,
)

FindPod = Callable[[Mapping[str, str], frozenset[str]], tuple[Pod, Labels]]


class PodFacts:
    """Reads facts out of their series.

    Args:
        find_pod: tells the pod of a series, and the view of it.
    """

    def __init__(self, find_pod: FindPod) -> None:
        self._find_pod = find_pod
        self._restarts: dict[tuple[str, Labels], tuple[float, float]] = {}
        self._pods: dict[tuple[str, ...], tuple[Pod, Labels]] = {}

    def read(self, metric: Metric, series: Sequence[RawSeries], end: float) -> Iterator[Fact]:
        """The facts in the samples up to the end, in no order; those seen before may come again."""
        own = frozenset(metric.labels)
        for one in series:
            labels = one["metric"]
            key = (*labels, *labels.values())
            known = self._pods.get(key)
            if known is None:
                known = self._pods[key] = self._find_pod(labels, own)
            pod, view = known
            samples = sorted((float(at), float(value)) for at, value in one["values"] if at <= end)
            if metric is catalog.ENGINE_RESTARTS:
                yield from self._of_restarts(pod, view, samples)
            else:
                yield from _of_gauge(metric, labels, pod, samples)

    def _of_restarts(self, pod: Pod, view: Labels, samples: Sequence[tuple[float, float]]) -> Iterator[Fact]:
        """Restarts counted by the pod's sidecar.

        If the count falls, the sidecar started anew. It then shows the whole life of its engine, which it had shown
        in part already if the engine had restarted while it looked on.
        """
        for at, value in samples:
            last, before = self._restarts.get((pod.name, view), (at, value))
            if at < last:
                continue
            if value > before and at - last <= MEMORY_S:
                yield Fact(at, pod.name, FactKind.RESTART)
            if value < before:
                pod.doubts.append(at)
            self._restarts[(pod.name, view)] = (at, value)

    def sweep(self, now: float) -> None:
        """Forget which pods there are, and restart counts that are older than the memory."""
        self._pods = {}
        self._restarts = {key: seen for key, seen in self._restarts.items() if seen[0] > now - MEMORY_S}


def _of_gauge(
    metric: Metric, labels: Mapping[str, str], pod: Pod, samples: Sequence[tuple[float, float]]
) -> Iterator[Fact]:
    for at, value in samples:
        if metric is catalog.ENGINE_INFO:
            fact = Fact(at, pod.name, FactKind.VERSION, labels.get("version", ""))
        elif metric is catalog.SPECULATION_INFO:
            fact = Fact(at, pod.name, FactKind.METHOD, labels.get("method", ""), labels.get("model", ""))
        else:
            fact = Fact(at, pod.name, FactKind.DEPTH, f"{value:g}", labels.get("model", ""))
        if fact.value not in _UNSAID:
            yield fact
