"""One group as it is now: what its message is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specwatch_alerts.slack.payload import Status


def alert_name(labels: Mapping[str, str]) -> str:
    """The name of an alert as people say it."""
    return labels.get("alertname", "").strip().removeprefix("Specwatch") or "an alert without a name"


@dataclass(frozen=True, slots=True)
class AlertView:
    """One alert of a group, for all of its name and status.

    Attributes:
        status: firing or resolved.
        starts_at: epoch seconds.
        ends_at: epoch seconds of its last end, or None.
        labels: all labels.
        annotations: all annotations.
        count: alerts of this name and status in the group.
    """

    status: Status
    starts_at: float
    ends_at: float | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    count: int = 1

    @property
    def name(self) -> str:
        """The alert's name as people say it."""
        return alert_name(self.labels)

    @property
    def severity(self) -> str:
        """Its label; empty if it has none."""
        return self.labels.get("severity", "").strip()

    def annotation(self, name: str) -> str:
        """An annotation, or empty; blanks are nothing."""
        return self.annotations.get(name, "").strip()


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
        alerts: one alert per name, those first that weigh most: of those that fire, else of those that have ended;
            some of them if there are many names.
        names: how many names there are.
        pods: some of the pods of firing alerts.
        pod_count: how many pods there are.
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
    names: int = 1
    pods: tuple[str, ...] = ()
    pod_count: int = 0
    acknowledged: str = ""
    silenced_until: float | None = None

    def label(self, name: str) -> str:
        """A label's value if all alerts share it, else empty."""
        return self.common_labels.get(name) or self.group_labels.get(name) or ""

    def annotation(self, name: str) -> str:
        """An annotation of the alert that weighs most, or empty."""
        return self.alerts[0].annotation(name) if self.alerts else ""

    @property
    def severity(self) -> str:
        """The label of the alert that weighs most."""
        return self.alerts[0].severity if self.alerts else ""
