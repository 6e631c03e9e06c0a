"""Parts of Alertmanager's configuration: routes, receivers, inhibition rules and their matchers.

Source: Alertmanager 0.25 to 0.33, docs/configuration: `source_matchers` are texts, `source_match` and
`source_match_re` their older forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_deploy.doctor.document import Document, Key
from specwatch_deploy.doctor.scaler_trigger import rows_of

_MATCHER: Final = re.compile(
    r"""\s*(?:"(?P<quoted>[^"]+)"|(?P<label>[A-Za-z_][A-Za-z0-9_]*))\s*(?P<operator>=~|!~|!=|=)\s*"""
    r"""(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<bare>[^,{}"]*))\s*(?:,|$)"""
)


@dataclass(frozen=True, slots=True, order=True)
class AlertMatcher:
    """One condition on a label."""

    label: str
    operator: str
    value: str

    def holds(self, value: str) -> bool:
        """Whether a value meets it; a missing label has the empty value. A broken pattern holds for nothing."""
        if self.operator in {"=", "!="}:
            return (value == self.value) is (self.operator == "=")
        try:
            matched = re.fullmatch(self.value, value) is not None
        except re.error:
            return False
        return matched is (self.operator == "=~")


@dataclass(frozen=True, slots=True)
class Inhibition:
    """One inhibition rule.

    Attributes:
        path: of the rule.
        source: what mutes.
        target: what is muted.
        equal: labels that both must have alike.
    """

    path: tuple[Key, ...]
    source: tuple[AlertMatcher, ...]
    target: tuple[AlertMatcher, ...]
    equal: tuple[str, ...]


def is_alertmanager(document: Document) -> bool:
    """Whether a document is a configuration of Alertmanager, or an excerpt with its inhibition rules."""
    body = document.body
    if not isinstance(body, Mapping) or document.kind:
        return False
    return {"route", "receivers"} <= set(body) or isinstance(body.get("inhibit_rules"), list)


def inhibitions(document: Document) -> Iterator[Inhibition]:
    """The inhibition rules."""
    for number, row in rows_of(document, "inhibit_rules"):
        equal = row.get("equal")
        yield Inhibition(
            ("inhibit_rules", number),
            _side(row, "source"),
            _side(row, "target"),
            tuple(map(str, equal)) if isinstance(equal, list) else (),
        )


def routes(document: Document) -> Iterator[tuple[tuple[Key, ...], Mapping[str, Any]]]:
    """The root route and all below it, with their paths."""
    root = document.at("route")
    waiting: list[tuple[Key, ...]] = [("route",)] if isinstance(root, Mapping) else []
    while waiting:
        path = waiting.pop(0)
        yield path, document.at(*path)
        waiting += [(*path, "routes", number) for number, _ in rows_of(document, *path, "routes")]


def _side(row: Mapping[str, Any], side: str) -> tuple[AlertMatcher, ...]:
    found: list[AlertMatcher] = []
    for operator, key in (("=", f"{side}_match"), ("=~", f"{side}_match_re")):
        pairs = row.get(key)
        if isinstance(pairs, Mapping):
            found += [AlertMatcher(str(label), operator, str(value)) for label, value in pairs.items()]
    texts = row.get(f"{side}_matchers")
    for text in texts if isinstance(texts, list) else ():
        found += matchers(str(text))
    return tuple(found)


def matchers(text: str) -> list[AlertMatcher]:
    """Conditions in a text such as `severity="page"` or `{a="b", c=~"d"}`."""
    text = text.strip()
    text = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    return [
        AlertMatcher(
            match["quoted"] or match["label"],
            match["operator"],
            (
                match["text"].replace('\\"', '"').replace("\\\\", "\\")
                if match["text"] is not None
                else match["bare"]
            ),
        )
        for match in _MATCHER.finditer(text)
    ]
