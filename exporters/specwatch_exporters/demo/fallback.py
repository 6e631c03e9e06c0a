"""What can be plugged into the demonstration to move its traffic; the fallback controller is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from prometheus_client.metrics_core import Metric

from specwatch_exporters.sidecar.watcher import Interval, Judgement, Watcher


@dataclass(frozen=True, slots=True)
class FallbackNow:
    """Where the traffic is, and why.

    Attributes:
        level: in force, in words.
        shares: of new requests: level in words, and share from 0 to 1.
        reason: what the controller does and why, in one sentence.
    """

    level: str
    shares: tuple[tuple[str, float], ...]
    reason: str

    @property
    def shares_text(self) -> str:
        """`the drafter 80 %, n-gram 20 %`."""
        return ", ".join(f"{name} {share:.0%}" for name, share in self.shares if share > 0.0)

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        return f"Traffic: {self.shares_text}; {self.reason}."


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that the controller did, in words."""

    text: str
    alarming: bool


class FallbackPart(Protocol):
    """A controller at work."""

    def now(self) -> FallbackNow | None:
        """Where the traffic is; None before the first round."""

    def told(self) -> list[Told]:
        """What it did since the last call."""


@dataclass(frozen=True, slots=True)
class FallbackScene:
    """What a controller of the demonstration works on.

    Attributes:
        model: served name.
        depth: K of the drafter.
        admin_url: of the request sidecar.
        token_file: of those who may set its weights.
        pools: name of the pool by level, home first.
        pages: families of the scrape sidecar beside each pool, by level.
        log: where the audit log goes.
    """

    model: str
    depth: int
    admin_url: str
    token_file: Path
    pools: Mapping[str, str]
    pages: Mapping[str, Callable[[], Iterable[Metric]]]
    log: Path


class FallbackKit(Protocol):
    """Makes the parts."""

    def judge(self) -> Watcher:
        """What tells whether the fallback's own engine pays."""

    def at_work(self, scene: FallbackScene) -> AbstractContextManager[FallbackPart]:
        """A controller that works until the context ends."""


class WithTraffic:
    """A watcher whose verdicts also say where the traffic is.

    Args:
        watcher: whose verdicts.
    """

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.part: FallbackPart | None = None

    def take(self, interval: Interval) -> None:
        """See `Watcher`."""
        self._watcher.take(interval)

    def families(self, now: float) -> Iterable[Metric]:
        """See `Watcher`."""
        return self._watcher.families(now)

    def judgements(self, now: float) -> tuple[Judgement, ...]:
        """See `Watcher`."""
        where = None if self.part is None else self.part.now()
        found = self._watcher.judgements(now)
        return found if where is None else tuple(replace(one, traffic=where.sentence) for one in found)
