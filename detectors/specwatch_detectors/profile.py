"""A profile: what calibration found about each model's stream, in one file that a person can read.

The file is JSON of one version. Per model and stream (a traffic class, or the empty name for all traffic) it has
the counts of the baseline, the design effect and where it comes from, the threshold h, how much was seen, and the
largest score of the replay. `docs/detect.md` explains each field.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from specwatch_detectors.baseline import Baseline
from specwatch_detectors.model_monitor import Calibration
from specwatch_exporters.json_text import decode

VERSION: Final = 1
MAX_BYTES: Final = 4 << 20


class ProfileError(ValueError):
    """The file is no profile; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class StreamProfile:
    """What is known of one stream.

    Attributes:
        baseline: acceptance while the draft fitted, as counts.
        design: long-run design effect, without safety factor.
        design_from: the estimator that gave it, in words.
        threshold: h in nats.
        largest_score: largest evidence S of the replay, in nats; under h.
        largest_at: when that was, epoch seconds, or None if there was no evidence at all.
        days: days with drafts.
    """

    baseline: Baseline
    design: float
    design_from: str
    threshold: float
    largest_score: float = 0.0
    largest_at: float | None = None
    days: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The fields as JSON, with the acceptance length for the reader's sake."""
        mean = self.baseline.mean_accepted
        return {
            "acceptance_length": None if mean is None else round(1.0 + mean, 4),
            "baseline": self.baseline.as_json(),
            "days": round(self.days, 3),
            "design_effect": round(self.design, 3),
            "design_effect_from": self.design_from,
            "threshold": round(self.threshold, 4),
            "replay_largest_score": round(self.largest_score, 4),
            "replay_largest_at": self.largest_at,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> StreamProfile:
        """Read what `as_json` wrote.

        Raises:
            ValueError: a field is missing or cannot be.
        """
        at = body["replay_largest_at"]
        found = cls(
            Baseline.from_json(body["baseline"]),
            float(body["design_effect"]),
            str(body["design_effect_from"]),
            float(body["threshold"]),
            float(body["replay_largest_score"]),
            None if at is None else float(at),
            float(body["days"]),
        )
        if not 1.0 <= found.design < math.inf or not 0.0 < found.threshold < math.inf:
            raise ValueError("design_effect must be 1 or more and threshold positive")
        return found


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """What is known of one model.

    Attributes:
        depth: draft tokens per draft (K).
        start: first interval of the history, epoch seconds.
        end: last interval.
        streams: by traffic class; the empty name is all traffic.
    """

    depth: int
    start: float
    end: float
    streams: Mapping[str, StreamProfile]


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile.

    Attributes:
        interval_s: seconds of an interval of the history.
        false_pages: false pages per 30 days and model that the thresholds are made for and the replay has checked.
        created: epoch seconds.
        source: where the history came from, in words.
        models: by name.
        notes: what the reader should know, one sentence each.
    """

    interval_s: float
    false_pages: float
    created: float
    source: str
    models: Mapping[str, ModelProfile] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def calibrations(self, model: str) -> Mapping[str, Calibration]:
        """What a model monitor starts from, by traffic class; empty for a model that is not in the profile."""
        own = self.models.get(model)
        if own is None:
            return {}
        return {
            name: Calibration(stream.baseline, stream.design, stream.threshold, self.created)
            for name, stream in own.streams.items()
        }

    def depth(self, model: str) -> int | None:
        """K of a model, or None if it is not in the profile."""
        own = self.models.get(model)
        return None if own is None else own.depth

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "version": VERSION,
            "created": self.created,
            "source": self.source,
            "interval_s": self.interval_s,
            "false_pages_per_30_days": self.false_pages,
            "models": {
                name: {
                    "depth": own.depth,
                    "start": own.start,
                    "end": own.end,
                    "streams": {label: stream.as_json() for label, stream in own.streams.items()},
                }
                for name, own in self.models.items()
            },
            "notes": list(self.notes),
        }

    def save(self, path: Path) -> None:
        """Write the file as a whole or not at all.

        Raises:
            OSError: it cannot be written.
        """
        text = json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n"
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def load_profile(path: Path) -> Profile:
    """Read a profile.

    Raises:
        ProfileError: it cannot be read or is no profile; the message names the file.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise ProfileError(f"{path}: over {MAX_BYTES >> 20} MiB; that is no profile")
    body = decode(data)
    if not isinstance(body, dict) or "version" not in body or "models" not in body:
        raise ProfileError(f"{path}: not a profile; make one with 'specwatch detect calibrate'")
    if body["version"] != VERSION:
        raise ProfileError(
            f"{path}: a profile of version {body['version']}, this specwatch reads version {VERSION}"
        )
    try:
        return _profile(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise ProfileError(f"{path}: not a usable profile: {what}") from error


def _profile(body: Mapping[str, Any]) -> Profile:
    found = Profile(
        float(body["interval_s"]),
        float(body["false_pages_per_30_days"]),
        float(body["created"]),
        str(body["source"]),
        {str(name): _model(own) for name, own in body["models"].items()},
        tuple(str(note) for note in body["notes"]),
    )
    if not 0.0 < found.interval_s < math.inf or not 0.0 < found.false_pages < math.inf:
        raise ValueError("interval_s and false_pages_per_30_days must be positive")
    return found


def _model(body: Mapping[str, Any]) -> ModelProfile:
    streams = {str(label): StreamProfile.from_json(stream) for label, stream in body["streams"].items()}
    return ModelProfile(int(body["depth"]), float(body["start"]), float(body["end"]), streams)
