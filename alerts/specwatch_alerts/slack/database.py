"""The queue's database: SQLite in WAL mode; what a transaction has committed survives kill -9 and loss of power."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

FORMAT: Final = 1
_BUSY_S: Final = 30.0

# groups: revision counts what changed, shown is the revision that Slack has; dirty is since when Slack lacks
# something; due is before when it is not tried; intent is a post whose outcome is not recorded yet.
_SCHEMA: Final = """
CREATE TABLE groups (
  id TEXT PRIMARY KEY,
  receiver TEXT NOT NULL,
  group_labels TEXT NOT NULL,
  common_labels TEXT NOT NULL,
  external_url TEXT NOT NULL,
  truncated INTEGER NOT NULL DEFAULT 0,
  episode INTEGER NOT NULL DEFAULT 1,
  opened REAL NOT NULL,
  closed REAL,
  revision INTEGER NOT NULL DEFAULT 0,
  shown INTEGER NOT NULL DEFAULT 0,
  root TEXT NOT NULL DEFAULT '',
  channel TEXT NOT NULL DEFAULT '',
  roots INTEGER NOT NULL DEFAULT 0,
  intent TEXT NOT NULL DEFAULT '',
  dirty REAL,
  page INTEGER NOT NULL DEFAULT 0,
  due REAL NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  lean INTEGER NOT NULL DEFAULT 0,
  pictured INTEGER NOT NULL DEFAULT 0,
  acknowledged TEXT NOT NULL DEFAULT '',
  silenced_until REAL
);
CREATE INDEX groups_dirty ON groups (page DESC, dirty) WHERE dirty IS NOT NULL;
CREATE TABLE alerts (
  group_id TEXT NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
  fingerprint TEXT NOT NULL,
  status TEXT NOT NULL,
  starts_at REAL NOT NULL,
  ends_at REAL,
  heard REAL NOT NULL,
  rank INTEGER NOT NULL,
  pod TEXT NOT NULL,
  labels TEXT NOT NULL,
  annotations TEXT NOT NULL,
  PRIMARY KEY (group_id, fingerprint)
) WITHOUT ROWID;
CREATE TABLE changes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  group_id TEXT NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
  at REAL NOT NULL,
  kind TEXT NOT NULL,
  page INTEGER NOT NULL,
  words TEXT NOT NULL
);
CREATE INDEX changes_group ON changes (group_id, id);
CREATE TABLE orders (
  key TEXT PRIMARY KEY,
  at REAL NOT NULL,
  action TEXT NOT NULL,
  group_id TEXT NOT NULL,
  user TEXT NOT NULL,
  channel TEXT NOT NULL,
  done REAL
) WITHOUT ROWID;
"""


class DatabaseError(ValueError):
    """The file cannot be used as the queue; one line."""


class Database:
    """One connection, for one thread at a time.

    Args:
        path: of the file; made if it does not exist, in a folder that does.

    Raises:
        DatabaseError: it cannot be opened, is no database, or is of another version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=64
            )
        except sqlite3.Error as error:
            raise DatabaseError(f"{path}: {error}") from None
        try:
            self._connection.row_factory = sqlite3.Row
            self._prepare()
        except sqlite3.Error as error:
            self._connection.close()
            raise DatabaseError(f"{path}: {error}") from None
        except DatabaseError:
            self._connection.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Read and write as one; nothing is written if the block raises."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Read one state, whoever writes meanwhile."""
        self._connection.execute("BEGIN")
        try:
            yield self._connection
        finally:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA foreign_keys = ON")
        with self.transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {FORMAT}")
            elif version != FORMAT:
                raise DatabaseError(f"{self.path} is a queue of format {version}; this version knows {FORMAT}")
