"""Windows from increases of the catalogue's counters, as the scrape sidecar and the request sidecar count them."""

from __future__ import annotations

from collections.abc import Mapping

from specwatch_detectors.window import NOTHING, Window, window
from specwatch_exporters import catalog
from specwatch_exporters.counts import Counts
from specwatch_exporters.page import Key

_EXACT = frozenset({"vllm-v1-counters", "vllm-v1-plugin", "sglang-tokens-per-verify", "trtllm-iterations"})
"""Definitions whose counts are draft steps and kept tokens; the others are bounds, gauges or other populations."""


def judgeable(definition: str) -> bool:
    """Whether counts of that definition can be tested: drafts and accepted tokens of the same steps."""
    return definition in _EXACT


def model_windows(increases: Mapping[Key, float]) -> dict[str, Window]:
    """One window per model from a scrape's increases.

    A position that the engine has not counted yet is 0: vLLM's page has all positions from the start. Engines that
    share a page (data-parallel ranks) may draft to different depths at one time, so each is counted by itself.
    """
    engines: dict[str, dict[Key, float]] = {}
    for key, value in increases.items():
        engines.setdefault(key.engine, {})[key] = value
    found: dict[str, Window] = {}
    for own in engines.values():
        for model, counts in Counts.by_model(own).items():
            found[model] = found.get(model, NOTHING) + _window(counts)
    return found


def _window(counts: Counts) -> Window:
    drafts = counts.total(catalog.DRAFTS.name)
    accepted = counts.total(catalog.ACCEPTED_TOKENS.name)
    if not drafts or accepted is None:
        return NOTHING
    positions = _prefix(counts.by_position(catalog.ACCEPTED_PER_POSITION.name))
    drafted = _prefix(counts.by_position(catalog.DRAFTED_PER_POSITION.name))
    tokens = counts.total(catalog.DRAFT_TOKENS.name)
    if not positions and tokens == drafts:
        positions = (accepted,)  # one token a draft: position 1 is all there is
    return window(drafts, positions, accepted_tokens=accepted, draft_tokens=tokens, drafted=drafted)


def _prefix(values: tuple[float | None, ...]) -> tuple[float, ...]:
    """The positions before the first one that is missing; behind it nothing can be told."""
    found: list[float] = []
    for value in values:
        if value is None:
            break
        found.append(value)
    return tuple(found)
