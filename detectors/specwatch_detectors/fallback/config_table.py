"""A table of a configuration file, taken apart key by key; what is left over is a mistake."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from specwatch_exporters.sidecar import setting_values


class ConfigError(ValueError):
    """The file cannot be used; one line says which key, what is wrong, and what to write."""


class ConfigTable:
    """Values of one table.

    Args:
        name: of the table for messages, such as `lever`; empty for the top.
        values: as TOML gives them.
    """

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        self._name = name
        self._values = dict(values)
        self._asked: list[str] = []

    def key(self, key: str) -> str:
        """A key for messages: `[source] prometheus`."""
        return f"[{self._name}] {key}" if self._name else key

    def take(self, key: str, default: Any = None) -> Any:
        """A value as it is."""
        self._asked.append(key)
        return self._values.pop(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        """Text that is not empty, unless the default is."""
        value = self.take(key, default)
        if not isinstance(value, str) or (not value and default != ""):
            raise ConfigError(f"{self.key(key)} must be text" + ("" if value else ", and is missing"))
        return value

    def flag(self, key: str) -> bool:
        """True or false; false where it is missing."""
        value = self.take(key, default=False)
        if not isinstance(value, bool):
            raise ConfigError(f"{self.key(key)} must be true or false, got {value!r}")
        return value

    def number(self, key: str, default: float) -> float:
        """A finite number."""
        value = self.take(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ConfigError(f"{self.key(key)} must be a number, got {value!r}")
        return value

    def duration(self, key: str, default: str) -> float:
        """Seconds from text such as `30s`."""
        text = self.text(key, default)
        try:
            seconds = setting_values.duration(text)
        except ValueError as error:
            raise ConfigError(f"{self.key(key)} {text!r}: {error}; write 30s, 5m or 2h") from error
        if seconds <= 0.0:
            raise ConfigError(f"{self.key(key)} {text!r}: it must be more than nothing")
        return seconds

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; none where it is missing."""
        value = self.take(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise ConfigError(f"{self.key(key)} must be a list of texts, got {value!r}")
        return tuple(value)

    def path(self, key: str) -> Path | None:
        """A path, or None where it is missing."""
        value = self.take(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value:
            raise ConfigError(f"{self.key(key)} must be a path")
        return Path(value)

    def table(self, key: str) -> ConfigTable:
        """A table; an empty one where it is missing."""
        value = self.take(key, {})
        if not isinstance(value, dict):
            raise ConfigError(f"{self.key(key)} must be a table, got {value!r}")
        return ConfigTable(f"{self._name}.{key}" if self._name else key, value)

    def rest(self) -> dict[str, Any]:
        """All that was not taken yet; it is taken by this."""
        found, self._values = self._values, {}
        return found

    @property
    def empty(self) -> bool:
        """Whether nothing is left."""
        return not self._values

    def end(self, also: Iterable[str] = ()) -> None:
        """All keys have been taken.

        Raises:
            ConfigError: one has not; a key like it is named.
        """
        for key in self._values:
            known = sorted({*self._asked, *also})
            like = get_close_matches(key, known, n=1)
            meant = f"; did you mean {like[0]}?" if like else f"; there are {', '.join(known)}"
            raise ConfigError(f"{self.key(key)} is no setting{meant}")
