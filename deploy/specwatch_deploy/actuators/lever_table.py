"""One table of a settings file, read with one clear line for a mistake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specwatch_detectors.fallback.level import Level


class LeverTable:
    """The table; every method raises ValueError with what is wrong and what is expected.

    Args:
        name: of the table, for messages.
        values: as TOML gives them.
        keys: that are known; any other is a mistake.
    """

    def __init__(self, name: str, values: Mapping[str, Any], keys: Sequence[str]) -> None:
        strange = sorted(set(values) - set(keys))
        if strange:
            raise ValueError(f"[{name}] has no setting {strange[0]}; there are: {', '.join(keys)}")
        self._name = name
        self._values = values

    def has(self, key: str) -> bool:
        """Whether it is given."""
        return key in self._values

    def text(self, key: str, default: str | None = None) -> str:
        """A string; without a default it must be given."""
        value = self._values.get(key, default)
        if value is None:
            raise ValueError(f"[{self._name}] {key} is missing")
        if not isinstance(value, str) or (default is None and not value):
            raise ValueError(f"[{self._name}] {key} must be a string, got {value!r}")
        return value

    def file(self, key: str) -> Path:
        """The path of a file that can be read now: better known at the start than at the first movement."""
        path = Path(self.text(key))
        try:
            with path.open("rb"):
                return path
        except OSError as error:
            raise ValueError(f"[{self._name}] {key} {path} cannot be read: {error.strerror}") from error

    def flag(self, key: str) -> bool:
        """True or false; false if it is not given."""
        value = self._values.get(key, False)
        if not isinstance(value, bool):
            raise ValueError(f"[{self._name}] {key} must be true or false, got {value!r}")  # noqa: TRY004 - a value
        return value

    def number(self, key: str, default: float) -> float:
        """A number above 0."""
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < float("inf"):
            raise ValueError(f"[{self._name}] {key} must be a number above 0, got {value!r}")
        return float(value)

    def count(self, key: str, default: int) -> int:
        """A whole number of at least 1."""
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"[{self._name}] {key} must be a whole number of at least 1, got {value!r}")
        return value

    def steps(self, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """Shares that grow to 1."""
        value = self._values.get(key, default)
        good = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
        good = good and all(isinstance(step, int | float) and not isinstance(step, bool) for step in value)
        if not good or list(value) != sorted(set(value)) or value[0] <= 0 or value[-1] != 1:
            raise ValueError(f"[{self._name}] {key} must grow from above 0 to 1, as in [0.05, 0.25, 1.0]")
        return tuple(float(step) for step in value)

    def words_by_level(self, key: str, levels: tuple[Level, ...]) -> dict[Level, str]:
        """A table with one string for each of these levels and no others."""
        found = self.by_level(key, levels)
        return {level: self.word(f"{key}.{level.value}", value) for level, value in found.items()}

    def lists_by_level(self, key: str, levels: tuple[Level, ...]) -> dict[Level, list[str]]:
        """A table with one list of strings for each of these levels and no others."""
        found = self.by_level(key, levels)
        for level, value in found.items():
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                raise ValueError(f"[{self._name}] {key}.{level.value} must be a list of strings, one per argument")
        return found

    def by_level(self, key: str, levels: tuple[Level, ...]) -> dict[Level, Any]:
        """A table with one entry for each of these levels and no others."""
        value = self._values.get(key)
        wanted = [level.value for level in levels]
        if not isinstance(value, Mapping) or sorted(value) != sorted(wanted):
            raise ValueError(f"[{self._name}] {key} must have one entry for each level: {', '.join(wanted)}")
        return {level: value[level.value] for level in levels}

    def word(self, key: str, value: Any) -> str:
        """A string inside a table."""
        if not isinstance(value, str) or not value:
            raise ValueError(f"[{self._name}] {key} must be a string, got {value!r}")
        return value
