"""Slack's limits of a message, and blocks made to keep them.

Numbers: https://docs.slack.dev/reference/block-kit. The total of a message has no published limit; messages of
about 13,000 characters were refused with `msg_blocks_too_long`, so that `TOTAL` stays below.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from specwatch_alerts.slack.mrkdwn import cut, is_web_address

Block = dict[str, Any]

BLOCKS: Final = 50
HEADER: Final = 150
SECTION: Final = 3000
FIELD: Final = 2000
CONTEXT: Final = 10
ACTIONS: Final = 25
BUTTON: Final = 75
VALUE: Final = 2000
CONFIRM_TITLE: Final = 100
CONFIRM_TEXT: Final = 300
CONFIRM_BUTTON: Final = 30
TEXT: Final = 3000
TOTAL: Final = 10_000
_EMPTY: Final = " "


def header(words: str) -> Block:
    """The large line at the top."""
    plain = " ".join(words.replace("\0", " ").split())
    return {"type": "header", "text": {"type": "plain_text", "text": cut(plain, HEADER) or _EMPTY, "emoji": True}}


def section(markup: str, most: int = SECTION) -> Block:
    """A paragraph."""
    return {"type": "section", "text": _markup(markup, min(most, SECTION))}


def table(title: str, lines: Sequence[str], most: int = SECTION) -> Block:
    """A title above lines in the font of code; lines that do not fit are left out whole."""
    kept = list(lines)
    while len(_table(title, kept)) > most and kept:
        kept.pop()
    return {"type": "section", "text": _markup(_table(title, kept), most)}


def context(parts: Sequence[str]) -> Block:
    """Small print."""
    return {"type": "context", "elements": [_markup(part, FIELD) for part in parts[:CONTEXT]]}


def actions(buttons: Sequence[Block]) -> Block:
    """A row of buttons."""
    return {"type": "actions", "elements": list(buttons[:ACTIONS])}


def link_button(words: str, url: str, action: str) -> Block | None:
    """A button that opens an address, or None where the address is none."""
    if not is_web_address(url):
        return None
    return {"type": "button", "text": _plain(words, BUTTON), "url": url, "action_id": action}


def asking_button(words: str, action: str, value: str, title: str, question: str, *, danger: bool = False) -> Block:
    """A button that acts, after a question."""
    button: Block = {
        "type": "button",
        "text": _plain(words, BUTTON),
        "action_id": action,
        "value": cut(value, VALUE),
        "confirm": {
            "title": _plain(title, CONFIRM_TITLE),
            "text": _plain(question, CONFIRM_TEXT),
            "confirm": _plain(words, CONFIRM_BUTTON),
            "deny": _plain("Cancel", CONFIRM_BUTTON),
        },
    }
    if danger:
        button["style"] = "danger"
    return button


def acting_button(words: str, action: str, value: str) -> Block:
    """A button that acts at once."""
    return {"type": "button", "text": _plain(words, BUTTON), "action_id": action, "value": cut(value, VALUE)}


def fitted(blocks: Sequence[Block], expendable: Sequence[int] = ()) -> list[Block]:
    """Blocks whose total Slack takes.

    Args:
        blocks: the message; the first block always stays.
        expendable: indexes of those that go first if it is too long, in that order; then go the last ones.
    """
    kept = dict(enumerate(blocks[:BLOCKS]))
    order = [index for index in expendable if index in kept]
    order += [index for index in sorted(kept, reverse=True) if index not in order and index != 0]
    for index in order:
        if len(json.dumps(list(kept.values()))) <= TOTAL:
            break
        del kept[index]
    return list(kept.values())


def _table(title: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f"{title}\n```\n{body}\n```" if lines else title


def _markup(text: str, most: int) -> Block:
    return {"type": "mrkdwn", "text": cut(text, most) or _EMPTY}


def _plain(text: str, most: int) -> Block:
    return {"type": "plain_text", "text": cut(text, most) or _EMPTY, "emoji": True}
