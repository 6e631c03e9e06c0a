"""Where a watcher keeps its state, so that a restart goes on where it was."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol


class StateStore(Protocol):
    """Keeps one JSON object."""

    def load(self) -> dict[str, Any] | None:
        """The object kept, or None if there is none yet.

        Raises:
            OSError: it cannot be reached.
            ValueError: what is kept is not a state.
        """

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the object; the old one stays whole if this fails.

        Raises:
            OSError: it cannot be written.
        """


class FileStore:
    """A JSON file, replaced at once and synced.

    Args:
        path: its directory must exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> dict[str, Any] | None:
        """The object in the file, or None without a file."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            body = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{self._path} is not JSON: {error.msg} in line {error.lineno}") from error
        if not isinstance(body, dict):
            raise ValueError(f"{self._path} does not hold a state: it is no JSON object")  # noqa: TRY004 - a value
        return body

    def save(self, state: Mapping[str, Any]) -> None:
        """Write beside the file, sync, and rename."""
        text = json.dumps(state, allow_nan=False)
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
