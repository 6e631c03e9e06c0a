"""Members of a decoded file, taken with their type checked and nothing left over."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from specwatch_bench.bench_error import BenchError


class Fields:
    """Members of one mapping; each is taken once, and what is left at the end is a mistake.

    Args:
        value: the decoded mapping.
        where: what to call it in an error.

    Raises:
        BenchError: when it is no mapping, and from every method for a member of the wrong type.
    """

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, Mapping):
            raise BenchError(f"{where} must be a mapping, not {value!r}")
        self._left = {str(key): item for key, item in value.items()}
        self.where = where

    def take(self, key: str, default: Any = None) -> Any:
        """Any value."""
        return self._left.pop(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        """A text; needed without a default."""
        value = self.take(key, default)
        if not isinstance(value, str) or not value:
            raise BenchError(f"{self.where}: {key} must be a text, not {value!r}")
        return value

    def maybe_text(self, key: str) -> str | None:
        """A text or nothing."""
        return self.text(key) if self._left.get(key) is not None else self.take(key)

    def number(self, key: str, default: float, least: float = 0.0) -> float:
        """A number of at least `least`."""
        value = self.take(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
            raise BenchError(f"{self.where}: {key} must be a number of at least {least:g}, not {value!r}")
        return float(value)

    def whole(self, key: str, default: int, least: int = 1) -> int:
        """A whole number of at least `least`."""
        value = self.take(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise BenchError(f"{self.where}: {key} must be a whole number of at least {least}, not {value!r}")
        return value

    def flag(self, key: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise BenchError(f"{self.where}: {key} must be true or false, not {value!r}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; numbers in it become texts, as a command line has them."""
        value = self.take(key, ())
        if not isinstance(value, list | tuple) or any(isinstance(item, dict | list | bool) for item in value):
            raise BenchError(f"{self.where}: {key} must be a list of texts, not {value!r}")
        return tuple(str(item) for item in value)

    def mapping(self, key: str) -> dict[str, Any]:
        """A mapping with texts as keys; empty when it is missing."""
        value = self.take(key, {})
        if not isinstance(value, dict):
            raise BenchError(f"{self.where}: {key} must be a mapping, not {value!r}")
        return {str(name): item for name, item in value.items()}

    def items(self, key: str) -> list[Any]:
        """A list that is not empty."""
        value = self.take(key)
        if not isinstance(value, list) or not value:
            raise BenchError(f"{self.where}: {key} must be a list that is not empty")
        return value

    def finish(self) -> None:
        """Refuse what nobody took."""
        if self._left:
            raise BenchError(f"{self.where}: {', '.join(sorted(self._left))} is not known here")
