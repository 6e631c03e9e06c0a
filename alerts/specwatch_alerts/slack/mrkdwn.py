"""Text for Slack: escaped, so that no label mentions a channel or breaks a link, and cut to what Slack takes.

Slack's three characters: https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

ELLIPSIS: Final = "…"


def escape(text: str) -> str:
    """As it is, not as markup: `<!channel>` in a label calls nobody. Lines become one."""
    plain = " ".join(text.replace("\0", " ").split())
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text: str) -> str:
    """In the font of code."""
    return f"`{escape(text).replace('`', chr(0x2019))}`"


def cut(text: str, most: int) -> str:
    """At most so many characters, an ellipsis last; no half entity stays at the end."""
    if len(text) <= most:
        return text
    kept = text[: most - len(ELLIPSIS)]
    start = kept.rfind("&", max(0, len(kept) - 5))
    if start >= 0 and ";" not in kept[start:]:
        kept = kept[:start]
    return kept + ELLIPSIS


def link(url: str, words: str) -> str:
    """A link, or only the words where the address is none that a link can hold."""
    if not is_web_address(url) or any(letter in url for letter in "<>|"):
        return escape(words)
    return f"<{url.replace('&', '&amp;')}|{escape(words)}>"


def is_web_address(url: str) -> bool:
    """Whether Slack takes it as the address of a button or link."""
    return url.startswith(("http://", "https://")) and url.isprintable() and " " not in url and len(url) <= 3000


def moment(seconds: float) -> str:
    """A time, shown in each reader's own zone."""
    plain = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(seconds)}^{{date_short_pretty}} {{time}}|{plain}>"


def span(seconds: float) -> str:
    """How long, in two units at most."""
    left = max(0, round(seconds))
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
        elif parts:
            break
    return " ".join(parts[:2]) or "0 s"
