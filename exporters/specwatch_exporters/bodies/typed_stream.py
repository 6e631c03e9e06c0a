"""A recorded stream of Anthropic messages or OpenAI responses, followed event by event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.bodies.sse import DONE
from specwatch_exporters.bodies.stream import StreamReading
from specwatch_exporters.bodies.typed_events import MessageEvents, ResponseEvents
from specwatch_exporters.json_text import decode

_MESSAGES: Final = ("message_", "content_block_")
_RESPONSES: Final = "response."


@dataclass(slots=True)
class TypedStream:
    """What such a stream has told so far; attributes as in `StreamReading`."""

    events: MessageEvents | ResponseEvents
    chunks: int = 0
    first_content: int | None = None
    done: bool = False
    damaged: int = 0

    @property
    def failed(self) -> bool:
        """True once an error event was seen."""
        return self.events.failed

    @property
    def complete(self) -> bool:
        """Whether the answer was given to its end."""
        return self.events.complete and not self.failed

    def take(self, data: str) -> None:
        """Take the data of one event; never raises."""
        if data.strip() == DONE:
            self.done = True
            return
        event = _decoded(data)
        if event is None:
            self.damaged += 1
            return
        self.chunks += 1
        if self.events.take(event) and self.first_content is None:
            self.first_content = self.chunks

    def record(self) -> RequestRecord | None:
        """What the answer says about its tokens, or None."""
        return self.events.record()


def stream_reading(events: list[str]) -> StreamReading | TypedStream:
    """The reading of a stream with these events, by the first that names a type of one of the two forms."""
    for data in events:
        kind = (_decoded(data) or {}).get("type")
        if isinstance(kind, str) and kind.startswith(_MESSAGES):
            return TypedStream(MessageEvents())
        if isinstance(kind, str) and kind.startswith(_RESPONSES):
            return TypedStream(ResponseEvents())
        if kind is None:
            break
    return StreamReading()


def _decoded(data: str) -> dict[str, object] | None:
    event = decode(data)
    return event if isinstance(event, dict) else None
