"""What requests saw: a stream read as it arrives, one record per request, one report per run."""

from __future__ import annotations

import itertools
import json
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specwatch_exporters.replay.clock import Clock

OK, ERROR, STOPPED = "ok", "error", "stopped"
"""Outcomes of a request; `STOPPED` means that the end of the run cut it."""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What one request saw; seconds.

    Attributes:
        outcome: `ok`, `error` or `stopped` (cut by the end of the run).
        first_token: from sending to the first text, None without text.
        gaps: between chunks with text, in order.
        tokens: completion tokens that the engine reported, None when it did not.
        metrics: the engine's per-request `metrics` object, None when it sent none.
        error: one line, empty when all is well.
    """

    traffic_class: str
    outcome: str
    latency: float
    first_token: float | None = None
    gaps: tuple[float, ...] = ()
    tokens: int | None = None
    metrics: Mapping[str, Any] | None = None
    error: str = ""


@dataclass(slots=True)
class TrafficReport:
    """What a run did.

    Attributes:
        records: the newest records, in order of completion.
        sent: requests sent.
        dropped: arrivals that were not sent because too many were in flight.
        outcomes: requests by outcome.
    """

    records: deque[RequestRecord]
    sent: int = 0
    dropped: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)


class StreamReading:
    """A stream of server-sent events as it arrives.

    Attributes:
        complete: whether `[DONE]` was seen.
    """

    def __init__(self, clock: Clock) -> None:
        self.complete = False
        self._clock = clock
        self._began = clock.monotonic()
        self._moments: list[float] = []
        self._rest = b""
        self._tokens: int | None = None
        self._metrics: Mapping[str, Any] | None = None

    def feed(self, piece: bytes) -> None:
        """Take bytes in any portions.

        Raises:
            ValueError: when an event is not a JSON object.
        """
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._take(line[5:].strip())

    def record(self, name: str, outcome: str, error: str) -> RequestRecord:
        """What was seen until now."""
        first = self._moments[0] - self._began if self._moments else None
        gaps = tuple(later - earlier for earlier, later in itertools.pairwise(self._moments))
        latency = self._clock.monotonic() - self._began
        return RequestRecord(name, outcome, latency, first, gaps, self._tokens, self._metrics, error)

    def _take(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.complete = True
            return
        event = json.loads(data)
        if not isinstance(event, dict):
            raise ValueError("an event of the stream is not a JSON object")  # noqa: TRY004 (as bad as no JSON)
        if any(_text(choice) for choice in event.get("choices", [])):
            self._moments.append(self._clock.monotonic())
        if event.get("usage"):
            self._tokens = event["usage"].get("completion_tokens")
        self._metrics = event.get("metrics", self._metrics)


def _text(choice: Mapping[str, Any]) -> str:
    delta = choice.get("delta") or {}
    return str(choice.get("text") or delta.get("content") or "")
