"""What Slack has not got yet: which group is next, and what became of what was sent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from specwatch_alerts.slack import job_reading
from specwatch_alerts.slack.database import Database
from specwatch_alerts.slack.job import Intent, Job


class Outbox:
    """The sender's side of the queue.

    Args:
        database: the queue, a connection of its own.
        clock: epoch seconds.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def next(self) -> Job | None:
        """The group to send next: pages first, then who waits longest."""
        with self._database.snapshot() as connection:
            row = connection.execute(
                "SELECT * FROM groups WHERE dirty IS NOT NULL AND due <= ? ORDER BY page DESC, dirty LIMIT 1",
                (self._clock(),),
            ).fetchone()
            return None if row is None else job_reading.job(connection, row)

    def next_due(self) -> float | None:
        """When the next group may be sent, epoch seconds; None if nothing is left."""
        with self._database.snapshot() as connection:
            found = connection.execute("SELECT min(due) FROM groups WHERE dirty IS NOT NULL").fetchone()[0]
        return None if found is None else float(found)

    def begin(self, job: Job, intent: Intent) -> None:
        """Write down that a post begins."""
        self._set(job, "intent = ?", json.dumps(asdict(intent)))

    def posted_root(self, job: Job, intent: Intent, ts: str) -> None:
        """The group's message is there."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE groups SET root = ?, channel = ?, shown = ?, intent = '', failures = 0 WHERE id = ?",
                (ts, intent.channel, intent.revision, job.view.group),
            )
            _told(connection, job.view.group, intent.upto)

    def posted_reply(self, job: Job, intent: Intent) -> None:
        """Changes were told in the thread."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE groups SET intent = '', failures = 0 WHERE id = ?", (job.view.group,))
            _told(connection, job.view.group, intent.upto)

    def updated(self, job: Job, not_before: float) -> None:
        """The message shows the revision that the job had."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE groups SET shown = ?, due = ?, failures = 0 WHERE id = ?",
                (job.revision, not_before, job.view.group),
            )
            _settle(connection, job.view.group)

    def forget_intent(self, job: Job) -> None:
        """The post did certainly not happen."""
        self._set(job, "intent = ''")

    def forget_root(self, job: Job) -> None:
        """The message is gone: the next one is posted anew."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE groups SET root = '', channel = '', roots = roots + 1, shown = 0, intent = '' WHERE id = ?",
                (job.view.group,),
            )

    def picture_tried(self, job: Job) -> None:
        """The picture is tried once, before anybody knows how it ends: it must not come twice."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE groups SET pictured = 1 WHERE id = ?", (job.view.group,))

    def leaner(self, job: Job) -> None:
        """Slack refused the message's form: say less."""
        self._set(job, "lean = lean + 1, intent = ''")

    def defer(self, job: Job, until: float) -> None:
        """Try this group later."""
        self._set(job, "due = ?, failures = failures + 1", until)

    def defer_receiver(self, receiver: str, until: float) -> None:
        """Try all groups of a receiver later: its channel cannot be used."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE groups SET due = max(due, ?) WHERE receiver = ? AND dirty IS NOT NULL", (until, receiver)
            )

    def prune(self, before: float) -> int:
        """Forget groups that were over and told before a time; how many."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM orders WHERE done IS NOT NULL AND at < ?", (before,))
            return connection.execute("DELETE FROM groups WHERE dirty IS NULL AND closed < ?", (before,)).rowcount

    def _set(self, job: Job, assignment: str, *values: Any) -> None:
        with self._database.transaction() as connection:
            connection.execute(f"UPDATE groups SET {assignment} WHERE id = ?", (*values, job.view.group))  # noqa: S608


def _told(connection: sqlite3.Connection, group: str, upto: int) -> None:
    connection.execute("DELETE FROM changes WHERE group_id = ? AND id <= ?", (group, upto))
    _settle(connection, group)


def _settle(connection: sqlite3.Connection, group: str) -> None:
    """A group is clean once its message is there, shows the latest revision, and its thread lacks nothing."""
    connection.execute(
        "UPDATE groups SET dirty = NULL WHERE id = ? AND root != '' AND shown = revision AND intent = ''"
        " AND NOT EXISTS (SELECT 1 FROM changes WHERE group_id = groups.id)",
        (group,),
    )
