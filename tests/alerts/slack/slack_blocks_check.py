"""Slack's rules for blocks, written down a second time from its documentation: what a message must keep."""

from __future__ import annotations

import json
from typing import Any

TEXT_LIMITS = {"header": 150, "section": 3000, "field": 2000, "context": 2000, "button": 75}


def refusal(body: dict[str, Any]) -> str:
    """Slack's error for a message, or empty."""
    blocks, text = body.get("blocks") or [], body.get("text") or ""
    if not blocks and not text:
        return "no_text"
    if len(text) > 40_000:
        return "msg_too_long"
    if len(blocks) > 50:
        return "invalid_blocks"
    if len(json.dumps(blocks)) > 13_000:
        return "msg_blocks_too_long"
    return "" if all(_valid(block) for block in blocks) else "invalid_blocks"


def _valid(block: dict[str, Any]) -> bool:
    kind = block["type"]
    if kind == "header":
        return block["text"]["type"] == "plain_text" and _text(block["text"], 150)
    if kind == "section":
        fields = block.get("fields", [])
        texts = "text" not in block or _text(block["text"], 3000)
        return texts and len(fields) <= 10 and all(_text(field, 2000) for field in fields)
    if kind == "context":
        return 1 <= len(block["elements"]) <= 10 and all(_text(element, 2000) for element in block["elements"])
    if kind == "actions":
        elements = block["elements"]
        names = [element["action_id"] for element in elements]
        return 1 <= len(elements) <= 25 and len(set(names)) == len(names) and all(map(_button, elements))
    return False


def _text(text: dict[str, Any], most: int) -> bool:
    return text["type"] in {"plain_text", "mrkdwn"} and 1 <= len(text["text"]) <= most


def _button(element: dict[str, Any]) -> bool:
    confirm = element.get("confirm")
    asked = confirm is None or (
        _text(confirm["title"], 100)
        and _text(confirm["text"], 300)
        and _text(confirm["confirm"], 30)
        and _text(confirm["deny"], 30)
    )
    return (
        element["type"] == "button"
        and element["text"]["type"] == "plain_text"
        and _text(element["text"], 75)
        and len(element["action_id"]) <= 255
        and len(element.get("value", "")) <= 2000
        and len(element.get("url", "")) <= 3000
        and asked
    )
