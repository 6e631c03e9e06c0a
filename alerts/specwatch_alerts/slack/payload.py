"""What Alertmanager posts to a webhook, version 4; unknown keys are accepted.

Format: Alertmanager's `notify/webhook` and `template.Data`. 0.33 added `notification_reason`, 0.25 lacks it, and
both say version 4: keys that are not read here may come and go.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

VERSION: Final = "4"


class PayloadError(ValueError):
    """The body is no webhook of Alertmanager; one line says why."""


class Status(StrEnum):
    """State of an alert."""

    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert of a delivery.

    Attributes:
        fingerprint: Alertmanager's hash of the labels.
        status: firing or resolved.
        starts_at: epoch seconds.
        ends_at: epoch seconds, or None while it fires: Alertmanager writes the year 1 then.
        labels: all labels.
        annotations: all annotations.
    """

    fingerprint: str
    status: Status
    starts_at: float
    ends_at: float | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One notification about one group.

    Attributes:
        group_key: Alertmanager's name of the group: route and group labels.
        receiver: name of the receiver in Alertmanager's configuration.
        external_url: address of Alertmanager for people, or empty.
        group_labels: labels that the group is made by.
        common_labels: labels that all alerts of the delivery share.
        alerts: as many as Alertmanager sends.
        truncated: alerts that were left out because of `max_alerts`.
    """

    group_key: str
    receiver: str
    external_url: str
    group_labels: Mapping[str, str]
    common_labels: Mapping[str, str]
    alerts: tuple[Alert, ...]
    truncated: int


def parse(body: bytes) -> Delivery:
    """Read a delivery.

    Raises:
        PayloadError: it is not JSON, of another version, or lacks what every delivery has.
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"the body is not JSON: {_one_line(error)}") from None
    if not isinstance(found, dict):
        raise PayloadError("the body is no JSON object")
    if found.get("version") != VERSION:
        raise PayloadError(f"version is {_shown(found.get('version'))}; only {VERSION!r} is understood")
    alerts = found.get("alerts")
    if not isinstance(alerts, list) or not alerts:
        raise PayloadError("alerts is no list with alerts in it")
    return Delivery(
        group_key=_text(found, "groupKey", "the delivery", required=True),
        receiver=_text(found, "receiver", "the delivery"),
        external_url=_text(found, "externalURL", "the delivery"),
        group_labels=_texts(found, "groupLabels", "the delivery"),
        common_labels=_texts(found, "commonLabels", "the delivery"),
        alerts=tuple(_alert(alert, f"alerts[{number}]") for number, alert in enumerate(alerts)),
        truncated=_count(found.get("truncatedAlerts")),
    )


def _alert(found: Any, where: str) -> Alert:
    if not isinstance(found, dict):
        raise PayloadError(f"{where} is no object")
    try:
        status = Status(str(found.get("status")))
    except ValueError:
        raise PayloadError(f"{where}.status is {_shown(found.get('status'))}: firing or resolved") from None
    labels = _texts(found, "labels", where)
    starts_at = _time(found, "startsAt", where)
    if starts_at is None:
        raise PayloadError(f"{where} has no startsAt")
    return Alert(
        fingerprint=_text(found, "fingerprint", where) or _fingerprint(labels),
        status=status,
        starts_at=starts_at,
        ends_at=_time(found, "endsAt", where) if status is Status.RESOLVED else None,
        labels=labels,
        annotations=_texts(found, "annotations", where),
    )


def _text(found: Mapping[str, Any], key: str, where: str, *, required: bool = False) -> str:
    value = found.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value):
        raise PayloadError(f"{key} of {where} is {_shown(value)}, not a text")
    return _clean(value)


def _texts(found: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    value = found.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise PayloadError(f"{key} of {where} is not an object of texts")
    return {_clean(name): _clean(one) for name, one in value.items()}


def _time(found: Mapping[str, Any], key: str, where: str) -> float | None:
    text = _text(found, key, where)
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        seconds = moment.timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        seconds = None
    if seconds is None:
        raise PayloadError(f"{key} of {where} is {_shown(text)}, not a time such as 2026-01-31T12:00:00Z")
    return seconds if seconds > 0.0 else None


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _fingerprint(labels: Mapping[str, str]) -> str:
    """For senders that leave it out: any name that is the same for the same labels will do."""
    return hashlib.sha256(json.dumps(sorted(labels.items())).encode()).hexdigest()[:16]


def _clean(text: str) -> str:
    """Without lone surrogates, which JSON can carry and neither SQLite nor Slack takes."""
    return text.encode("utf-8", errors="replace").decode()


def _shown(value: Any) -> str:
    words = repr(value)
    return words if len(words) <= 60 else f"{words[:59]}…"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:120]
