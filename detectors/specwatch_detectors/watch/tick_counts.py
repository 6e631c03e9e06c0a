"""The counts of one tick, of all pods, summed into windows by model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import add
from typing import Final

from specwatch_detectors.watch.counter_book import CounterBook
from specwatch_detectors.watch.counters import ACCEPTED_TOKENS, DRAFT_TOKENS, DRAFTS, FIXED, Origin
from specwatch_detectors.watch.series_increase import Stream
from specwatch_detectors.window import NOTHING, Window, window

NO_CLASS: Final = "unknown"
"""Traffic class of what the vLLM plugin counts: it does not see requests' classes."""


@dataclass(slots=True)
class ModelCounts:
    """What one model did in a tick.

    Attributes:
        engine: by definition of the counts, from engines' counters.
        classes: by traffic class, from per-request counters.
        engine_pods: names of pods behind `engine`, by definition.
        class_pods: names of pods behind `classes`.
    """

    engine: dict[str, Window] = field(default_factory=dict)
    classes: dict[str, Window] = field(default_factory=dict)
    engine_pods: dict[str, set[str]] = field(default_factory=dict)
    class_pods: set[str] = field(default_factory=set)

    @property
    def requests(self) -> Window:
        """All classes together; what has no class only if there is nothing else, lest it counts twice."""
        known = [window for name, window in self.classes.items() if name != NO_CLASS]
        return sum(known or self.classes.values(), NOTHING)


@dataclass(slots=True)
class _Sum:
    """Windows of many streams, added up.

    Streams whose drafts were all of full depth are added as rows, by depth: their trials follow from the sums. The
    others give windows of their own, because what a position was tried depends on their own depths.
    """

    rows: dict[int, list[float]] = field(default_factory=dict)
    window: Window = NOTHING

    def add(self, stream: Stream, row: list[float]) -> None:
        """Add one stream's counts."""
        if not _full(stream, row):
            self.window += stream_window(stream, row)
            return
        depth = stream.depth
        counted = [row[DRAFTS], row[ACCEPTED_TOKENS], *row[FIXED : FIXED + 2 * depth : 2]]
        before = self.rows.get(depth)
        self.rows[depth] = counted if before is None else list(map(add, before, counted))

    @property
    def whole(self) -> Window:
        """All of it."""
        found = self.window
        for drafts, total, *accepted in self.rows.values():
            found += window(drafts, accepted, accepted_tokens=total)
        return found


def tick_counts(book: CounterBook, tick: int) -> dict[str, ModelCounts]:
    """The counts of one tick by model; a model without a single sample is not among them."""
    found: dict[str, ModelCounts] = {}
    for origin in Origin:
        sums: dict[tuple[str, str], _Sum] = {}
        pods: dict[tuple[str, str], set[str]] = {}
        for stream, row in book.rows(origin, tick):
            key = (stream.model, stream.kind)
            if key not in sums:
                sums[key], pods[key] = _Sum(), set()
            sums[key].add(stream, row)
            pods[key].add(stream.pod.name)
        for (model, kind), total in sums.items():
            counts = found.setdefault(model, ModelCounts())
            if origin is Origin.ENGINE:
                counts.engine[kind], counts.engine_pods[kind] = total.whole, pods[(model, kind)]
            else:
                counts.classes[kind] = total.whole
                counts.class_pods |= pods[(model, kind)]
    return found


def _full(stream: Stream, row: list[float]) -> bool:
    """Whether every draft proposed a token at every position that is counted."""
    depth, drafts = stream.depth, row[DRAFTS]
    if not depth or row[DRAFT_TOKENS] != depth * drafts or ACCEPTED_TOKENS not in stream.cells:
        return False
    drafted = row[FIXED + 1 :: 2]
    return not any(drafted) or drafted == [drafts] * depth


def stream_window(stream: Stream, row: list[float]) -> Window:
    """The window of one stream, with the trials that its own depth gives it."""
    drafts = row[DRAFTS]
    if drafts <= 0.0:
        return NOTHING
    cells = stream.cells
    total = row[ACCEPTED_TOKENS] if ACCEPTED_TOKENS in cells else None
    tokens = row[DRAFT_TOKENS] if DRAFT_TOKENS in cells else None
    accepted = row[FIXED : FIXED + 2 * stream.depth : 2]
    if not accepted and tokens == drafts and total is not None:
        accepted = [total]  # one token a draft: position 0 is all there is
    drafted = row[FIXED + 1 : _behind(FIXED + 1, cells) : 2]
    return window(drafts, accepted, accepted_tokens=total, draft_tokens=tokens, drafted=drafted)


def _behind(cell: int, cells: Iterable[int]) -> int:
    """The first cell of every second one from `cell` on that has no series: behind it nothing can be told."""
    while cell in cells:
        cell += 2
    return cell
