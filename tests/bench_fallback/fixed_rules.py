"""What people and engines do today: nothing, a fixed threshold with a timer, an engine's one-way gate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from bench_fallback.contender import Kind, Order, View
from bench_fallback.fleet import Fleet
from bench_fallback.lever import IN_ENGINE, Lever
from bench_fallback.plan import ROUND_S
from bench_fallback.steps import DRAFT, LEVELS, OFF

THRESHOLD: Final = 0.3
HELD_S: Final = 300.0
RETRY_S: Final = 3600.0
GATE_REQUESTS: Final = 200.0
"""Requests of one engine in the gate's window."""


@dataclass
class Nothing:
    """No fallback."""

    lever: Lever = IN_ENGINE
    name: str = "no fallback"

    def round(self, _view: View, _fleet: Fleet) -> Order | None:
        """Never anything."""
        return None


@dataclass
class FixedThreshold:
    """An alert `acceptance rate < 0.3 for 5 min` that moves all pods; back after an hour, for there is no signal.

    A round that cannot be measured breaks the five minutes, as a missing series does in Prometheus.
    """

    lever: Lever
    fallback: int = OFF
    _level: int = DRAFT
    _bad_s: float = 0.0
    _since: float = 0.0

    @property
    def name(self) -> str:
        """With where it goes."""
        return f"threshold to {LEVELS[self.fallback].value}"

    def round(self, view: View, fleet: Fleet) -> Order | None:
        """Away when it has held, back when the time is over."""
        if self._level != DRAFT:
            if view.now - self._since < RETRY_S or not fleet.settled:
                return None
            return self._to(DRAFT, view.now, "an hour is over")
        seen = view.seen[DRAFT]
        bad = seen is not None and seen.drafts > 0.0 and seen.rate < THRESHOLD
        self._bad_s = self._bad_s + ROUND_S if bad else 0.0
        if self._bad_s < HELD_S or not fleet.settled:
            return None
        return self._to(self.fallback, view.now, f"acceptance rate below {THRESHOLD:g} for 5 min")

    def _to(self, level: int, now: float, reason: str) -> Order:
        self._level, self._since, self._bad_s = level, now, 0.0
        return Order(Kind.MOVE, level, reason)


@dataclass
class OneWayGate:
    """The engine's own gate: mean acceptance of the last requests under a threshold stops drafting until a restart.

    After TensorRT-LLM's `acceptance_rate_window_size` and `acceptance_rate_threshold`; it costs nothing to trip and
    needs no Prometheus. Pods see like traffic, so all trip in the same round; every rollout arms it again.
    """

    lever: Lever = IN_ENGINE
    name: str = "one-way gate"
    _tripped: bool = False
    _revision: int = 0
    _window: list[tuple[float, float]] = field(default_factory=list)

    def round(self, view: View, _fleet: Fleet) -> Order | None:
        """Trip, or arm again after a rollout."""
        if view.revision != self._revision:
            self._revision, self._window = view.revision, []
            if self._tripped:
                self._tripped = False
                return Order(Kind.MOVE, DRAFT, "restarted by a rollout")
            return None
        seen = view.inside[DRAFT]
        if self._tripped or seen is None or seen.drafts <= 0.0:
            return None
        self._window.append((seen.requests / seen.pods, seen.rate))
        while sum(count for count, _ in self._window[1:]) >= GATE_REQUESTS:
            self._window.pop(0)
        total = sum(count for count, _ in self._window)
        mean = sum(count * rate for count, rate in self._window) / total
        if total < GATE_REQUESTS or mean >= THRESHOLD:
            return None
        self._tripped = True
        return Order(Kind.MOVE, OFF, f"acceptance rate {mean:.2f} over {total:.0f} requests")
