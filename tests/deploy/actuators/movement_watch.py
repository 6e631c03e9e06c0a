"""A watch of health that keeps what it is told, and always says that it got worse."""

from __future__ import annotations

from specwatch_detectors.fallback.actuator import Health, Shares


class MovementWatch:
    def __init__(self) -> None:
        self.told: list[tuple[Shares, Shares]] = []

    def moved(self, before: Shares, after: Shares) -> None:
        self.told.append((before, after))

    def health(self) -> Health:
        return Health(ok=False, reason="worse")
