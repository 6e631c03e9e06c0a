"""Events of a streamed answer in the four forms that engines speak: which carry text, how much, and the end.

Forms: OpenAI completions and chat completions (vLLM, SGLang), OpenAI responses, Anthropic messages, and SGLang's
`/generate`. An object that fits none of them tells nothing; nothing raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from specwatch_exporters.bodies.fields import count, items, mapping, name
from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.bodies.stream import StreamReading
from specwatch_exporters.bodies.typed_events import MessageEvents, Piece, ResponseEvents
from specwatch_exporters.proxy.api_paths import Api

_MAX_CHOICES = 128
_DELTA_TEXT = ("reasoning_content", "reasoning", "tool_calls", "function_call", "refusal")
_TELLING = ("usage", "metrics", "meta_info", "sglext", "error")
_FAILED_ENDS = frozenset({"abort", "error"})


class StreamEvents(Protocol):
    """Follows the events of one answer.

    Attributes:
        model: as the answer names it, or None.
        failed: True once an error event was seen.
    """

    model: str | None
    failed: bool

    def take(self, event: Mapping[str, Any]) -> Sequence[Piece]:
        """Take one event's object; returns the text in it."""

    @property
    def complete(self) -> bool:
        """Whether the answer was given to its end."""

    def record(self) -> RequestRecord | None:
        """What the answer says about its tokens, times and speculation, or None."""


def stream_events(api: Api) -> StreamEvents:
    """The reader of a form."""
    if api is Api.MESSAGES:
        return MessageEvents()
    return ResponseEvents() if api is Api.RESPONSES else ChoiceEvents()


class ChoiceEvents:
    """Completions, chat completions and SGLang's `/generate`: text per choice, usage in the last event."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.failed = False
        self._reading = StreamReading()
        self._open: set[int] = set()
        self._begun = False
        self._told: dict[int, int] = {}

    @property
    def complete(self) -> bool:
        """True if every choice that began has ended and no error came."""
        return self._begun and not self._open and not self.failed

    def record(self) -> RequestRecord | None:
        """See `StreamEvents`."""
        return self._reading.record()

    def take(self, event: Mapping[str, Any]) -> Sequence[Piece]:
        """See `StreamEvents`."""
        telling = not self._begun or event.get("object") == "error"
        for key in _TELLING:
            telling |= bool(event.get(key))
        if telling and not self._begin(event):
            return self._native(event)
        pieces = []
        for choice in items(event.get("choices")):
            index = choice.get("index")
            if type(index) is not int:
                index = 0
            ended = bool(choice.get("finish_reason"))
            if ended:
                self.failed |= ended_by_failure(choice)
            if ended or index not in self._open:
                telling |= self._follow(index, ended=ended)
            if _has_text(choice):
                pieces.append(Piece(index, self._tokens(index, choice, event.get("usage"))))
        if telling:
            self._reading.take_object(event)
            self.failed |= self._reading.failed
        return pieces

    def _begin(self, event: Mapping[str, Any]) -> bool:
        """Note the model once; False for SGLang's own form."""
        if self.model is None:
            self.model = name(event.get("model"))
        return "meta_info" not in event

    def _native(self, event: Mapping[str, Any]) -> Sequence[Piece]:
        """SGLang's own form: cumulative text and token count per index."""
        meta = mapping(event.get("meta_info"))
        index = count(event.get("index")) or 0
        self._follow(index, ended=bool(meta.get("finish_reason")))
        self._reading.take_object(event)
        self.failed |= self._reading.failed or ended_by_failure(meta)
        if not (event.get("text") or event.get("output_ids")):
            return ()
        return (Piece(index, self._increase(index, count(meta.get("completion_tokens")))),)

    def _follow(self, index: int, *, ended: bool) -> bool:
        self._begun = True
        if ended:
            self._open.discard(index)
        elif len(self._open) < _MAX_CHOICES:
            self._open.add(index)
        return ended

    def _tokens(self, index: int, choice: Mapping[str, Any], usage: object) -> int | None:
        """Tokens of a piece: token ids, log probabilities, or a running count (`continuous_usage_stats`)."""
        chances = choice.get("logprobs")
        listed = choice.get("token_ids")
        if chances and not listed:
            listed = mapping(chances).get("content") or mapping(chances).get("tokens")
        if listed and isinstance(listed, list):
            return len(listed)
        return self._increase(index, count(mapping(usage).get("completion_tokens"))) if usage else None

    def _increase(self, index: int, total: int | None) -> int | None:
        """By how much a choice's running count has grown."""
        if total is None or len(self._told) > _MAX_CHOICES:
            return None
        before = self._told.get(index, 0)
        self._told[index] = total
        return total - before if total >= before else None


def ended_by_failure(part: Mapping[str, Any]) -> bool:
    """Whether a choice, or SGLang's `meta_info`, says that the engine gave up.

    Source: SGLang `managers/schedule_batch.py`, `FINISH_ABORT`; vLLM 0.32.0 `v1/engine/__init__.py`.
    """
    reason = part.get("finish_reason")
    return (reason if isinstance(reason, str) else mapping(reason).get("type")) in _FAILED_ENDS


def _has_text(choice: Mapping[str, Any]) -> bool:
    if choice.get("text"):
        return True
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return False
    return bool(delta.get("content")) or any(delta.get(key) for key in _DELTA_TEXT)
