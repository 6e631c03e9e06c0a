"""Whether something is about serving language models at all.

Habits (a wait, a guard, a window, a scaler's default) are told of such things only: of another exporter nobody here
knows how often it is scraped, nor whether its divisor can be 0.
"""

from __future__ import annotations

import json
import re
from typing import Final

from specwatch_alerts.promql_tree import Node, selectors
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.knowledge import Knowledge

_ABOUT: Final = re.compile(
    r"llm|sglang|tensorrt|dynamo(?!db)|specwatch|aibrix|kthena|inference_?(extension|objective|pool|service)|"
    r"nvidia\.com/gpu|amd\.com/gpu",
    re.IGNORECASE,
)
"""Engines and their gateways, in names of series, images, labels and objects; GPUs that a pod asks for."""


def about_serving(text: str) -> bool:
    """Whether a text names an engine, a gateway of one, or GPUs of a pod."""
    return _ABOUT.search(text) is not None


def is_about_serving(document: Document) -> bool:
    """Whether anything in a document does."""
    return about_serving(json.dumps(document.body, default=str, ensure_ascii=False))


def asks_about_serving(asked: Asked, known: Knowledge) -> bool:
    """Whether a query does, by its text, by what people read beside it, or by the recorded series that it reads."""
    return about_serving(f"{asked.query.text} {asked.query.title}") or _by_recorded(asked.tree, known, frozenset())


def _by_recorded(tree: Node, known: Knowledge, seen: frozenset[str]) -> bool:
    for name in {one.name for one in selectors(tree)} - seen:
        if about_serving(name):
            return True
        if any(_by_recorded(rule, known, seen | {name}) for rule in known.rules.get(name, ())):
            return True
    return False
