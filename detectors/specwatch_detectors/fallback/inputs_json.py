"""What the policy is told and what it decides, as JSON of the audit log, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specwatch_detectors.fallback.audit_log import LATEST
from specwatch_detectors.fallback.decision import Act, Decision, Veto
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.payoff.payoff import Bounds
from specwatch_detectors.reading import DriftState


def inputs_as_json(inputs: FallbackInputs) -> dict[str, Any]:
    """Inputs as JSON; what is unknown, false or empty is left out."""
    body: dict[str, Any] = {
        "now": inputs.now,
        "measured_at": inputs.measured_at,
        "speedup": {level.value: _triple(bounds) for level, bounds in inputs.speedup.items()},
        "effective_drafts": round(inputs.effective_drafts, 3),
        "drift": inputs.drift.value,
        "rollout": inputs.rollout,
        "scaling": inputs.scaling,
        "adapts": inputs.adapts,
        "revision": inputs.revision,
        "probe": None if inputs.probe is None else _triple(inputs.probe),
    }
    return {name: value for name, value in body.items() if isinstance(value, float) or value}


def inputs_from_json(body: Mapping[str, Any]) -> FallbackInputs:
    """Read what `inputs_as_json` wrote.

    Raises:
        ValueError: it is nothing that the policy can be told; one line.
    """
    try:
        probe = body.get("probe")
        return FallbackInputs(
            now=_time(body["now"]),
            measured_at=None if body.get("measured_at") is None else _time(body["measured_at"]),
            speedup={Level(name): _bounds(value) for name, value in body.get("speedup", {}).items()},
            effective_drafts=float(body.get("effective_drafts", 0.0)),
            drift=DriftState(body.get("drift", DriftState.CANNOT_TELL)),
            rollout=bool(body.get("rollout", False)),
            scaling=bool(body.get("scaling", False)),
            adapts=str(body.get("adapts", "")),
            revision=str(body.get("revision", "")),
            probe=None if probe is None else _bounds(probe),
        )
    except KeyError as error:
        raise ValueError(f"no inputs of the policy: {error} is missing") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"no inputs of the policy: {error}") from error


def decision_as_json(decision: Decision) -> dict[str, Any]:
    """A decision as JSON."""
    body = {"act": decision.act.value, "level": decision.level.value, "reason": decision.reason}
    return body if decision.veto is None else {**body, "veto": decision.veto.value}


def decision_from_json(body: Mapping[str, Any]) -> Decision:
    """Read what `decision_as_json` wrote.

    Raises:
        ValueError: it is no decision.
    """
    try:
        veto = None if body.get("veto") is None else Veto(body["veto"])
        return Decision(Act(body["act"]), Level(body["level"]), str(body["reason"]), veto)
    except (KeyError, TypeError) as error:
        raise ValueError(f"no decision of the policy: {error}") from error


def _time(value: Any) -> float:
    time = float(value)
    if not 0.0 <= time < LATEST:  # NaN fails too
        raise ValueError(f"{value} is no time in epoch seconds")
    return time


def _triple(bounds: Bounds) -> list[float]:
    return [bounds.lower, bounds.estimate, bounds.upper]


def _bounds(value: Any) -> Bounds:
    lower, estimate, upper = (float(part) for part in value)
    if not 0.0 <= lower <= estimate <= upper:  # NaN fails too
        raise ValueError(f"bounds must be three numbers that do not fall, got {value}")
    return Bounds(lower, estimate, upper)
