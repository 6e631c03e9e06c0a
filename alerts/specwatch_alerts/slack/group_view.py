"""One group as it is now: what its message is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specwatch_alerts.slack.payload import Status


@dataclass(frozen=True, slots=True)
class AlertView:
    """One alert of a group.

    Attributes:
        status: firing or resolved.
        starts_at: epoch seconds.
        ends_at: epoch seconds of its last end, or None.
        labels: all labels.
        annotations: all annotations.
    """

    status: Status
    starts_at: float
    ends_at: float | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GroupView:
    """One group.

    Attributes:
        group: its id.
        receiver: Alertmanager's receiver.
        group_labels: labels that make the group.
        common_labels: labels that its alerts share.
        external_url: address of Alertmanager for people, or empty.
        firing: alerts that fire.
        resolved: alerts that have ended in this episode.
        truncated: alerts that Alertmanager left out of its last delivery.
        began: earliest start of those that fire, else of all; epoch seconds.
        ended: latest end; epoch seconds, or None while one fires.
        pages: whether an alert of this episode pages.
        alerts: some of the alerts, those first that fire and weigh most.
        pods: some of the pods of firing alerts.
        acknowledged: Slack user who looks after it, or empty.
        silenced_until: epoch seconds, or None.
    """

    group: str
    receiver: str
    group_labels: Mapping[str, str]
    common_labels: Mapping[str, str]
    external_url: str
    firing: int
    resolved: int
    truncated: int
    began: float
    ended: float | None
    pages: bool
    alerts: tuple[AlertView, ...]
    pods: tuple[str, ...] = ()
    acknowledged: str = ""
    silenced_until: float | None = None

    def label(self, name: str) -> str:
        """A label's value if all alerts share it, else empty."""
        return self.common_labels.get(name) or self.group_labels.get(name) or ""

    def annotation(self, name: str) -> str:
        """An annotation of the alert that weighs most, or empty."""
        return self.alerts[0].annotations.get(name, "") if self.alerts else ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the alerts shown, each once."""
        return tuple(dict.fromkeys(alert.labels.get("alertname", "an alert") for alert in self.alerts))

    @property
    def severity(self) -> str:
        """The label of the alert that weighs most."""
        return self.alerts[0].labels.get("severity", "") if self.alerts else ""
