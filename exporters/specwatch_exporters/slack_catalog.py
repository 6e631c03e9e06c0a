"""The catalogue's rows of the Slack receiver: what came in, what Slack lacks, and why."""

from __future__ import annotations

from typing import Final

from specwatch_exporters.metric import Kind, Metric, Source


def _counter(name: str, labels: tuple[str, ...], text: str) -> Metric:
    return Metric(name, Kind.COUNTER, labels, text, Source.SLACK)


def _gauge(name: str, labels: tuple[str, ...], text: str) -> Metric:
    return Metric(name, Kind.GAUGE, labels, text, Source.SLACK)


QUEUE_DEPTH: Final = _gauge(
    "specwatch_slack_queue_depth",
    (),
    "Groups of alerts of which Slack lacks something: the message, an edit of it, or a reply in its thread.",
)
QUEUE_AGE: Final = _gauge(
    "specwatch_slack_queue_oldest_seconds",
    (),
    "How long the group waits that has waited longest. No sample while the queue is empty.",
)
DELIVERIES: Final = _counter(
    "specwatch_slack_deliveries_total",
    ("outcome",),
    "Webhooks of Alertmanager. accepted: written to the queue; malformed (400), unauthorized (401), too_large "
    "(413): refused, and Alertmanager does not send them again; busy, failed (503): it does.",
)
ALERTS: Final = _counter(
    "specwatch_slack_alerts_total",
    ("turn",),
    "Alerts in accepted deliveries: firing or resolved if that was news, repeated if it was known.",
)
CALLS: Final = _counter(
    "specwatch_slack_calls_total",
    ("method", "outcome"),
    "Calls of Slack's Web API by method. outcome: ok, Slack's name of the error, http_5xx, no_answer (done or not: "
    "searched for before it is repeated), unreached, token_file.",
)
TROUBLE: Final = _gauge(
    "specwatch_slack_trouble",
    ("kind",),
    "1 for each thing that keeps messages back now. kind: slack (down, or it limits the rate), token, channel, "
    "group (one message), history (a post cannot be searched for), picture.",
)
SENDING: Final = _gauge(
    "specwatch_slack_sending", (), "1 if this process sends; 0 while another one on the same database does."
)
ACTIONS: Final = _counter(
    "specwatch_slack_actions_total",
    ("action", "outcome"),
    "Buttons that people pressed. outcome: done, refused (not on the list), failed, expired; or of the request: "
    "unsigned, malformed, repeated.",
)

SLACK_CATALOG: Final[tuple[Metric, ...]] = (
    QUEUE_DEPTH,
    QUEUE_AGE,
    DELIVERIES,
    ALERTS,
    CALLS,
    TROUBLE,
    SENDING,
    ACTIONS,
)
