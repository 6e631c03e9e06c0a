"""Inputs of the policy out of a file: an audit log, JSON lines of inputs, or a dump of payoff series."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from specwatch_detectors.fallback.audit_log import LATEST
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.inputs_json import inputs_from_json
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.fallback.pod_sights import PodSight, together
from specwatch_detectors.payoff.payoff import Bounds
from specwatch_exporters.payoff_catalog import SPEEDUP


class RecordingError(ValueError):
    """The file holds nothing to replay; one line says why."""


def read_recording(
    path: Path, settings: FallbackSettings, rule: LevelRule, estimates: Mapping[Level, Bounds], model: str = ""
) -> list[FallbackInputs]:
    """Inputs in order of time.

    Args:
        path: an audit log, inputs as an audit log holds them, or the answer of a Prometheus API to a range query of
            the payoff's speed-up.
        settings: constants of the policy.
        rule: tells levels apart in a dump; series of no level belong to home.
        estimates: of levels that a dump has no series of.
        model: whose series of a dump count; empty for the only one that it holds.

    Raises:
        RecordingError: it holds nothing that can be replayed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RecordingError(f"{path} is no text") from error
    try:
        dump = _dump(text)
        found = list(_lines(text)) if dump is None else list(_rows(_of_one(dump, model), settings, rule, estimates))
    except KeyError as error:
        raise RecordingError(f"{path}: a series has no label or key {error}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise RecordingError(f"{path}: {error}") from error
    if not found:
        raise RecordingError(f"{path} holds no inputs and no series of {SPEEDUP.name}")
    return sorted(found, key=lambda inputs: inputs.now)


def _dump(text: str) -> list[Any] | None:
    """The series of a Prometheus answer, or None if it is none."""
    try:
        body = json.loads(text)
    except ValueError:
        return None
    result = body.get("data", {}).get("result") if isinstance(body, dict) else None
    return result if isinstance(result, list) else None


def _lines(text: str) -> Iterator[FallbackInputs]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
        except ValueError:
            continue  # a line that was torn when its writer was killed
        inputs = body.get("inputs", body if "now" in body else None) if isinstance(body, dict) else None
        if inputs is None:
            continue
        try:
            yield inputs_from_json(inputs)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error


def _of_one(series: list[Any], model: str) -> list[Any]:
    """Series of the payoff of one model: two models put together are none.

    Raises:
        ValueError: there are several, and none is named; or the one that is named is not there.
    """
    found = [one for one in series if one["metric"].get("__name__", SPEEDUP.name) == SPEEDUP.name]
    models = sorted({str(one["metric"].get("model", "")) for one in found})
    if not model and len(models) > 1:
        raise ValueError(f"it holds {', '.join(models)}: name one in a configuration, with --config")
    if model and models and model not in models:
        raise ValueError(f"it holds {', '.join(models)}, and not {model}")
    return [one for one in found if not model or one["metric"].get("model", "") == model]


def _rows(
    series: list[Any], settings: FallbackSettings, rule: LevelRule, estimates: Mapping[Level, Bounds]
) -> Iterator[FallbackInputs]:
    """One row per time; a sample vouches for enough drafts, or the meter would not have given it."""
    at_times: dict[float, dict[Level, dict[str, PodSight]]] = {}
    for one in series:
        labels = one["metric"]
        level = (None if rule.shared else rule.level(labels, settings.home)) or settings.home
        pod = json.dumps({name: own for name, own in labels.items() if name not in {"batch", "bound"}})
        samples = ((float(at), float(value)) for at, value in one["values"])
        for at, value in samples:
            if not (0.0 <= at < LATEST and math.isfinite(value)):
                continue
            sight = at_times.setdefault(at, {}).setdefault(level, {}).setdefault(pod, PodSight())
            sight.bounds.setdefault(labels["batch"], {})[labels["bound"]] = (value, at)
    for at, levels in sorted(at_times.items()):
        seen = {level: found for level, pods in levels.items() if (found := together(pods.values())) is not None}
        speedup = {**estimates, **{level: own.bounds for level, own in seen.items()}}
        yield FallbackInputs(now=at, measured_at=at, speedup=speedup, effective_drafts=settings.least_effective)
