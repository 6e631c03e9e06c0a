"""What a request says about itself: model, stream, choices, and the text to classify it by."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specwatch_exporters.bodies.fields import count, mapping, name
from specwatch_exporters.proxy.api_paths import Api

_MAX_CHOICES: Final = 128
_STREAM: Final = re.compile(rb'"stream"\s*:\s*true')  # a look-behind would cost thirty times as much
_OVERLAP: Final = 64


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """What is known of a request; None where it is not.

    Attributes:
        model: as asked for; a LoRA adapter of vLLM is a model.
        lora: adapter as SGLang names it.
        stream: whether a streamed answer is asked for; True as well if that cannot be told.
        choices: answers asked for.
        predicts: whether it brings its own guess of the answer (Predicted Outputs).
        text: the user's last words, for the classifier; never printed.
    """

    model: str | None = None
    lora: str | None = None
    stream: bool = False
    choices: int = 1
    predicts: bool = False
    text: str = field(default="", repr=False)


def read_request(api: Api, body: bytes) -> RequestFacts | None:
    """Read a whole body; None if it is no JSON object."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    choices = count(fields.get("n")) or count(mapping(fields.get("sampling_params")).get("n")) or 1
    return RequestFacts(
        model=name(fields.get("model")),
        lora=name(fields.get("lora_path")),
        stream=fields.get("stream") is True,
        choices=min(choices, _MAX_CHOICES),
        predicts=bool(fields.get("prediction")),
        text=_text(api, fields),
    )


class StreamSearch:
    """Looks for the wish for a stream in a body that is too large to read, part by part.

    Inside a prompt the words do not count: quotes are escaped there.

    Attributes:
        found: whether a part so far had it.
    """

    def __init__(self) -> None:
        self.found = False
        self._tail = b""

    def feed(self, part: bytes) -> None:
        """Take the next bytes."""
        if self.found:
            return
        text = self._tail + part
        self.found = any(text[hit.start() - 1 : hit.start()] != b"\\" for hit in _STREAM.finditer(text))
        self._tail = text[-_OVERLAP:]


def _text(api: Api, fields: Mapping[str, Any]) -> str:
    """The user's own words: what is asked last, without system prompt and history."""
    if api is Api.COMPLETIONS:
        return _plain(fields.get("prompt"))
    if api is Api.GENERATE:
        return _plain(fields.get("text"))
    if api is Api.RESPONSES and isinstance(fields.get("input"), str):
        return str(fields["input"])
    return _last_user(fields.get("input" if api is Api.RESPONSES else "messages"))


def _last_user(messages: object) -> str:
    if not isinstance(messages, list):
        return ""
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            return _plain(message.get("content"))
    return ""


def _plain(content: object) -> str:
    """Text from a string, or from the text parts of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part if isinstance(part, str) else mapping(part).get("text") for part in content[-64:])
    return "\n".join(part for part in parts if isinstance(part, str))
