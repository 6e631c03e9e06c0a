"""Slack's blocks in the terminal, as a person would see them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

_SIGNS: Final = {
    ":red_circle:": "🔴",
    ":large_yellow_circle:": "🟡",
    ":large_blue_circle:": "🔵",
    ":large_green_circle:": "🟢",
    ":grey_question:": "❔",
    ":eyes:": "👀",
    ":no_bell:": "🔕",
    ":warning:": "⚠",
    ":arrow_right_hook:": "↪",
    ":small_red_triangle:": "🔺",
    ":white_check_mark:": "✅",
}
_SIGN: Final = re.compile(r":[a-z_]+:")
_PIECE: Final = re.compile(
    r"```\n?(?P<block>.*?)\n?```|`(?P<code>[^`]+)`|\*(?P<bold>[^*\n]+)\*|<(?P<link>[^<>|]+)\|(?P<words>[^<>]*)>"
    r"|<(?P<bare>[^<>|]+)>",
    re.DOTALL,
)
_WIDTH: Final = 92


def render_blocks(blocks: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The message as something that rich prints.

    Args:
        blocks: as Slack takes them; kinds that are not known here are named.
    """
    drawn = [line for block in blocks for line in (*_block(block), Text())]
    return Panel(Group(*drawn[:-1]), title="Slack", title_align="left", border_style="magenta", width=_WIDTH)


def _block(block: Mapping[str, Any]) -> list[RenderableType]:
    kind = block.get("type")
    if kind == "header":
        return [Text(_signs(block["text"]["text"]), style="bold")]
    if kind == "section":
        texts = [block["text"]] if "text" in block else []
        return [markup(text["text"]) for text in [*texts, *block.get("fields", ())]]
    if kind == "context":
        line = Text("  ·  ").join(markup(element.get("text", "")) for element in block["elements"])
        line.stylize("dim")
        return [line]
    if kind == "actions":
        return [Text("  ").join(_button(element) for element in block["elements"])]
    return [Text(f"[{kind}]", style="dim")]


def _button(element: Mapping[str, Any]) -> Text:
    style = "bold white on red" if element.get("style") == "danger" else "bold black on white"
    words = f" {element['text']['text']} "
    return Text(words, style=f"{style} link {element['url']}" if "url" in element else style)


def markup(text: str) -> Text:
    """Slack's markup as styled text: bold, code, links."""
    drawn, at = Text(), 0
    for piece in _PIECE.finditer(text):
        drawn.append(_plain(text[at : piece.start()]))
        _append(drawn, piece)
        at = piece.end()
    drawn.append(_plain(text[at:]))
    return drawn


def _append(drawn: Text, piece: re.Match[str]) -> None:
    if piece["block"] is not None:
        drawn.append("\n".join(f"  {line}" for line in _plain(piece["block"]).splitlines()), style="cyan")
    elif piece["code"] is not None:
        drawn.append(_plain(piece["code"]), style="cyan")
    elif piece["bold"] is not None:
        drawn.append(_plain(piece["bold"]), style="bold")
    elif piece["link"] is not None and piece["link"].startswith("!date"):
        drawn.append(_plain(piece["words"]))
    elif piece["link"] is not None:
        drawn.append(_plain(piece["words"]), style=f"underline link {_plain(piece['link'])}")
    else:
        drawn.append(_plain(piece["bare"]), style="bold")


def _plain(text: str) -> str:
    return _signs(text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _signs(text: str) -> str:
    return _SIGN.sub(lambda found: _SIGNS.get(found.group(), found.group()), text)
