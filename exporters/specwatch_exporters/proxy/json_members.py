"""Where the members of a JSON object stand in its text, so that one can be changed and no other byte is."""

from __future__ import annotations

import json
import re
from typing import Final

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_DECODE: Final = json.JSONDecoder().raw_decode


def member_spans(text: str, start: int = 0) -> dict[str, slice]:
    """The place of every member's value; of members with the same name the last, which is the one that counts.

    Args:
        text: valid JSON.
        start: where the object's brace is.
    """
    found: dict[str, slice] = {}
    at = _past_blanks(text, start + 1)
    while text[at] != "}":
        name, at = _DECODE(text, at)
        at = _past_blanks(text, _past_blanks(text, at) + 1)
        _, end = _DECODE(text, at)
        found[name] = slice(at, end)
        at = _past_blanks(text, end)
        if text[at] == ",":
            at = _past_blanks(text, at + 1)
    return found


def _past_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()
