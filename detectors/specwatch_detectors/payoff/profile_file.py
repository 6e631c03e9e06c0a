"""Step-time profiles as JSON files: read, check, write; and those that ship with the package."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from specwatch_detectors.payoff.linear_steps import DraftConstants, LinearSteps, StepConstants
from specwatch_detectors.payoff.measured_steps import MeasuredSteps, MethodCurve
from specwatch_detectors.payoff.step_curve import StepCurve
from specwatch_detectors.payoff.step_profile import StepProfile

FORMAT: Final = 1
MAX_BYTES: Final = 1 << 20
_FOLDER: Final = files("specwatch_detectors.payoff") / "profiles"
_TARGET_KEYS: Final = ("fixed", "per_token", "per_kv_token", "overhead")
_DRAFT_KEYS: Final = ("fixed", "per_depth", "per_kv_token", "verify_share")


class ProfileError(ValueError):
    """A profile cannot be used; the message is one line that says what is wrong with which part."""


def shipped_names() -> tuple[str, ...]:
    """Names of the profiles in the package, sorted."""
    names = (item.name for item in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))


def load_profile(source: str | Path) -> StepProfile:
    """Read a profile by its shipped name or from a file.

    Raises:
        ProfileError: no such name or file, not JSON, or not a profile.
    """
    if isinstance(source, str) and source in shipped_names():
        return profile_from_text((_FOLDER / f"{source}.json").read_text(encoding="utf-8"), source)
    path = Path(source)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ProfileError(f"{source}: larger than 1 MiB, so it is no step-time profile")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        known = ", ".join(shipped_names())
        raise ProfileError(f"{source}: {reason}; give a file or one of: {known}") from error
    return profile_from_text(text, str(source))


def profile_from_text(text: str, where: str) -> StepProfile:
    """Read a profile's JSON.

    Args:
        text: the file's content.
        where: what to call it in an error.

    Raises:
        ProfileError: not JSON, or not a profile.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"{where}: not JSON ({error})") from error
    try:
        return profile_from_json(body)
    except ValueError as error:
        raise ProfileError(f"{where}: {error}") from error


def profile_from_json(body: object) -> StepProfile:
    """Make a profile from decoded JSON.

    Raises:
        ValueError: a part is missing or unusable; one line.
    """
    top = _object(body, "the profile")
    if top.get("format") != FORMAT:
        raise ValueError(f"format must be {FORMAT}, not {top.get('format')!r}")
    gpus = _number(top, "gpus")
    if gpus < 1 or gpus != int(gpus):
        raise ValueError("gpus must be a whole number, 1 or more")
    own_traffic = top.get("prompt_per_output")
    return StepProfile(
        name=_text(top, "name"),
        label=_text(top, "label"),
        target=_text(top, "target"),
        hardware=_text(top, "hardware"),
        gpus=int(gpus),
        engine=_text(top, "engine"),
        source=_text(top, "source"),
        context_tokens=_number(top, "context_tokens"),
        prefill_seconds_per_token=_number(top, "prefill_seconds_per_token", 0.0),
        prompt_per_output=None if own_traffic is None else _number(top, "prompt_per_output"),
        steps=_linear(top) if "constants" in top else _measured(top),
    )


def _measured(top: Mapping[str, Any]) -> MeasuredSteps:
    batches = _numbers(top, "batches")
    plain = _curve(top, "plain_seconds", batches)
    methods: dict[str, list[MethodCurve]] = {}
    for name, runs in _object(top.get("methods"), "methods").items():
        if not isinstance(runs, list) or not runs:
            raise ValueError(f"methods.{name} must be a list of runs, one per K")
        methods[name] = [_method_curve(name, run, batches) for run in runs]
        if len({curve.depth for curve in methods[name]}) < len(runs):
            raise ValueError(f"methods.{name} has two runs of one K")
    prefill = "plain_prefill_seconds_per_token"
    return MeasuredSteps(plain, methods, _curve(top, prefill, batches) if top.get(prefill) is not None else None)


def _method_curve(name: str, run: object, batches: tuple[float, ...]) -> MethodCurve:
    part = _object(run, f"a run of methods.{name}")
    depth = _number(part, "depth")
    if depth < 1 or depth != int(depth):
        raise ValueError(f"methods.{name}: depth must be a whole number, 1 or more")
    own = batches if part.get("batches") is None else _numbers(part, "batches")

    def curve(key: str) -> StepCurve | None:
        return None if part.get(key) is None else _curve(part, key, own)

    return MethodCurve(
        depth=int(depth),
        seconds=_curve(part, "seconds", own),
        relative_error=curve("relative_error"),
        idle=curve("idle_seconds"),
        prefill=curve("prefill_seconds_per_token"),
        length=_length(part),
        drafted=None if part.get("draft_tokens_per_step") is None else _number(part, "draft_tokens_per_step"),
    )


def _length(part: Mapping[str, Any]) -> float | None:
    """Of the run: as stated, else from the acceptance per position that was set."""
    if part.get("tokens_per_step") is not None:
        return _number(part, "tokens_per_step")
    return None if part.get("acceptance") is None else 1.0 + sum(_numbers(part, "acceptance"))


def _linear(top: Mapping[str, Any]) -> LinearSteps:
    target = _object(top["constants"], "constants")
    drafters = {
        name: DraftConstants(**{key: _number(_object(part, f"drafters.{name}"), key, 0.0) for key in _DRAFT_KEYS})
        for name, part in _object(top.get("drafters"), "drafters").items()
    }
    batches = _numbers(top, "batches")
    error = top.get("relative_error")
    constants = StepConstants(**{key: _number(target, key) for key in _TARGET_KEYS})
    if constants.fixed + constants.overhead <= 0.0:
        raise ValueError("constants: fixed and overhead cannot both be 0")
    return LinearSteps(
        constants,
        drafters,
        batches=(min(batches), max(batches)),
        context=_number(top, "context_tokens"),
        relative_error=None if error is None else _number(top, "relative_error"),
    )


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be an object")  # noqa: TRY004 - one kind of error for one unusable file
    return value


def _text(part: Mapping[str, Any], key: str) -> str:
    value = part.get(key)
    if not isinstance(value, str) or not value.strip() or len(value) > 500:
        raise ValueError(f"{key} must be a text of 1 to 500 characters")
    return value


def _number(part: Mapping[str, Any], key: str, default: float | None = None) -> float:
    value = part.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < math.inf:
        raise ValueError(f"{key} must be a number, 0 or more, not {value!r}")
    return float(value)


def _numbers(part: Mapping[str, Any], key: str) -> tuple[float, ...]:
    values = part.get(key)
    if not isinstance(values, list) or not values:
        raise ValueError(f"{key} must be a list of numbers")
    return tuple(_number({key: value}, key) for value in values)


def _curve(part: Mapping[str, Any], key: str, batches: tuple[float, ...]) -> StepCurve:
    try:
        return StepCurve(batches, _numbers(part, key))
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error
