"""Versions of engines, as they write them: `0.10.2`, `0.4.6.post5`, `1.3.0rc1`."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

_SHAPE = re.compile(r"v?(\d+(?:\.\d+)*)(?:[.-]?(a|b|rc|dev|post)(\d*))?(?:\.dev\d+)?(?:\+.*)?", re.IGNORECASE)
_PHASES = {"dev": -4, "a": -3, "b": -2, "rc": -1, "": 0, "post": 1}
_PARTS = 4


class Version(NamedTuple):
    """A version that can be compared; `0.8` and `0.8.0` are equal."""

    release: tuple[int, ...]
    phase: int = 0
    number: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a version; a local part, such as `+cpu`, does not count.

        Raises:
            ValueError: it is none.
        """
        found = _SHAPE.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"{text!r} is no version such as 0.10.2")
        release = tuple(int(part) for part in found[1].split("."))[:_PARTS]
        padded = release + (0,) * (_PARTS - len(release))
        return cls(padded, _PHASES[(found[2] or "").lower()], int(found[3] or 0))

    def __str__(self) -> str:
        shown = self.release if self.release[-1] else self.release[:-1]
        name = next(name for name, phase in _PHASES.items() if phase == self.phase)
        dot = "." if name in {"dev", "post"} else ""
        return ".".join(str(part) for part in shown) + (f"{dot}{name}{self.number}" if name else "")
