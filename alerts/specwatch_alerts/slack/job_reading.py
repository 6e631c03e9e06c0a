"""Reads a group's work from the database; counts all, loads some: a group may have thousands of alerts."""

from __future__ import annotations

import json
import sqlite3
from typing import Final

from specwatch_alerts.slack.group_view import AlertView, GroupView
from specwatch_alerts.slack.job import Change, Intent, Job
from specwatch_alerts.slack.payload import Status

_MOST_ALERTS: Final = 20
_MOST_PODS: Final = 20
_MOST_CHANGES: Final = 12


def waiting(connection: sqlite3.Connection) -> tuple[int, float | None]:
    """Groups that Slack lacks something of, and since when the oldest waits."""
    row = connection.execute("SELECT count(*), min(dirty) FROM groups WHERE dirty IS NOT NULL").fetchone()
    return int(row[0]), row[1]


def group_view(connection: sqlite3.Connection, row: sqlite3.Row) -> GroupView:
    """A row of the table of groups with what is known of its alerts."""
    group = row["id"]
    counts = connection.execute(
        "SELECT sum(status = 'firing') AS firing, sum(status = 'resolved') AS resolved,"
        " min(CASE WHEN status = 'firing' THEN starts_at END) AS since, min(starts_at) AS began,"
        " max(ends_at) AS ended, max(rank) AS rank FROM alerts WHERE group_id = ?",
        (group,),
    ).fetchone()
    firing = counts["firing"] or 0
    return GroupView(
        group=group,
        receiver=row["receiver"],
        group_labels=json.loads(row["group_labels"]),
        common_labels=json.loads(row["common_labels"]),
        external_url=row["external_url"],
        firing=firing,
        resolved=counts["resolved"] or 0,
        truncated=row["truncated"],
        began=(counts["since"] if firing else counts["began"]) or row["opened"],
        ended=None if firing else counts["ended"],
        pages=counts["rank"] == 2,
        alerts=_alerts(connection, group),
        pods=_pods(connection, group),
        acknowledged=row["acknowledged"],
        silenced_until=row["silenced_until"],
    )


def _alerts(connection: sqlite3.Connection, group: str) -> tuple[AlertView, ...]:
    rows = connection.execute(
        "SELECT * FROM alerts WHERE group_id = ? ORDER BY status, rank DESC, starts_at, fingerprint LIMIT ?",
        (group, _MOST_ALERTS),
    )
    return tuple(
        AlertView(
            Status(row["status"]),
            row["starts_at"],
            row["ends_at"],
            json.loads(row["labels"]),
            json.loads(row["annotations"]),
        )
        for row in rows
    )


def _pods(connection: sqlite3.Connection, group: str) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT pod FROM alerts WHERE group_id = ? AND status = 'firing' AND pod != '' GROUP BY pod"
        " ORDER BY count(*) DESC, pod LIMIT ?",
        (group, _MOST_PODS),
    )
    return tuple(row["pod"] for row in rows)


def job(connection: sqlite3.Connection, row: sqlite3.Row) -> Job:
    """A row of the table of groups as work: what a reply under way tells stays what it was begun with."""
    intent = Intent(**json.loads(row["intent"])) if row["intent"] else None
    upto = intent.upto if intent is not None and intent.reply else _last_change(connection, row["id"])
    return Job(
        view=group_view(connection, row),
        episode=row["episode"],
        revision=row["revision"],
        shown=row["shown"],
        root=row["root"],
        roots=row["roots"],
        channel=row["channel"],
        intent=intent,
        upto=upto,
        changes=_changes(connection, row["id"], upto),
        lean=row["lean"],
        pictured=bool(row["pictured"]),
        failures=row["failures"],
    )


def _last_change(connection: sqlite3.Connection, group: str) -> int:
    row = connection.execute("SELECT coalesce(max(id), 0) FROM changes WHERE group_id = ?", (group,)).fetchone()
    return int(row[0])


def _changes(connection: sqlite3.Connection, group: str, upto: int) -> tuple[Change, ...]:
    counts = connection.execute(
        "SELECT kind, max(page) AS page, count(*) AS count FROM changes WHERE group_id = ? AND id <= ?"
        " GROUP BY kind ORDER BY min(id)",
        (group, upto),
    ).fetchall()
    return tuple(
        Change(row["kind"], bool(row["page"]), row["count"], _words(connection, group, upto, row["kind"]))
        for row in counts
    )


def _words(connection: sqlite3.Connection, group: str, upto: int, kind: str) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT words FROM changes WHERE group_id = ? AND id <= ? AND kind = ? ORDER BY id LIMIT ?",
        (group, upto, kind, _MOST_CHANGES),
    )
    return tuple(row["words"] for row in rows)
