"""Which of several receivers on one database sends: the one that holds a file's lock.

The kernel gives the lock back when its holder dies, however it dies; no clock and no lease are involved. It holds
on one machine, and so does a database in WAL mode (https://sqlite.org/wal.html).
"""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO


class SenderLock:
    """The lock of one database.

    Args:
        database: path of the database; the lock's file lies beside it.
    """

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(f"{database.name}.sender")
        self._file: IO[bytes] | None = None

    @property
    def held(self) -> bool:
        """Whether this process sends."""
        return self._file is not None

    def acquire(self) -> bool:
        """Try to be the one that sends; whether this is it.

        Raises:
            OSError: the file cannot be made.
        """
        if self._file is not None:
            return True
        file = self._path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        return True

    def release(self) -> None:
        """Let another one send."""
        if self._file is not None:
            self._file.close()
            self._file = None
