"""Where the fleet watch keeps its state and its lease."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from specwatch_detectors.watch.lease import Kept, Lease


class StoreError(Exception):
    """The store cannot be read or written, or holds something else; one line says why."""


class HeldByAnotherError(Exception):
    """Somebody else watches; nothing was written.

    Attributes:
        lease: theirs.
    """

    def __init__(self, lease: Lease) -> None:
        super().__init__(f"{lease.holder} watches this fleet")
        self.lease = lease


class Store(Protocol):
    """Keeps one state and one lease, changed together or not at all."""

    def load(self) -> Kept:
        """What is kept.

        Raises:
            StoreError: it cannot be read, or is no state.
        """

    def save(self, state: Mapping[str, Any], lease: Lease, over: Lease | None = None) -> None:
        """Replace both, unless somebody else's lease holds at the moment at which this one is renewed.

        Args:
            state: JSON.
            lease: of the one that watches.
            over: a lease that was seen not to be renewed for its whole duration: it holds no longer.

        Raises:
            HeldByAnotherError: it does.
            StoreError: it cannot be written; the old ones stay whole.
        """
