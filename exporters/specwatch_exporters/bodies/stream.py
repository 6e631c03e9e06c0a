"""One streamed response, followed event by event: first content, end, usage and the speculative record."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from specwatch_exporters.bodies.fields import count, items, mapping
from specwatch_exporters.bodies.record import RequestRecord, Times
from specwatch_exporters.bodies.response import record_from_json
from specwatch_exporters.bodies.speculation import combine
from specwatch_exporters.bodies.sse import DONE

_N = TypeVar("_N", int, float)
# A chunk that can change the record carries one of these as an object or a list; most chunks carry none.
_TELLING = re.compile(r'"(?:usage|metrics|meta_info|sglext|speculative_decoding_stats)"\s*:\s*[{\[]')
_DELTA_CONTENT = ("content", "reasoning_content", "reasoning", "tool_calls", "function_call", "refusal")


@dataclass(slots=True)
class StreamReading:
    """What a stream of OpenAI completions, chat completions or SGLang's native form has told so far.

    Attributes:
        chunks: events with a JSON object, `[DONE]` not counted.
        first_content: 1-based number of the first chunk that carries generated text, or None.
        done: True once `[DONE]` was seen; servers may leave it out.
        failed: True once an error event was seen.
        damaged: events whose data is no JSON object.
    """

    chunks: int = 0
    first_content: int | None = None
    done: bool = False
    failed: bool = False
    damaged: int = 0
    _records: dict[int, RequestRecord] = field(default_factory=dict)
    _finished: dict[int, bool] = field(default_factory=dict)

    def take(self, data: str) -> None:
        """Take the data of one event; never raises."""
        if data.strip() == DONE:
            self.done = True
            return
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            chunk = None
        if isinstance(chunk, dict):
            self.take_object(chunk, telling=_TELLING.search(data) is not None)
        else:
            self.damaged += 1

    def take_object(self, chunk: Mapping[str, Any], *, telling: bool = True) -> None:
        """Take one event that was parsed already; one that is not `telling` carries no more than text."""
        self.chunks += 1
        self.failed |= bool(chunk.get("error")) or chunk.get("object") == "error"
        if self.first_content is None and _has_content(chunk):
            self.first_content = self.chunks
        self._follow(chunk, telling=telling or not self._records)

    @property
    def complete(self) -> bool:
        """True if every choice that began has its finish reason and no error came; `[DONE]` proves neither."""
        return bool(self._finished) and all(self._finished.values()) and not self.failed

    def record(self) -> RequestRecord | None:
        """The request's record so far, or None if no event looked like a response."""
        if not self._records:
            return None
        records = [self._records[index] for index in sorted(self._records)]
        known = [record.speculation for record in records if record.speculation is not None]
        generated = [record.completion_tokens for record in records if record.completion_tokens is not None]
        return replace(
            records[0],
            speculation=combine(known) if known else None,
            completion_tokens=sum(generated) if generated else None,
        )

    def _follow(self, chunk: Mapping[str, Any], *, telling: bool) -> None:
        meta = mapping(chunk.get("meta_info"))
        index = (count(chunk.get("index")) or 0) if meta else 0
        ended = self._finish(index, meta) if meta else False
        for choice in items(chunk.get("choices")):
            ended |= self._finish(count(choice.get("index")) or 0, choice)
        record = record_from_json(chunk) if telling or ended else None
        if record is not None:
            self._records[index] = _merge(self._records.get(index), record)

    def _finish(self, index: int, part: Mapping[str, Any]) -> bool:
        """Note whether a choice has ended; True if it ends with this chunk."""
        ends = bool(part.get("finish_reason"))
        self._finished[index] = ends or self._finished.get(index, False)
        return ends


def _merge(earlier: RequestRecord | None, later: RequestRecord) -> RequestRecord:
    """What the later chunk knows replaces what the earlier one knew; the first finish reason stays."""
    if earlier is None:
        return later
    return RequestRecord(
        engine=later.engine or earlier.engine,
        model=later.model or earlier.model,
        speculation=later.speculation or earlier.speculation,
        prompt_tokens=_newer(earlier.prompt_tokens, later.prompt_tokens),
        completion_tokens=_newer(earlier.completion_tokens, later.completion_tokens),
        finish_reason=earlier.finish_reason or later.finish_reason,
        times=Times(*(_newer(old, new) for old, new in zip(earlier.times, later.times, strict=True))),
    )


def _newer(earlier: _N | None, later: _N | None) -> _N | None:
    return earlier if later is None else later


def _has_content(chunk: Mapping[str, Any]) -> bool:
    if isinstance(chunk.get("meta_info"), dict):
        return bool(chunk.get("text") or chunk.get("output_ids"))
    for choice in items(chunk.get("choices")):
        delta = mapping(choice.get("delta"))
        if choice.get("text") or any(delta.get(name) for name in _DELTA_CONTENT):
            return True
    return False
