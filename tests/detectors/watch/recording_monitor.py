"""A monitor that remembers what it was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specwatch_detectors.model_monitor import ModelMonitor, ModelReading
from specwatch_detectors.reading import Change
from specwatch_detectors.window import Window


class RecordingMonitor(ModelMonitor):
    """Judges as any monitor does.

    Attributes:
        totals: every total that it was given, in order.
        by_class: the classes that came with them.
        changes: what it was told of the engine.
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.totals: list[Window] = []
        self.by_class: list[dict[str, Window]] = []
        self.changes: list[Change] = []

    def update(self, total: Window, now: float, classes: Mapping[str, Window] | None = None) -> ModelReading:
        self.totals.append(total)
        self.by_class.append(dict(classes or {}))
        return super().update(total, now, classes)

    def changed(self, change: Change) -> None:
        self.changes.append(change)
        super().changed(change)
