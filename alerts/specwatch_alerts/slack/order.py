"""What somebody asked for by a button: written down when it arrives, done afterwards, each once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from specwatch_alerts.slack import job_reading
from specwatch_alerts.slack.database import Database
from specwatch_alerts.slack.group_view import GroupView
from specwatch_alerts.slack.job import NOTE


@dataclass(frozen=True, slots=True)
class Order:
    """One press of a button.

    Attributes:
        key: the same for a repetition of the request.
        action: the button's action_id.
        group: which group.
        user: Slack's ID of who pressed it.
        channel: where.
        at: when it arrived, epoch seconds.
    """

    key: str
    action: str
    group: str
    user: str
    channel: str
    at: float


class OrderBook:
    """Orders in the queue's database.

    Args:
        database: the queue, a connection of its own.
        clock: epoch seconds.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def take(self, order: Order) -> bool:
        """Write an order down; False if it is known.

        Raises:
            sqlite3.Error: it could not be written.
        """
        with self._database.transaction() as connection:
            found = connection.execute(
                "INSERT INTO orders (key, at, action, group_id, user, channel) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (key) DO NOTHING",
                (order.key, order.at, order.action, order.group, order.user, order.channel),
            )
            return found.rowcount == 1

    def next(self) -> Order | None:
        """The oldest order that is not done."""
        with self._database.snapshot() as connection:
            row = connection.execute("SELECT * FROM orders WHERE done IS NULL ORDER BY at, key LIMIT 1").fetchone()
        if row is None:
            return None
        return Order(row["key"], row["action"], row["group_id"], row["user"], row["channel"], row["at"])

    def view(self, group: str) -> GroupView | None:
        """The group of an order, or None if it is not known any more."""
        with self._database.snapshot() as connection:
            row = connection.execute("SELECT * FROM groups WHERE id = ?", (group,)).fetchone()
            return None if row is None else job_reading.group_view(connection, row)

    def done(
        self, order: Order, note: str = "", *, acknowledged: str = "", silenced_until: float | None = None
    ) -> None:
        """The order was carried out or refused; a note is told in the thread."""
        now = self._clock()
        with self._database.transaction() as connection:
            connection.execute("UPDATE orders SET done = ? WHERE key = ?", (now, order.key))
            if note:
                _tell(connection, order.group, now, note)
            if acknowledged or silenced_until is not None:
                connection.execute(
                    "UPDATE groups SET acknowledged = CASE WHEN ? != '' THEN ? ELSE acknowledged END,"
                    " silenced_until = coalesce(?, silenced_until), revision = revision + 1 WHERE id = ?",
                    (acknowledged, acknowledged, silenced_until, order.group),
                )


def _tell(connection: sqlite3.Connection, group: str, now: float, note: str) -> None:
    connection.execute(
        "INSERT INTO changes (group_id, at, kind, page, words) SELECT id, ?, ?, 0, ? FROM groups WHERE id = ?",
        (now, NOTE, note, group),
    )
    connection.execute("UPDATE groups SET dirty = coalesce(dirty, ?) WHERE id = ?", (now, group))
