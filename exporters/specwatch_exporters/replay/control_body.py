"""Check what comes in under `/replay/`, with messages that say what would be right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from specwatch_exporters.replay.chain import Rates, checked_rates
from specwatch_exporters.replay.faults import FaultMode, FaultTarget
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings

CLEAR = "none"
"""Mode that ends all failures."""


@dataclass(frozen=True, slots=True)
class FaultOrder:
    """A checked order to fail; `mode` None clears everything.

    Attributes:
        seconds: how long; None until cleared.
        delay: seconds before an answer, for the mode `slow`.
    """

    mode: FaultMode | None
    target: FaultTarget = FaultTarget.ALL
    seconds: float | None = None
    delay: float = 0.0


def settings_changes(body: Mapping[str, Any], settings: ReplaySettings) -> dict[str, Any]:
    """Translate a `/replay/config` body into fields of `ReplaySettings`.

    Raises:
        ValueError: with the message for the caller.
    """
    _only(body, tuple(_FIELDS))
    if not body:
        raise ValueError(f"nothing to change; known keys: {', '.join(_FIELDS)}")
    changes: dict[str, Any] = {}
    for key, value in body.items():
        field, read = _FIELDS[key]
        changes[field] = read(key, value, settings)
    return changes


def fault_order(body: Mapping[str, Any]) -> FaultOrder:
    """Check a `/replay/fail` body.

    Raises:
        ValueError: with the message for the caller.
    """
    _only(body, ("mode", "target", "seconds", "delay_s"))
    mode = body.get("mode")
    if mode == CLEAR:
        return FaultOrder(None)
    known = [item.value for item in FaultMode]
    if mode not in known:
        raise ValueError(f"mode must be one of {', '.join([*known, CLEAR])}, got {mode!r}")
    target = body.get("target", FaultTarget.ALL.value)
    targets = [item.value for item in FaultTarget]
    if target not in targets:
        raise ValueError(f"target must be one of {', '.join(targets)}, got {target!r}")
    return _checked_order(FaultMode(mode), FaultTarget(target), body)


def down_seconds(body: Mapping[str, Any]) -> float:
    """Check a `/replay/restart` body: seconds during which nobody listens, 0 when not given.

    Raises:
        ValueError: with the message for the caller.
    """
    _only(body, ("down_s",))
    return _number("down_s", body.get("down_s", 0.0), low=0.0, high=3600.0)


def _checked_order(mode: FaultMode, target: FaultTarget, body: Mapping[str, Any]) -> FaultOrder:
    given = body.get("seconds")
    seconds = None if given is None else _number("seconds", given, low=0.0, high=3600.0)
    delay = _number("delay_s", body.get("delay_s", 0.0), low=0.0, high=3600.0)
    if mode in {FaultMode.REFUSE, FaultMode.STALL} and target is not FaultTarget.ALL:
        raise ValueError(f"mode {mode.value!r} concerns the whole engine; leave target out")
    if mode is FaultMode.REFUSE and not seconds:
        raise ValueError("mode 'refuse' needs seconds above 0: nobody could tell the engine to listen again")
    if mode is FaultMode.SLOW and delay == 0:
        raise ValueError("mode 'slow' needs delay_s above 0")
    return FaultOrder(mode, target, seconds, delay)


def _only(body: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = sorted(set(body) - set(known))
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; known keys: {', '.join(known)}")


def _number(name: str, value: object, *, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}, got {value!r}")
    return float(value)


def _real(name: str, value: Any, _settings: ReplaySettings) -> float:
    return _number(name, value, low=0.0, high=100_000.0)


def _integer(name: str, value: Any, _settings: ReplaySettings) -> int:
    if type(value) is not int or not 0 <= value <= 1_000_000:
        raise ValueError(f"{name} must be a whole number from 0 to 1000000, got {value!r}")
    return value


def _text(name: str, value: Any, _settings: ReplaySettings) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be a non-empty string, got {value!r}")
    return value


def _flag(name: str, value: Any, _settings: ReplaySettings) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}")  # noqa: TRY004 (one type for callers)
    return value


def _per_request(name: str, value: Any, _settings: ReplaySettings) -> PerRequest:
    known = [item.value for item in PerRequest]
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    return PerRequest(value)


def _acceptance(name: str, value: Any, settings: ReplaySettings) -> dict[str, Rates]:
    """One list for all classes, or an object of lists by class."""
    if isinstance(value, list):
        return dict.fromkeys(settings.class_names, _rates(name, value))
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{name} must be a list of rates, or an object of such lists by class")
    return {key: _rates(f"{name}.{key}", rates) for key, rates in value.items()}


def _rates(name: str, value: Any) -> Rates:
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list of rates, got {value!r}")  # noqa: TRY004 (one type for callers)
    for rate in value:
        _number(f"{name}: a rate", rate, low=0.0, high=1.0)
    return checked_rates(value)


_FIELDS: dict[str, tuple[str, Callable[[str, Any, ReplaySettings], Any]]] = {
    "acceptance": ("acceptance", _acceptance),
    "slots": ("slots", _integer),
    "k": ("live_k", _integer),
    "speed": ("speed", _real),
    "per_request": ("per_request", _per_request),
    "timings": ("timings", _flag),
    "draft_probability": ("draft_probability", _real),
    "count_aborts": ("count_aborts", _flag),
    "method": ("method", _text),
    "profile": ("profile", _text),
    "model": ("model", _text),
    "num_speculative_tokens": ("num_speculative_tokens", _integer),
}
"""Keys of `/replay/config`: the field behind each, and how to read it."""
