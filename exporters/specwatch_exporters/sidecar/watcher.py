"""What can be plugged into the scrape sidecar to judge what it reads; the detectors do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from prometheus_client.metrics_core import Metric

from specwatch_exporters.page import Key
from specwatch_exporters.report import ModelReport


@dataclass(frozen=True, slots=True)
class Interval:
    """What one good scrape added.

    Attributes:
        now: monotonic seconds.
        wall: the same moment, seconds since the epoch.
        increases: per canonical series since the scrape before; empty on the first page, whose counts are the
            engine's whole life.
        reports: one per model over the last minute: state, K and method as known now.
        restarted: the engine's counters started again between the scrapes.
        version: of the engine, where an endpoint tells it.
        starts: process start by instance, epoch seconds, where the page tells it.
        counted: what the engine's own counters of drafts and generated tokens show, by series; empty where they
            are no counters.
    """

    now: float
    wall: float
    increases: Mapping[Key, float]
    reports: tuple[ModelReport, ...]
    restarted: bool = False
    version: str | None = None
    starts: Mapping[str, float] = field(default_factory=dict)
    counted: Mapping[Key, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is known of one model, in plain words, for the status page and the live view.

    Attributes:
        model: name.
        state: `ok`, `watch`, `drifted` or `cannot_tell`.
        headline: the verdict in one sentence.
        cause: the most likely cause in a few words, or empty.
        details: evidence, one sentence each.
        next_steps: what to check, one sentence each.
        score: evidence over threshold, or None.
        over: evidence that a drift is over, over its threshold, 0 to 1; None without a drift.
        since_s: seconds since the evidence began, or None.
        alarms: alarms so far.
        remarks: what else is wrong now, one sentence each: latency, queue wait.
        payoff: whether speculation pays, in one sentence, or empty.
        traffic: where a fallback controller has the traffic, in one sentence, or empty.
    """

    model: str
    state: str
    headline: str
    cause: str = ""
    details: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    score: float | None = None
    since_s: float | None = None
    alarms: int = 0
    remarks: tuple[str, ...] = ()
    payoff: str = ""
    traffic: str = ""
    over: float | None = None


class Watcher(Protocol):
    """Judges what a sidecar reads. `take` is called by the scraping thread, the others by any."""

    def take(self, interval: Interval) -> None:
        """One good scrape; must not raise."""

    def families(self, now: float) -> Iterable[Metric]:
        """Metrics of the present verdicts, at a monotonic time."""

    def judgements(self, now: float) -> tuple[Judgement, ...]:
        """Present verdicts by model name, at a monotonic time."""


class NoWatcher:
    """Judges nothing."""

    def take(self, interval: Interval) -> None:
        """Ignore it."""

    def families(self, now: float) -> Iterable[Metric]:  # noqa: ARG002 - the protocol's name
        """No metrics."""
        return ()

    def judgements(self, now: float) -> tuple[Judgement, ...]:  # noqa: ARG002 - the protocol's name
        """No verdicts."""
        return ()
