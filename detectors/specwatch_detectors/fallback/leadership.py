"""Who of several controllers may act."""

from __future__ import annotations

from typing import Protocol


class Leadership(Protocol):
    """Says whether this controller is the one."""

    def lead(self, now: float) -> tuple[bool, str]:
        """Hold or take the lead, without waiting; a failure to do so is an answer too.

        Args:
            now: epoch seconds.

        Returns:
            Whether it leads; if not, who does or what went wrong, in words.
        """

    def close(self) -> None:
        """Give the lead away."""


class Alone:
    """There is no other controller but those that the audit log's lock keeps out."""

    def lead(self, now: float) -> tuple[bool, str]:  # noqa: ARG002 - the interface has it
        """It leads."""
        return True, ""

    def close(self) -> None:
        """Nothing is held."""
