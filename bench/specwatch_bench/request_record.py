"""One request as its client saw it, in a form that a minute of heavy load can be kept in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_exporters.bodies.sse import DONE, SseDecoder
from specwatch_exporters.json_text import decode
from specwatch_exporters.replay.clock import Clock

OK, ERROR, STOPPED = "ok", "error", "stopped"
_MICRO: Final = 1e6


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What happened to one request; times in microseconds of one monotonic clock.

    Attributes:
        sent: from the start of the measured time; negative in the warm-up.
        late: how long after its due time it was sent; open loop only.
        chunks: from the chunk before, or from `sent` for the first, to each chunk with tokens.
        sizes: tokens of each chunk; None where the engine does not say.
        ended: from `sent` to the end of the stream, or to what ended it.
        prompt_tokens: as the engine counts them, None if it did not say.
        tokens: output tokens as the engine counts them.
        asked: `max_tokens`.
        outcome: `ok`, `error` or `stopped` (cut by the end of the run).
        metrics: the engine's own `metrics` object, None when it sent none.
    """

    number: int
    traffic_class: str
    sent: int
    late: int | None
    chunks: tuple[int, ...]
    sizes: tuple[int, ...] | None
    ended: int
    prompt_tokens: int | None
    tokens: int | None
    asked: int
    outcome: str
    error: str = ""
    metrics: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON form; what is absent is left out."""
        body: dict[str, Any] = {
            "kind": "request",
            "i": self.number,
            "class": self.traffic_class,
            "sent": self.sent,
            "late": self.late,
            "chunks": list(self.chunks),
            "sizes": None if self.sizes is None else list(self.sizes),
            "ended": self.ended,
            "in": self.prompt_tokens,
            "out": self.tokens,
            "asked": self.asked,
            "outcome": self.outcome,
            "error": self.error or None,
            "metrics": self.metrics,
        }
        return {key: value for key, value in body.items() if value is not None}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> RequestRecord:
        """Read the JSON form back.

        Raises:
            KeyError: a member is missing.
        """
        sizes = body.get("sizes")
        return cls(
            number=body["i"],
            traffic_class=body["class"],
            sent=body["sent"],
            late=body.get("late"),
            chunks=tuple(body["chunks"]),
            sizes=None if sizes is None else tuple(sizes),
            ended=body["ended"],
            prompt_tokens=body.get("in"),
            tokens=body.get("out"),
            asked=body["asked"],
            outcome=body["outcome"],
            error=body.get("error", ""),
            metrics=body.get("metrics"),
        )


class StreamRecord:
    """A stream as it arrives.

    Attributes:
        complete: whether the stream said that it is done.
        error: what the engine reported inside the stream, empty when nothing.
    """

    def __init__(self, clock: Clock) -> None:
        self.complete = False
        self.error = ""
        self.began = clock.monotonic()
        self._clock = clock
        self._decoder = SseDecoder()
        self._moments: list[float] = []
        self._sizes: list[int | None] = []
        self._prompt_tokens: int | None = None
        self._tokens: int | None = None
        self._metrics: Mapping[str, Any] | None = None

    def feed(self, piece: bytes) -> None:
        """Take bytes in any portions; all events that they complete came at this moment.

        Raises:
            SseOverflowError: an event without an end.
        """
        now = self._clock.monotonic()
        for data in self._decoder.feed(piece):
            self._take(data, now)

    def _take(self, data: str, now: float) -> None:
        if data.strip() == DONE:
            self.complete = True
            return
        event = decode(data)
        if not isinstance(event, dict):
            self.error = self.error or "an event of the stream is not a JSON object"
            return
        if event.get("error"):
            self.error = self.error or f"the engine reports: {str(event['error'])[:200]}"
        self._count(event, now)
        if isinstance(event.get("metrics"), dict):
            self._metrics = event["metrics"]

    def _count(self, event: Mapping[str, Any], now: float) -> None:
        """A chunk is an event that adds tokens; without usage, one that adds text."""
        usage = event.get("usage") or {}
        total = usage.get("completion_tokens")
        choices = event.get("choices") or []
        self._prompt_tokens = usage.get("prompt_tokens", self._prompt_tokens)
        if isinstance(total, int):
            size = total - (self._tokens or 0)
            self._tokens = total
            if choices and size > 0:
                self._add(now, size)
        elif any(_text(choice) for choice in choices):
            self._add(now, None)

    def _add(self, now: float, size: int | None) -> None:
        """Count a chunk; events that came in one read are one chunk, as nobody could have seen the first alone."""
        if not self._moments or now > self._moments[-1]:
            self._moments.append(now)
            self._sizes.append(size)
            return
        before = self._sizes[-1]
        self._sizes[-1] = None if size is None or before is None else before + size

    def record(self, number: int, traffic_class: str, asked: int, outcome: str, error: str,
               zero: float, due: float | None) -> RequestRecord:  # fmt: skip
        """What was seen until now.

        Args:
            number: of the request in the cell.
            traffic_class: of the request.
            asked: `max_tokens`.
            outcome: how it ended.
            error: one line, empty when all is well.
            zero: the monotonic moment at which the measured time starts.
            due: the moment at which an open loop wanted to send it.
        """
        before = [self.began, *self._moments]
        known = [size for size in self._sizes if size is not None]
        return RequestRecord(
            number=number,
            traffic_class=traffic_class,
            sent=_micro(self.began - zero),
            late=None if due is None else max(_micro(self.began - due), 0),
            chunks=tuple(_micro(now - then) for then, now in zip(before, self._moments, strict=False)),
            sizes=tuple(known) if len(known) == len(self._sizes) else None,
            ended=_micro(self._clock.monotonic() - self.began),
            prompt_tokens=self._prompt_tokens,
            tokens=self._tokens,
            asked=asked,
            outcome=outcome,
            error=error,
            metrics=self._metrics,
        )


def _micro(seconds: float) -> int:
    return round(seconds * _MICRO)


def _text(choice: Mapping[str, Any]) -> str:
    delta = choice.get("delta") or {}
    return str(choice.get("text") or delta.get("content") or delta.get("reasoning_content") or "")
