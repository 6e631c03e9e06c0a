"""A plan from the calls that make it, with its identity and its text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from specwatch_deploy.actuators.cluster import Json
from specwatch_deploy.actuators.yaml_text import yaml_text
from specwatch_detectors.fallback.actuator import ActuatorError, Plan, Shares
from specwatch_detectors.fallback.level import Level

CLOSE: Final = 1e-6
"""Difference up to which shares are the same."""


def planned(target: str, before: Shares, wanted: Shares, sent: Sequence[Json], foreign: str, observed: Any) -> Plan:
    """A plan.

    Args:
        target: what is moved, in words.
        before: shares now.
        wanted: shares wanted.
        sent: calls, from `AppliedObject.sent`; none if nothing has to change.
        foreign: who else manages the field, or empty.
        observed: what the plan stands on, without versions; part of the identity.
    """
    calls = tuple(deepcopy(call) for call in sent)
    head = f"{target}: {_shift(before, wanted)}"
    warning = [f"# managed by {foreign}"] if foreign else []
    parts = [_call_text(call) for call in calls] or ["# nothing to change\n"]
    return Plan(
        identity=_identity(target, wanted, calls, observed),
        shares=dict(wanted),
        before=dict(before),
        changes=calls,
        text="\n".join([f"# {head}", *warning, *parts]),
    )


def checked_shares(shares: Shares, levels: Sequence[Level]) -> dict[Level, float]:
    """Shares of all levels.

    Raises:
        ActuatorError: they are not shares of these levels.
    """
    strange = [level.value for level in shares if level not in levels]
    if strange:
        raise ActuatorError(f"there is no {', '.join(strange)} here; levels: {', '.join(levels)}", retry=False)
    if min(shares.values(), default=0.0) < 0.0 or abs(sum(shares.values()) - 1.0) > CLOSE:
        raise ActuatorError(f"shares must be 0 to 1 and together 1, got {dict(shares)}", retry=False)
    return {level: float(shares.get(level, 0.0)) for level in levels}


def only_level(shares: Shares, levels: Sequence[Level]) -> Level:
    """The level that gets everything, where the lever knows all or nothing.

    Raises:
        ActuatorError: the traffic would be split.
    """
    full = checked_shares(shares, levels)
    level = max(full, key=lambda one: full[one])
    if full[level] < 1.0 - CLOSE:
        raise ActuatorError("this lever moves all of the traffic or none of it", retry=False)
    return level


def same_shares(one: Shares, other: Shares, within: float = CLOSE) -> bool:
    """Whether two splits are the same, up to rounding."""
    return all(abs(one.get(level, 0.0) - other.get(level, 0.0)) <= within for level in {*one, *other})


def _identity(target: str, wanted: Shares, calls: Sequence[Json], observed: Any) -> str:
    told = {
        "target": target,
        "wanted": {level.value: share for level, share in sorted(wanted.items())},
        "calls": [_versionless(call) for call in calls],
        "observed": observed,
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]


def _versionless(call: Mapping[str, Any]) -> Json:
    body = deepcopy(call["body"])
    body["metadata"].pop("resourceVersion", None)
    return {**call, "body": body}


def _shift(before: Shares, wanted: Shares) -> str:
    levels = [level for level in Level if before.get(level, 0.0) or wanted.get(level, 0.0)]
    return ", ".join(
        f"{level.words} {100 * before.get(level, 0.0):.4g} % to {100 * wanted.get(level, 0.0):.4g} %"
        for level in levels
    )


def _call_text(call: Json) -> str:
    """The call as comments and the body as YAML: `kubectl apply --server-side -f -` takes it as it is."""
    query = "&".join(f"{key}={str(value).lower()}" for key, value in call["query"].items())
    head = f"# {call['method']} {call['path']}?{query}\n# Content-Type: {call['contentType']}\n"
    return head + yaml_text(call["body"])
