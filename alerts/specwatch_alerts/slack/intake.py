"""Takes deliveries into the queue: when `accept` returns, they survive anything but the loss of the disk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_alerts.slack.alert_turn import Held, Turn, turn
from specwatch_alerts.slack.database import Database
from specwatch_alerts.slack.group_identity import group_id
from specwatch_alerts.slack.group_view import alert_name
from specwatch_alerts.slack.payload import Alert, Delivery, Status
from specwatch_alerts.slack.severity_sign import PAGE, rank

REOPEN_S: Final = 1800.0
"""Seconds in which a group that fires again goes on in its message; later it gets a new one."""

_MOST_WORDS: Final = 200


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a delivery brought.

    Attributes:
        firing: alerts that began.
        resolved: alerts that ended.
        repeated: alerts that were known to be so.
    """

    firing: int
    resolved: int
    repeated: int


def pod_of(labels: Mapping[str, str]) -> str:
    """The pod that an alert is about, else its instance, else empty."""
    return labels.get("pod", "").strip() or labels.get("instance", "").strip()


class Intake:
    """Writes deliveries down.

    Args:
        database: the queue, a connection of its own.
        clock: epoch seconds.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def accept(self, delivery: Delivery) -> Accepted:
        """Take a delivery; a repeated one changes nothing.

        Raises:
            sqlite3.Error: it could not be written; nothing of it is.
        """
        now, group = self._clock(), group_id(delivery)
        with self._database.transaction() as connection:
            known = _known(connection, group)
            turns = _turns(delivery.alerts, known, now)
            news = [(alert, what) for alert, what in turns if what is not Turn.NOTHING]
            if news:
                _open(connection, group, delivery, now, fires=any(what is Turn.FIRING for _, what in news))
                _write(connection, group, news, now)
                _tell(connection, group, news, now)
                _mark(connection, group, now)
        firing = sum(what is Turn.FIRING for _, what in news)
        return Accepted(firing, len(news) - firing, len(turns) - len(news))


def _known(connection: sqlite3.Connection, group: str) -> dict[str, Held]:
    rows = connection.execute(
        "SELECT fingerprint, status, starts_at, ends_at, heard FROM alerts WHERE group_id = ?", (group,)
    )
    return {
        row["fingerprint"]: Held(Status(row["status"]), row["starts_at"], row["ends_at"], row["heard"])
        for row in rows
    }


def _turns(alerts: Iterable[Alert], known: dict[str, Held], now: float) -> list[tuple[Alert, Turn]]:
    """Each alert with what it brings; one that stands twice in a delivery counts with what it said before."""
    found = []
    for alert in alerts:
        before = known.get(alert.fingerprint)
        what = turn(before, alert, now)
        found.append((alert, what))
        if what is not Turn.NOTHING:
            ended = alert.ends_at if alert.ends_at is not None or before is None else before.ends_at
            known[alert.fingerprint] = Held(alert.status, alert.starts_at, ended, now)
    return found


def _open(connection: sqlite3.Connection, group: str, delivery: Delivery, now: float, *, fires: bool) -> None:
    """Make the group, or begin its next episode if the last one is over and told."""
    about = (
        json.dumps(dict(delivery.group_labels), sort_keys=True),
        json.dumps(dict(delivery.common_labels), sort_keys=True),
        delivery.external_url,
        delivery.truncated,
    )
    connection.execute(
        "INSERT INTO groups (id, receiver, group_labels, common_labels, external_url, truncated, opened)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET group_labels = excluded.group_labels,"
        " common_labels = excluded.common_labels, external_url = excluded.external_url,"
        " truncated = excluded.truncated",
        (group, delivery.receiver, *about, now),
    )
    over = connection.execute(
        "SELECT 1 FROM groups WHERE id = ? AND closed < ? AND dirty IS NULL", (group, now - REOPEN_S)
    ).fetchone()
    if over and fires:
        connection.execute("DELETE FROM alerts WHERE group_id = ?", (group,))
        connection.execute(
            "UPDATE groups SET episode = episode + 1, opened = ?, closed = NULL, root = '', channel = '',"
            " roots = 0, shown = 0, revision = 0, page = 0, lean = 0, pictured = 0, acknowledged = '',"
            " silenced_until = NULL WHERE id = ?",
            (now, group),
        )


def _write(connection: sqlite3.Connection, group: str, news: Sequence[tuple[Alert, Turn]], now: float) -> None:
    connection.executemany(
        "INSERT INTO alerts (group_id, fingerprint, status, starts_at, ends_at, heard, rank, pod, labels,"
        " annotations) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (group_id, fingerprint) DO UPDATE SET"
        " status = excluded.status, starts_at = excluded.starts_at,"
        " ends_at = coalesce(excluded.ends_at, alerts.ends_at), heard = excluded.heard, rank = excluded.rank,"
        " pod = excluded.pod, labels = excluded.labels, annotations = excluded.annotations",
        (
            (
                group,
                alert.fingerprint,
                alert.status.value,
                alert.starts_at,
                (alert.ends_at or now) if alert.status is Status.RESOLVED else None,
                now,
                rank(alert.labels, alert.annotations),
                pod_of(alert.labels),
                json.dumps(dict(alert.labels), sort_keys=True),
                json.dumps(dict(alert.annotations), sort_keys=True),
            )
            for alert, _ in news
        ),
    )


def _tell(connection: sqlite3.Connection, group: str, news: Sequence[tuple[Alert, Turn]], now: float) -> None:
    told = {alert.fingerprint for alert, _ in news}
    if len(told) == len(news):  # all at one time: so that the thread has one line of each kind
        news = sorted(news, key=lambda one: one[1] is Turn.RESOLVED)
    connection.executemany(
        "INSERT INTO changes (group_id, at, kind, page, words) VALUES (?, ?, ?, ?, ?)",
        (
            (group, now, what.value, rank(alert.labels, alert.annotations) == PAGE, _words(alert))
            for alert, what in news
        ),
    )


def _words(alert: Alert) -> str:
    name = alert_name(alert.labels)
    pod = pod_of(alert.labels)
    return (f"{name} on {pod}" if pod else name)[:_MOST_WORDS]


def _mark(connection: sqlite3.Connection, group: str, now: float) -> None:
    connection.execute(
        "UPDATE groups SET revision = revision + 1, dirty = coalesce(dirty, ?),"
        " page = max(page, (SELECT coalesce(max(rank), 0) = 2 FROM alerts WHERE group_id = groups.id)),"
        " closed = CASE WHEN EXISTS (SELECT 1 FROM alerts WHERE group_id = groups.id AND status = 'firing')"
        " THEN NULL ELSE ? END WHERE id = ?",
        (now, now, group),
    )
