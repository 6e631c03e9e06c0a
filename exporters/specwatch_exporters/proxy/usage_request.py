"""Ask the engine for usage on the client's behalf, and keep the client from seeing the difference.

OpenAI streams tell their usage in one extra event, and vLLM its record with it, only if the request says
`stream_options.include_usage`. Where the client did not say it, the sidecar adds it and takes the extra event out:
the one whose `choices` are empty. Requests for several answers are left alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from specwatch_exporters.bodies.fields import mapping
from specwatch_exporters.proxy.http_head import ResponseHead
from specwatch_exporters.proxy.json_members import member_spans

_OBJECT: Final = re.compile(r"\s*\{\s*(?=\")")
_QUESTION: Final = '"include_usage":true'
_EVENT_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_FINISHED: Final = re.compile(rb'"finish_reason"\s*:\s*"')
_STAMP: Final = re.compile(rb'"system_fingerprint"\s*:\s*"(?:[^"\\]|\\.)*"')
_DATA: Final = re.compile(rb"(?:\A|[\r\n])data[:\r\n]")
_HELD_LIMIT: Final = 1024 * 1024


class UsageRequest:
    """Rewrites one request.

    Args:
        limit: bytes of a request that is held; a larger one goes on unchanged.

    Attributes:
        asked: whether the request was changed.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.asked = False

    def rewrite(self, body: bytes) -> bytes:
        """The body with the question in it, or the same one where it is not to be asked."""
        try:
            text = body.decode("utf-8", "surrogatepass")
            fields = json.loads(text)
        except (ValueError, RecursionError):
            return body
        if not isinstance(fields, dict) or fields.get("stream") is not True or not _one_answer(fields):
            return body
        options = fields.get("stream_options")
        if mapping(options).get("include_usage") or not (options is None or isinstance(options, dict)):
            return body
        self.asked = True
        return _with_question(text, fields).encode("utf-8", "surrogatepass")

    def response_filter(self, head: ResponseHead) -> UsageFilter | None:
        """What takes the extra event out; None if nothing was asked or the answer cannot be read."""
        kind = (head.headers.get(b"content-type") or b"").partition(b";")[0].strip().lower()
        coding = (head.headers.get(b"content-encoding") or b"identity").strip().lower()
        readable = kind == b"text/event-stream" and coding == b"identity"
        return UsageFilter() if self.asked and readable else None


class UsageFilter:
    """Passes events on, but for the one that only tells the usage.

    An event goes on when it is complete, so bytes are held for as long as one event takes to arrive, up to 1 MiB.
    The one with the finish reason waits for the next: vLLM stamps its fingerprint on the last event, which is the
    usage if that is asked for, so the stamp has to move back (0.32.0, `openai/chat_completion/serving.py`).
    """

    def __init__(self) -> None:
        self._held = b""
        self._last = b""
        self._behind: list[bytes] = []
        self._behind_size = 0
        self._transparent = False

    def feed(self, data: bytes) -> bytes:
        """See `BodyFilter`."""
        if self._transparent:
            return data
        held = self._held + data if self._held else data
        out: list[bytes] = []
        start = 0
        for end in _EVENT_END.finditer(held):
            self._take(held[start : end.end()], out)
            start = end.end()
        self._held = held[start:]
        if len(self._held) > _HELD_LIMIT:
            self._transparent = True
            out.append(self.close())
        return b"".join(out)

    def close(self) -> bytes:
        """See `BodyFilter`."""
        out: list[bytes] = []
        held, self._held = self._held, b""
        if held:
            self._take(held, out)
        self._release(self._last, out)
        return b"".join(out)

    def broken(self) -> bytes:
        """See `BodyFilter`; behind the finish reason only the usage is to come, so half an event is dropped."""
        held = b"" if self._last else self._held
        self._held = b""
        out: list[bytes] = []
        self._release(self._last, out)
        return b"".join((*out, held))

    def _release(self, last: bytes, out: list[bytes]) -> None:
        """The event that waited goes on, and what waited behind it."""
        out.append(last)
        out += self._behind
        self._last, self._behind, self._behind_size = b"", [], 0

    def _take(self, event: bytes, out: list[bytes]) -> None:
        if self._last and self._behind_size < _HELD_LIMIT and not _DATA.search(event):  # a comment
            self._behind.append(event)
            self._behind_size += len(event)
            return
        if _only_usage(event):
            self._release(_stamped(self._last, event) if self._last else b"", out)
            return
        self._release(self._last, out)
        if _FINISHED.search(event):
            self._last = event
        else:
            out.append(event)


def _with_question(text: str, fields: Mapping[str, Any]) -> str:
    """The request with the question in it; every other character stays as it is."""
    brace = _OBJECT.match(text)
    if brace is None:  # no object with a member, so nothing that asks for a stream
        return text
    if "stream_options" not in fields:
        return f'{text[: brace.end()]}"stream_options":{{{_QUESTION}}},{text[brace.end() :]}'
    place = member_spans(text, text.index("{"))["stream_options"]
    return text[: place.start] + _asking(text[place]) + text[place.stop :]


def _asking(options: str) -> str:
    """The options with the question. Running counts need usage in vLLM, so they were off, and stay so."""
    if not options.startswith("{"):
        return f"{{{_QUESTION}}}"
    members = member_spans(options)
    changes: list[tuple[int, int, str]] = []
    asked, running = members.get("include_usage"), members.get("continuous_usage_stats")
    if asked is None:
        changes.append((1, 1, _QUESTION + ("," if members else "")))
    else:
        changes.append((asked.start, asked.stop, "true"))
    if running is not None and json.loads(options[running]):
        changes.append((running.start, running.stop, "false"))
    for start, stop, text in sorted(changes, reverse=True):
        options = options[:start] + text + options[stop:]
    return options


def _stamped(event: bytes, usage: bytes) -> bytes:
    """The last event with text, with the fingerprint that it would carry were it the last of all."""
    stamp = _STAMP.search(usage)
    if stamp is None or b'"system_fingerprint"' in event:
        return event
    end = event.rindex(b"}")
    return event[:end] + b"," + stamp.group() + event[end:]


def _one_answer(fields: dict[str, Any]) -> bool:
    """Whether one answer is asked for; of several each has the fingerprint, long before it is known here."""
    prompt = fields.get("prompt")
    several = isinstance(prompt, list) and len(prompt) > 1 and not isinstance(prompt[0], int)
    return fields.get("n") in (None, 1) and fields.get("best_of") in (None, 1) and not several


def _only_usage(event: bytes) -> bool:
    """Whether an event carries usage and no choice: `"choices": []`."""
    if b'"usage"' not in event:
        return False
    data = b"\n".join(
        line[5:].removeprefix(b" ") for line in re.split(rb"\r\n|\n|\r", event) if line.startswith(b"data:")
    )
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(fields, dict) and fields.get("choices") == [] and isinstance(fields.get("usage"), dict)
