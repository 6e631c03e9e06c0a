"""Server-sent events, decoded as the bytes arrive.

Source: WHATWG HTML, 9.2.6 "Interpreting an event stream". Lines end with CRLF, LF or CR; the decoder works on
bytes, so a character or a line end may be split anywhere. Only the data of events is kept: LLM APIs use no more.
"""

from __future__ import annotations

import re

DONE = "[DONE]"
DEFAULT_LIMIT = 16 * 1024 * 1024
_LINE_END = re.compile(rb"\r\n|\n|\r")
_ONE_EVENT = b"data: "
_BOM = b"\xef\xbb\xbf"


class SseOverflowError(ValueError):
    """One event is larger than the decoder's limit; the message says how large an event may be."""


class SseDecoder:
    """Incremental decoder of one event stream.

    Attributes:
        limit: bytes that one event may have, its lines included; beyond it `feed` raises and the stream is lost.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._line = bytearray()
        self._data: list[bytes] = []
        self._held = 0
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[str]:
        """Take the next bytes.

        Returns:
            The data of every event that they complete, in order; several `data` lines are joined by a newline.

        Raises:
            SseOverflowError: an event exceeds the limit without ending.
        """
        if not self._held and chunk.startswith(_ONE_EVENT) and chunk.endswith(b"\n\n"):
            whole = self._whole_event(chunk)
            if whole is not None:
                return [whole]
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        lines = _LINE_END.split(chunk)
        events: list[str] = []
        for line in lines[:-1]:
            self._take(line)
            self._end_line(events)
        self._take(lines[-1])
        self._after_cr = chunk.endswith(b"\r") or (self._after_cr and not chunk)
        return events

    def _whole_event(self, chunk: bytes) -> str | None:
        """The data of a chunk that is one event of one line, as LLM servers send them; None if it is more."""
        if chunk.count(b"\n") != 2 or b"\r" in chunk or len(chunk) > self.limit:
            return None
        self._after_cr = self._at_start = False
        return chunk[len(_ONE_EVENT) : -2].decode("utf-8", errors="replace")

    def close(self) -> list[str]:
        """Return the event that the end of the stream leaves open, if any: servers forget the last blank line."""
        events: list[str] = []
        if self._line:
            self._end_line(events)
        self._dispatch(events)
        return events

    def _take(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > self.limit:
            raise SseOverflowError(f"an event of the stream exceeds {self.limit} bytes and has not ended")
        self._line += piece

    def _end_line(self, events: list[str]) -> None:
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            line = line.removeprefix(_BOM)
            self._at_start = False
        if not line:
            self._dispatch(events)
            return
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
        else:
            self._held -= len(line)

    def _dispatch(self, events: list[str]) -> None:
        if self._data:
            events.append(b"\n".join(self._data).decode("utf-8", errors="replace"))
        self._data = []
        self._held = 0
