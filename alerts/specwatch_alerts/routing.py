"""Who is told of an alert, and how soon: receivers and routes of Alertmanager."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from specwatch_alerts.inhibition import OURS


@dataclass(frozen=True, slots=True)
class Severities:
    """Values of the label `severity`, as the rules were built with."""

    page: str = "page"
    ticket: str = "ticket"
    info: str = "info"


@dataclass(frozen=True, slots=True)
class Pace:
    """How soon and how often a group is told, in Prometheus durations.

    Attributes:
        wait: to gather a group before it is told first. An inhibiting alert must arrive within it: the fallback is
            told at once, and what it mutes waits for minutes.
        interval: between two messages of a group that changed; one for all, or an inhibition ends unevenly.
        page_repeat: until an unchanged page is told again.
        ticket_repeat: likewise for tickets and notices.
    """

    wait: str = "30s"
    interval: str = "2m"
    page_repeat: str = "4h"
    ticket_repeat: str = "24h"


@dataclass(frozen=True, slots=True)
class Receivers:
    """Where messages go.

    Attributes:
        slack_url: webhook of `specwatch slack run`.
        slack_token_file: file, on Alertmanager's machine, with the bearer token that it wants, or None.
        pager_url: webhook of a pager, or None.
        pagerduty_key_file: file, on Alertmanager's machine, with PagerDuty's routing key, or None.
    """

    slack_url: str
    slack_token_file: str | None = None
    pager_url: str | None = None
    pagerduty_key_file: str | None = None

    @property
    def paged(self) -> bool:
        """Whether anything but Slack is told of pages."""
        return self.pager_url is not None or self.pagerduty_key_file is not None


@dataclass(frozen=True, slots=True)
class Routing:
    """All that a configuration is made from."""

    receivers: Receivers
    severities: Severities = field(default_factory=Severities)
    pace: Pace = field(default_factory=Pace)


def route(routing: Routing) -> dict[str, Any]:
    """The tree of routes.

    Our alert of a severity that is not known here rings as a page: the rules may have been built with other names.
    Other people's alerts that match nothing are tickets. Pages are grouped by alert, so that a second problem rings
    again; tickets and notices by model.
    """
    pace, severities = routing.pace, routing.severities
    tickets, notices = (
        {
            "matchers": [f'severity="{severity}"'],
            "receiver": f"specwatch-{name}",
            "group_by": ["cluster", "namespace", "model"],
            "repeat_interval": pace.ticket_repeat,
        }
        for name, severity in (("ticket", severities.ticket), ("info", severities.info))
    )
    ours = {
        "matchers": [OURS],
        "receiver": "specwatch-page",
        "group_by": ["cluster", "namespace", "model", "alertname"],
        "group_wait": pace.wait,
        "group_interval": pace.interval,
        "repeat_interval": pace.page_repeat,
        "routes": [tickets, notices],
    }
    return {"receiver": "specwatch-ticket", "routes": [ours]}


def receivers(routing: Routing) -> list[dict[str, Any]]:
    """One receiver per severity; Slack hears of everything, the pager of pages."""
    own = routing.receivers
    page: dict[str, Any] = {"name": "specwatch-page", "webhook_configs": [_slack(own)]}
    if own.pager_url is not None:
        page["webhook_configs"].append({"url": own.pager_url, "send_resolved": True})
    if own.pagerduty_key_file is not None:
        page["pagerduty_configs"] = [{"routing_key_file": own.pagerduty_key_file, "send_resolved": True}]
    others = [{"name": name, "webhook_configs": [_slack(own)]} for name in ("specwatch-ticket", "specwatch-info")]
    return [page, *others]


def _slack(own: Receivers) -> dict[str, Any]:
    hook: dict[str, Any] = {"url": own.slack_url, "send_resolved": True}
    if own.slack_token_file is not None:
        hook["http_config"] = {"authorization": {"type": "Bearer", "credentials_file": own.slack_token_file}}
    return hook
