"""A sender with a clock of its own, beside the tests' Slack; and bodies as Alertmanager posts them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from alerts.slack.slack_server import CHANNEL, TOKEN, SlackServer
from specwatch_alerts.slack.database import Database
from specwatch_alerts.slack.evidence_gathering import NoEvidence
from specwatch_alerts.slack.intake import Accepted, Intake
from specwatch_alerts.slack.outbox import Outbox
from specwatch_alerts.slack.payload import parse
from specwatch_alerts.slack.secret_file import SecretFile
from specwatch_alerts.slack.sender import EvidenceSource, Sender
from specwatch_alerts.slack.sender_settings import SenderSettings
from specwatch_alerts.slack.slack_api import SlackApi
from specwatch_alerts.slack.slack_metrics import SlackMetrics
from specwatch_alerts.slack.trouble_board import TroubleBoard
from specwatch_exporters import slack_catalog

T0 = 1_700_000_000.0
SETTINGS = SenderSettings(CHANNEL, pace_s=1.2, settle_s=5.0, jitter=lambda: 1.0)


def written(seconds: float | None) -> str:
    """A time as Alertmanager writes it."""
    if seconds is None:
        return "0001-01-01T00:00:00Z"
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def alert(
    pod: str = "vllm-0",
    start: float = T0,
    end: float | None = None,
    *,
    severity: str = "page",
    annotations: Mapping[str, str] | None = None,
    **labels: str,
) -> dict[str, Any]:
    """One alert; it is resolved if it has an end."""
    names = {
        "alertname": "SpecwatchDraftDriftedNotPaying",
        "severity": severity,
        "component": "draft",
        "model": "llama",
        "namespace": "chat",
        "pod": pod,
        **labels,
    }
    return {
        "status": "firing" if end is None else "resolved",
        "labels": names,
        "annotations": {"summary": "Draft drifted", "impact": "Answers are 6 % slower.", **(annotations or {})},
        "startsAt": written(start),
        "endsAt": written(end),
        "generatorURL": "http://prometheus.example.com/graph",
        "fingerprint": f"fp-{names['alertname']}-{pod}",
    }


def body(*alerts: dict[str, Any], group: str = "llama", **more: Any) -> bytes:
    """A delivery."""
    common = set(alerts[0]["labels"].items()).intersection(*(one["labels"].items() for one in alerts))
    found = {
        "version": "4",
        "groupKey": f'{{}}:{{model="{group}"}}',
        "truncatedAlerts": 0,
        "status": "firing" if any(one["status"] == "firing" for one in alerts) else "resolved",
        "receiver": "slack",
        "groupLabels": {"model": group},
        "commonLabels": dict(sorted(common)),
        "commonAnnotations": {},
        "externalURL": "http://alertmanager.example.com",
        "alerts": list(alerts),
        **more,
    }
    return json.dumps(found).encode()


@dataclass
class Rig:
    """One receiver's queue and sender, stepped by hand.

    Attributes:
        slack: the workspace.
        folder: where database and token lie.
        settings: of the sender.
        evidence: of the sender.
        now: the clock.
    """

    slack: SlackServer
    folder: Path
    settings: SenderSettings = SETTINGS
    evidence: EvidenceSource = field(default_factory=NoEvidence)
    now: float = T0

    def __post_init__(self) -> None:
        self.slack.now = self.clock
        self.token = self.folder / "token"
        if not self.token.exists():
            self.token.write_text(f"{TOKEN}\n")
        self.troubles = TroubleBoard(self.clock)
        self.databases = [Database(self.folder / "queue.db") for _ in range(3)]
        self.intake = Intake(self.databases[0], self.clock)
        self.metrics = SlackMetrics(self.databases[2], self.troubles, lambda: True, self.clock)
        api = SlackApi(SecretFile(self.token, "--token-file"), self.slack.url, 5.0, self._count)
        self.outbox = Outbox(self.databases[1], self.clock)
        self.sender = Sender(self.outbox, api, self.evidence, self.settings, self.clock, self.troubles)

    def clock(self) -> float:
        return self.now

    def deliver(self, *alerts: dict[str, Any], **more: Any) -> Accepted:
        """Alertmanager posts."""
        return self.intake.accept(parse(body(*alerts, **more)))

    def depth(self) -> int:
        """Groups that Slack lacks something of."""
        return self.metrics.queue()[0]

    def run(self, seconds: float = 600.0, until: Callable[[], bool] | None = None) -> None:
        """Step, and let the time pass that each step wants, until nothing is left."""
        end = self.now + seconds
        while self.now < end and self.depth() and not (until is not None and until()):
            self.now += max(0.01, self.sender.step())

    def calls(self) -> dict[tuple[str, str], float]:
        """Calls by method and outcome."""
        samples = [one for family in self.metrics.collect() for one in family.samples]
        return {
            (one.labels["method"], one.labels["outcome"]): one.value
            for one in samples
            if one.name == slack_catalog.CALLS.name
        }

    def restarted(self, **changes: Any) -> Rig:
        """What a new process finds."""
        self.close()
        return replace(self, **changes)

    def close(self) -> None:
        for database in self.databases:
            database.close()

    def _count(self, method: str, outcome: str) -> None:
        self.metrics.count(slack_catalog.CALLS, method, outcome)


def pods(count: int) -> Sequence[str]:
    """Names of pods."""
    return [f"vllm-{number}" for number in range(count)]
