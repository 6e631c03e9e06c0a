"""Counts what was odd about which lines, and says it once."""

from __future__ import annotations

from dataclasses import dataclass, field

from specwatch_exporters.notices import Notice


@dataclass(slots=True)
class LineNotes:
    """Lines by notice code: how many, and the first."""

    _lines: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, code: str, line: int) -> None:
        """Note one line."""
        count, first = self._lines.get(code, (0, line))
        self._lines[code] = (count + 1, first)

    def notices(self, texts: dict[str, str]) -> list[Notice]:
        """One notice per code, in the order of the codes.

        Args:
            texts: code to what is wrong with the lines and what was done, as the end of a sentence.
        """
        return [Notice(code, f"{_lines(*self._lines[code])}: {texts[code]}") for code in sorted(self._lines)]


def _lines(count: int, first: int) -> str:
    return f"line {first}" if count == 1 else f"{count} lines, the first is {first}"
