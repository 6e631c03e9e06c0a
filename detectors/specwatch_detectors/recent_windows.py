"""A short history of what was drafted and accepted, in total and by class: before and after, to explain."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.window import NOTHING, Window

CHUNKS: Final = 240


@dataclass(slots=True)
class _Chunk:
    """Some intervals added up."""

    began: float
    ended: float
    total: Window = NOTHING
    classes: dict[str, Window] = field(default_factory=dict)

    def add(self, now: float, total: Window, classes: Mapping[str, Window]) -> None:
        self.ended = now
        self.total += total
        for name, window in classes.items():
            self.classes[name] = self.classes.get(name, NOTHING) + window


class RecentWindows:
    """Keeps the last 240 chunks.

    Args:
        chunk_s: length of a chunk; how sharply an onset can be cut.
    """

    def __init__(self, chunk_s: float) -> None:
        self._chunk_s = chunk_s
        self._chunks: deque[_Chunk] = deque(maxlen=CHUNKS)

    def add(self, now: float, total: Window, classes: Mapping[str, Window], *, cut: bool = False) -> None:
        """Take one interval in; `cut` begins a chunk, because what came before was another engine."""
        last = self._chunks[-1] if self._chunks else None
        if last is None or cut or now - last.began > self._chunk_s:
            last = _Chunk(now if last is None else last.ended, now)
            self._chunks.append(last)
        last.add(now, total, classes)

    def around(self, onset: float) -> tuple[Comparison, dict[str, Comparison]]:
        """Total and classes before and from the onset on, each of one depth; the chunk that holds it is left out.

        Args:
            onset: seconds, the clock of `add`.
        """
        before, after = _Chunk(0.0, 0.0), _Chunk(0.0, 0.0)
        for chunk in self._chunks:
            if chunk.ended <= onset:
                before.add(chunk.ended, chunk.total, chunk.classes)
            elif chunk.began >= onset:
                after.add(chunk.ended, chunk.total, chunk.classes)
        names = sorted(before.classes.keys() | after.classes.keys())
        classes = {
            name: Comparison(before.classes.get(name, NOTHING), after.classes.get(name, NOTHING)).of_one_depth()
            for name in names
        }
        return Comparison(before.total, after.total).of_one_depth(), classes
