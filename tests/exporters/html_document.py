"""A page of HTML, read strictly."""

from __future__ import annotations

from html.parser import HTMLParser

THIN = "\u202f"
VOID = frozenset({"meta", "link", "br", "img", "input"})


class Document(HTMLParser):
    """Reads a page strictly: every element is closed, in order; keeps elements, attributes and visible text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.raw: dict[str, str] = {}
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == [], "unclosed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in <{tag}>"
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in {"style", "script"}:
            self.raw[self._open[-1]] = data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All visible text, white space folded."""
        return " ".join(" ".join(self.words).replace(THIN, " ").split())

    def all(self, tag: str, class_: str = "") -> list[dict[str, str]]:
        """Attributes of all elements of a kind."""
        return [
            attrs
            for name, attrs in self.elements
            if name == tag and (not class_ or class_ in attrs.get("class", "").split())
        ]
