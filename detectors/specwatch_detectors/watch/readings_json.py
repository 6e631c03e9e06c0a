"""Readings as JSON, for `/status.json` and `--format json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.reading import Reading


def readings_json(readings: Mapping[str, ModelReading]) -> str:
    """Readings as one JSON object: model by model, unknown numbers null."""
    return json.dumps({"models": [_model(name, whole) for name, whole in sorted(readings.items())]}, indent=1)


def _model(name: str, whole: ModelReading) -> dict[str, Any]:
    classes = {own: _reading(reading) for own, reading in sorted(whole.classes.items())}
    return {"model": name, **_reading(whole.verdict), "mix_shift": whole.mix_shift, "classes": classes}


def _reading(reading: Reading) -> dict[str, Any]:
    names = ("state", "reason", "score", "alarms", "since", "length", "baseline_length", "design", "calibrated")
    return {name: getattr(reading, name) for name in names}
