"""What the live view shows at one moment, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_exporters.demo.fallback import FallbackNow
from specwatch_exporters.notices import Notice
from specwatch_exporters.report import ModelReport
from specwatch_exporters.sidecar.watcher import Judgement


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, seconds after the start."""

    at_s: float
    text: str
    alarming: bool = False


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One traffic class: acceptance rate and mean length, None when unknown."""

    name: str
    rate: float | None
    length: float | None


@dataclass(frozen=True, slots=True)
class BatchRow:
    """Requests in batches up to an edge: mean seconds per token, to the first token and end to end."""

    edge: str
    token_s: float | None
    first_s: float | None
    total_s: float | None


@dataclass(frozen=True, slots=True)
class PoolRow:
    """One pool of the request sidecar; what is unknown is None.

    Attributes:
        name: of the pool.
        share: of new requests, 0 to 1.
        in_flight: requests under way.
        tokens_per_second: of requests that ended in the window.
        length: mean acceptance length.
    """

    name: str
    share: float
    in_flight: int
    tokens_per_second: float | None
    length: float | None


@dataclass(frozen=True, slots=True)
class Moment:
    """One frame.

    Attributes:
        elapsed_s: since the start.
        total_s: planned length, or None to run until Ctrl-C.
        title: what is being watched.
        simulated: True for the replay engine.
        engine: kind, dialect and version in a few words, or why there is none.
        status_url: address of the status page.
        window_s: span of the figures.
        report: the model over that span, or None before two scrapes.
        baseline: acceptance per position at the start, or empty.
        baseline_length: mean acceptance length at the start, or None.
        tokens_per_second: output tokens per second over the span, or None.
        token_latency_s: seconds per output token, corrected for multi-token steps, or None.
        lengths: mean acceptance length per scrape, oldest first.
        waiting: requests waiting per scrape, oldest first.
        classes: acceptance per traffic class, from the request sidecar; empty without one.
        batches: latency per batch size, likewise.
        pools: of the request sidecar, likewise.
        fallback: where the controller has the traffic and why, or None without one.
        events: latest last.
        judgement: whether the draft fits its target, or None without detectors.
        trouble: why the engine cannot be read now, or empty.
    """

    elapsed_s: float
    total_s: float | None
    title: str
    simulated: bool
    engine: str
    status_url: str
    window_s: float
    report: ModelReport | None = None
    baseline: tuple[float | None, ...] = ()
    baseline_length: float | None = None
    tokens_per_second: float | None = None
    token_latency_s: float | None = None
    lengths: tuple[float | None, ...] = ()
    waiting: tuple[float | None, ...] = ()
    classes: tuple[ClassRow, ...] = ()
    batches: tuple[BatchRow, ...] = ()
    pools: tuple[PoolRow, ...] = ()
    fallback: FallbackNow | None = None
    events: tuple[Event, ...] = ()
    notices: tuple[Notice, ...] = ()
    judgement: Judgement | None = None
    trouble: str = ""
