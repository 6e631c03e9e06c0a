"""Limits on what one page may bring in, so that label values cannot grow memory or series without end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from specwatch_exporters import catalog
from specwatch_exporters.page import Key, Page, SeriesId

T = TypeVar("T")
MAX_MODELS = 100
MAX_ENGINES = 256
MAX_VALUES = 64
MAX_POSITIONS = 16
MAX_SERIES = 8_000
_PER_POSITION = frozenset({catalog.ACCEPTED_PER_POSITION.name, catalog.DRAFTED_PER_POSITION.name})


def bound(page: Page, max_models: int = MAX_MODELS) -> None:
    """Drop from a page what exceeds the limits, and say so in a notice.

    The first names in sorted order stay, so that the same page always keeps the same series. Positions of 16 and
    more are left out.
    """
    models = _keep(page, "models", page.models(), max_models)
    engines = _keep(page, "engines", {id_.engine for id_ in _all(page)}, MAX_ENGINES)
    values = {
        metric: _keep(page, f"label values of {metric}", extras, MAX_VALUES)
        for metric, extras in _extras(page).items()
    }

    def kept(id_: SeriesId | Key) -> bool:
        if id_.metric in _PER_POSITION and not (
            id_.extra.isascii() and id_.extra.isdecimal() and len(id_.extra) < 3 and int(id_.extra) < MAX_POSITIONS
        ):
            page.note("too_many_labels", f"Positions of {MAX_POSITIONS} and more are left out.")
            return False
        allowed = values.get(id_.metric)
        return id_.model in models and id_.engine in engines and (allowed is None or id_.extra in allowed)

    page.counters = {id_: value for id_, value in page.counters.items() if kept(id_)}
    page.gauges = {id_: value for id_, value in page.gauges.items() if kept(id_)}
    if len(page.counters) > MAX_SERIES:
        page.note("too_many_labels", f"{len(page.counters)} series on one page; the first {MAX_SERIES} are kept.")
        page.counters = {id_: page.counters[id_] for id_ in sorted(page.counters)[:MAX_SERIES]}
    _restrict(page.declared, models)
    _restrict(page.reported, models)
    _restrict(page.speculative_tokens, models)
    _restrict(page.methods, models)
    _restrict(page.facts, models)
    page.speculative &= models


def _all(page: Page) -> Iterable[SeriesId | Key]:
    yield from page.counters
    yield from page.gauges


def _extras(page: Page) -> dict[str, set[str]]:
    """Values of each metric's own label, where it has one that is no position."""
    found: dict[str, set[str]] = {}
    for id_ in _all(page):
        if id_.extra and id_.metric not in _PER_POSITION:
            found.setdefault(id_.metric, set()).add(id_.extra)
    return {metric: extras | {""} for metric, extras in found.items()}


def _keep(page: Page, what: str, names: Iterable[str], limit: int) -> frozenset[str]:
    ordered = sorted(names)
    if len(ordered) > limit:
        page.note("too_many_labels", f"{len(ordered)} {what} on one page; the first {limit} are kept.")
    return frozenset(ordered[:limit])


def _restrict(table: dict[str, T], models: frozenset[str]) -> None:
    for model in [model for model in table if model not in models]:
        del table[model]
