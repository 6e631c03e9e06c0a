"""Reads a group's work from the database; counts all, loads some: a group may have thousands of alerts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

from specwatch_alerts.slack.group_view import AlertView, GroupView
from specwatch_alerts.slack.job import NOTE, Change, Intent, Job
from specwatch_alerts.slack.payload import Status

_MOST_ALERTS: Final = 20
_MOST_PODS: Final = 20
_MOST_CHANGES: Final = 12
_MOST_RUNS: Final = 6
# Changes in their order, those of one kind that follow each other as one row.
_RUNS: Final = """
SELECT kind, max(page) AS page, count(*) AS count, min(id) AS first, max(id) AS last FROM (
  SELECT *, row_number() OVER (ORDER BY id) - row_number() OVER (PARTITION BY kind ORDER BY id) AS run
  FROM changes WHERE group_id = ? AND id <= ?
) GROUP BY kind, run ORDER BY first
"""
_BY_NAME: Final = """
WITH named AS (
  SELECT *, json_extract(labels, '$.alertname') AS name FROM alerts WHERE group_id = ? AND status = ?
), placed AS (
  SELECT *, count(*) OVER (PARTITION BY name) AS count,
    row_number() OVER (PARTITION BY name ORDER BY rank DESC, starts_at, fingerprint) AS place FROM named
)
SELECT *, count(*) OVER () AS names FROM placed WHERE place = 1 ORDER BY rank DESC, starts_at, fingerprint LIMIT ?
"""


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
    alerts = connection.execute(_BY_NAME, (group, "firing" if firing else "resolved", _MOST_ALERTS)).fetchall()
    pods = _pods(connection, group)
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
        alerts=tuple(_alert(one) for one in alerts),
        names=alerts[0]["names"] if alerts else 0,
        pods=tuple(one["pod"] for one in pods),
        pod_count=pods[0]["pods"] if pods else 0,
        acknowledged=row["acknowledged"],
        silenced_until=row["silenced_until"],
    )


def _alert(row: sqlite3.Row) -> AlertView:
    return AlertView(
        Status(row["status"]),
        row["starts_at"],
        row["ends_at"],
        json.loads(row["labels"]),
        json.loads(row["annotations"]),
        row["count"],
    )


def _pods(connection: sqlite3.Connection, group: str) -> list[sqlite3.Row]:
    return connection.execute(
        "SELECT pod, count(*) OVER () AS pods FROM alerts WHERE group_id = ? AND status = 'firing' AND pod != ''"
        " GROUP BY pod ORDER BY count(*) DESC, pod LIMIT ?",
        (group, _MOST_PODS),
    ).fetchall()


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
    """What happened, in its order; of many changes to and fro the last ones, those before only counted."""
    runs = connection.execute(_RUNS, (group, upto)).fetchall()
    early, late = runs[:-_MOST_RUNS], runs[-_MOST_RUNS:]
    notes = [one for one in early if one["kind"] == NOTE]
    told = (_run(connection, group, one) for one in [*notes, *late])
    return (*_counted(early, "firing"), *_counted(early, "resolved"), *told)


def _counted(runs: Sequence[sqlite3.Row], kind: str) -> list[Change]:
    own = [run for run in runs if run["kind"] == kind]
    page, count = any(run["page"] for run in own), sum(run["count"] for run in own)
    return [Change(kind, page, count, ())] if own else []


def _run(connection: sqlite3.Connection, group: str, run: sqlite3.Row) -> Change:
    rows = connection.execute(
        "SELECT words FROM changes WHERE group_id = ? AND id BETWEEN ? AND ? ORDER BY id LIMIT ?",
        (group, run["first"], run["last"], _MOST_CHANGES),
    )
    return Change(run["kind"], bool(run["page"]), run["count"], tuple(row["words"] for row in rows))
