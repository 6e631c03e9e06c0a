"""The interface that every page reader implements."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Protocol

from specwatch_exporters.exposition import Exposition
from specwatch_exporters.page import Page


class Reader(Protocol):
    """Recognises one kind of metrics page and turns it into canonical series."""

    @property
    def engine(self) -> str:
        """Engine kind, as `--engine` takes it and reports give it."""
        ...

    def recognises(self, names: AbstractSet[str]) -> bool:
        """Tell from the sample names whether a page is of this kind."""
        ...

    def read(self, exposition: Exposition, names: AbstractSet[str]) -> Page:
        """Read a page of this kind.

        Args:
            exposition: the parsed page.
            names: all sample names on it.
        """
        ...
