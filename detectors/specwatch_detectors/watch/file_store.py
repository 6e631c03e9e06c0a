"""State and lease in a file, replaced at once and synced."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from specwatch_detectors.watch.lease import Kept, Lease
from specwatch_detectors.watch.store import HeldByAnotherError, StoreError


class FileStore:
    """A JSON file.

    Beside it lies `FILE.lock`, empty, which two watches on one machine lock while they look at the lease and write.

    Args:
        path: its directory must exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Kept:
        """What is in the file; without a file there is no state and nobody watches.

        Raises:
            StoreError: it cannot be read, or is no state.
        """
        try:
            body = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return Kept(None, Lease())
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror}") from error
        except ValueError as error:
            raise StoreError(f"{self._path} holds no JSON; move it away to begin anew") from error
        state = body.get("state") if isinstance(body, dict) else None
        if not isinstance(state, dict):
            raise StoreError(f"{self._path} holds no state of a watch; move it away to begin anew")
        return Kept(state, Lease.from_json(body.get("lease")))

    def save(self, state: Mapping[str, Any], lease: Lease, over: Lease | None = None) -> None:
        """Write beside the file, sync, rename, sync the directory; a lease that is `over` does not count.

        Raises:
            HeldByAnotherError: somebody else's lease holds.
            StoreError: it cannot be written; the old file stays whole.
        """
        text = json.dumps({"lease": lease.as_json(), "state": state}, allow_nan=False)
        try:
            with self._locked():
                found = self._lease()
                if found != over and found.blocks(lease.holder, lease.renewed):
                    raise HeldByAnotherError(found)
                _replace(self._path, text)
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror}") from error

    def _lease(self) -> Lease:
        try:
            return self.load().lease
        except StoreError:
            return Lease()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._path.with_name(f"{self._path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
