"""River's detectors: how they are made, what they are fed, and the settings that are tried."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

INPUTS: Final = ("length", "z")
"""What a peer is fed: acceptance length of a scrape, or its distance from our baseline in our standard errors."""


class Peer(Protocol):
    """A detector of river."""

    drift_detected: bool

    def update(self, x: float) -> object:
        """Take one value in."""


@dataclass(frozen=True)
class Choice:
    """One way to run a peer.

    Attributes:
        detector: its name in river.
        source: one of `INPUTS`.
        settings: its arguments; those not named keep river's defaults.
    """

    detector: str
    source: str
    settings: Mapping[str, float | int | str]

    def make(self) -> Peer:
        """A fresh detector."""
        made: Any = getattr(importlib.import_module("river.drift"), self.detector)(**self.settings)
        peer: Peer = made
        return peer

    def words(self) -> str:
        """The settings for a reader."""
        listed = ", ".join(f"{name}={value}" for name, value in self.settings.items() if name != "seed")
        return f"{self.source}" + (f", {listed}" if listed else "")


def defaults() -> list[Choice]:
    """Every detector as river makes it, on the acceptance length."""
    return [
        Choice("ADWIN", "length", {}),
        Choice("PageHinkley", "length", {}),
        Choice("KSWIN", "length", {"seed": 1}),
    ]


def ladders(detector: str) -> list[Sequence[Choice]]:
    """Ladders of settings from loose to strict."""
    return {"ADWIN": _adwin, "PageHinkley": _page_hinkley, "KSWIN": _kswin}[detector]()


def _adwin() -> list[Sequence[Choice]]:
    deltas = [10.0 ** (-power / 2.0) for power in range(1, 41)]
    return [
        [Choice("ADWIN", source, {"delta": delta, "clock": clock, "min_window_length": least}) for delta in deltas]
        for source in INPUTS
        for clock, least in ((1, 1), (1, 5), (8, 5), (32, 5))
    ]


def _page_hinkley() -> list[Sequence[Choice]]:
    drifts = {"length": (0.005, 0.01, 0.02, 0.04, 0.08), "z": (0.1, 0.25, 0.5, 1.0, 2.0)}
    first = {"length": 0.05, "z": 2.0}
    return [
        [
            Choice(
                "PageHinkley",
                source,
                {"mode": "down", "delta": delta, "threshold": round(first[source] * 1.15**step, 4), "alpha": alpha},
            )
            for step in range(50)
        ]
        for source in INPUTS
        for delta in drifts[source]
        for alpha in (0.9999, 1.0)
    ]


def _kswin() -> list[Sequence[Choice]]:
    return [
        [
            Choice("KSWIN", "length", {"alpha": alpha, "window_size": window, "stat_size": recent, "seed": 1})
            for alpha in (1e-4, 1e-6, 1e-8, 1e-10)
        ]
        for window, recent in ((100, 30), (300, 60))
    ]
