"""Increases and gauges of one model, summed over engines on demand."""

from __future__ import annotations

from collections.abc import Mapping

from specwatch_exporters import catalog
from specwatch_exporters.page import Key

_POSITION_DIGITS = 3


class Counts:
    """Values of one model.

    Args:
        values: of any models; use `by_model` for many models.
        model: the one to keep.
    """

    def __init__(self, values: Mapping[Key, float], model: str) -> None:
        self._by_metric: dict[str, list[tuple[Key, float]]] = {}
        for key, value in values.items():
            if key.model == model:
                self._by_metric.setdefault(key.metric, []).append((key, value))

    @classmethod
    def by_model(cls, values: Mapping[Key, float]) -> dict[str, Counts]:
        """Split values by model, each looked at once."""
        split: dict[str, dict[Key, float]] = {}
        for key, value in values.items():
            split.setdefault(key.model, {})[key] = value
        return {model: cls(own, model) for model, own in split.items()}

    def total(self, metric: str) -> float | None:
        """Sum over engines, or None if no engine has the metric."""
        rows = self._by_metric.get(metric)
        return None if rows is None else sum(value for _, value in rows)

    def by_extra(self, metric: str) -> dict[str, float]:
        """Sum over engines per value of the metric's own label."""
        sums: dict[str, float] = {}
        for key, value in self._by_metric.get(metric, ()):
            sums[key.extra] = sums.get(key.extra, 0.0) + value
        return sums

    def by_position(self, metric: str) -> tuple[float | None, ...]:
        """Sum over engines per position, in numeric order; None where a position is missing."""
        known = {
            int(label): value
            for label, value in self.by_extra(metric).items()
            if label.isascii() and label.isdecimal() and len(label) <= _POSITION_DIGITS
        }
        return tuple(known.get(index) for index in range(max(known, default=-1) + 1))

    def buckets(self, metric: str) -> dict[float, float]:
        """Cumulative counts per upper edge, summed over engines; only edges that every engine has."""
        edges: dict[str, set[float]] = {}
        sums: dict[float, float] = {}
        for key, value in self._by_metric.get(f"{metric}_bucket", ()):
            edge = float(key.extra)
            edges.setdefault(key.engine, set()).add(edge)
            sums[edge] = sums.get(edge, 0.0) + value
        shared = set.intersection(*edges.values()) if edges else set()
        return {edge: sums[edge] for edge in shared}

    def histogram_sum(self, metric: str) -> float | None:
        """Sum of a histogram over engines, or None unless every engine that counts has a sum to trust."""
        summed = {key.engine for key, _ in self._by_metric.get(f"{metric}_sum", ())}
        counting = {key.engine for key, _ in self._by_metric.get(f"{metric}_count", ())}
        return self.total(f"{metric}_sum") if counting <= summed else None

    def gauge(self, metric: catalog.Metric) -> float | None:
        """One number: requests are summed over engines, the KV share is the fullest engine's."""
        rows = self._by_metric.get(metric.name)
        if rows is None:
            return None
        return max(value for _, value in rows) if metric is catalog.KV_USAGE else sum(value for _, value in rows)

    def engines(self) -> set[str]:
        """Engines that have any value."""
        return {key.engine for rows in self._by_metric.values() for key, _ in rows}


NOTHING = Counts({}, "")
"""Of a model without any value."""
