"""The queries behind the evidence: counts first, divided last, so that idle pods weigh nothing.

A before and a now are the same query at two times. `NOW` is the window of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specwatch_exporters import catalog, drift_catalog, fallback_catalog, payoff_catalog, request_catalog
from specwatch_exporters.metric import Metric

NOW: Final = "10m"
_RECENT: Final = "1h"


@dataclass(frozen=True, slots=True)
class Scope:
    """Which series an alert is about.

    Attributes:
        model: label value.
        namespace: label value, or empty where the series have none.
    """

    model: str
    namespace: str = ""

    def of(self, metric: Metric | str, *more: str) -> str:
        """A selector of the metric; a metric without the label `model` is selected by the namespace alone."""
        name = metric if isinstance(metric, str) else metric.name
        by_model = isinstance(metric, str) or "model" in metric.labels
        wanted = [f'model="{quoted(self.model)}"'] if by_model else []
        wanted += [f'namespace="{quoted(self.namespace)}"'] if self.namespace else []
        return f"{name}{{{', '.join([*wanted, *more])}}}"


def quoted(value: str) -> str:
    """A label value as PromQL writes it between quotes."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def length(scope: Scope, by: str = "") -> str:
    """Mean acceptance length, tokens per draft step."""
    return _length(scope, catalog.ACCEPTED_TOKENS, catalog.DRAFTS, by)


def class_length(scope: Scope) -> str:
    """The same by traffic class, from the request sidecar or the plugin."""
    return _length(scope, request_catalog.ACCEPTED_TOKENS, request_catalog.DRAFTS, "traffic_class")


def positions(scope: Scope) -> str:
    """Share of draft steps whose accepted prefix reached each position."""
    accepted = f"sum by (position) (increase({scope.of(catalog.ACCEPTED_PER_POSITION)}[{NOW}]))"
    return f"{accepted} / scalar(sum(increase({scope.of(catalog.DRAFTS)}[{NOW}])) > 0)"


def baseline(scope: Scope) -> str:
    """The length that drift is measured against."""
    return f"avg({scope.of(drift_catalog.BASELINE, _EMPTY_CLASS)})"


def class_baseline(scope: Scope) -> str:
    """The same by traffic class."""
    return f"avg by (traffic_class) ({scope.of(drift_catalog.BASELINE, _ANY_CLASS)})"


def speedup(scope: Scope) -> str:
    """Speed-up by batch size and bound."""
    return f"avg by (batch, bound) ({scope.of(payoff_catalog.SPEEDUP)})"


def latency(scope: Scope, sidecar: Metric, engine: Metric) -> str:
    """p95 of a latency from the request sidecar, else from the engine."""
    return f"{_p95(scope, sidecar)} or {_p95(scope, engine)}"


def waiting(scope: Scope) -> str:
    """Requests that wait in the engines."""
    return f"sum({scope.of(catalog.WAITING)})"


def fallback_levels(scope: Scope) -> str:
    """Level in force."""
    return f"max by (level) ({scope.of(fallback_catalog.LEVEL)}) == 1"


def movements(scope: Scope) -> str:
    """Movements of traffic in the last hour, by where to and why."""
    return f"sum by (to, reason) (increase({scope.of(fallback_catalog.TRANSITIONS)}[{_RECENT}])) > 0"


def mix_shift(scope: Scope) -> str:
    """1 if acceptance moved because the mix of traffic did."""
    return f"max({scope.of(drift_catalog.MIX_SHIFT)}) == 1"


def restarts(scope: Scope) -> str:
    """Restarts of engines in the last hour; the series has no model, so they are those of the namespace."""
    return f"sum(increase({scope.of(catalog.ENGINE_RESTARTS)}[{_RECENT}])) > 0"


def methods(scope: Scope) -> str:
    """Speculation methods in use."""
    return f"count by (method) ({scope.of(catalog.SPECULATION_INFO)})"


def versions(scope: Scope) -> str:
    """Engine versions in use."""
    return f"count by (version) ({scope.of(catalog.ENGINE_INFO)})"


_EMPTY_CLASS: Final = 'traffic_class=""'
_ANY_CLASS: Final = 'traffic_class!=""'


def _length(scope: Scope, accepted: Metric, drafts: Metric, by: str) -> str:
    kept, steps = (
        f"sum{f' by ({by})' if by else ''} (increase({scope.of(metric)}[{NOW}]))" for metric in (accepted, drafts)
    )
    return f"1 + {kept} / ({steps} > 0)"


def _p95(scope: Scope, histogram: Metric) -> str:
    buckets = scope.of(f"{histogram.name}_bucket")
    return f"histogram_quantile(0.95, sum by (le) (rate({buckets}[{NOW}])))"
