"""Events of the two streamed forms whose events name their type: Anthropic messages and OpenAI responses.

An object that fits neither tells nothing; nothing raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from specwatch_exporters.bodies.fields import mapping, name
from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.bodies.response import record_from_json

_RESPONSE_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})


class Piece(NamedTuple):
    """Generated text in one event.

    Attributes:
        choice: which of the answers of a request with several.
        tokens: how many, or None if the event does not say.
    """

    choice: int
    tokens: int | None


class MessageEvents:
    """Anthropic messages: blocks of text, usage at both ends.

    Source: Anthropic's streaming reference; vLLM serves the form at `/v1/messages` from 0.11.1 on.
    """

    def __init__(self) -> None:
        self.model: str | None = None
        self.failed = False
        self.complete = False
        self._stop_reason: str | None = None
        self._usage: dict[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> Sequence[Piece]:
        """Take one event's object; returns the text in it."""
        kind = event.get("type")
        if kind == "content_block_delta":
            delta = mapping(event.get("delta"))
            has_text = any(delta.get(key) for key in ("text", "thinking", "partial_json"))
            return (Piece(0, None),) if has_text else ()
        if kind == "message_start":
            message = mapping(event.get("message"))
            self.model = name(message.get("model"))
            self._usage.update(mapping(message.get("usage")))
        elif kind == "message_delta":
            self._usage.update(mapping(event.get("usage")))
            self._stop_reason = name(mapping(event.get("delta")).get("stop_reason")) or self._stop_reason
            self.complete = self._stop_reason is not None
        elif kind == "error":
            self.failed = True
        return ()

    def record(self) -> RequestRecord | None:
        """What the answer says about its tokens, or None."""
        if not self._usage:
            return None
        return record_from_json({"model": self.model, "usage": self._usage, "stop_reason": self._stop_reason})


class ResponseEvents:
    """OpenAI responses: deltas of several kinds, the whole response in the last event."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.failed = False
        self.complete = False
        self._record: RequestRecord | None = None

    def take(self, event: Mapping[str, Any]) -> Sequence[Piece]:
        """Take one event's object; returns the text in it."""
        kind = event.get("type")
        if not isinstance(kind, str):
            return ()
        if kind.endswith(".delta"):
            return (Piece(0, None),) if event.get("delta") else ()
        if kind in _RESPONSE_ENDS:
            self._record = record_from_json(event.get("response"))
            self.complete = kind != "response.failed"
            self.failed = not self.complete
        elif kind == "response.created":
            self.model = name(mapping(event.get("response")).get("model"))
        elif kind == "error":
            self.failed = True
        return ()

    def record(self) -> RequestRecord | None:
        """What the answer says about its tokens, or None."""
        return self._record
