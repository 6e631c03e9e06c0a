"""Which level a series belongs to, by its labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from specwatch_detectors.fallback.level import Level

_NAMES: Final = {level.value: level for level in Level}


@dataclass(frozen=True, slots=True)
class LevelRule:
    """Tells levels apart.

    Attributes:
        label: whose value is a level's name, or empty.
        match: labels that a level's series have, by level; asked before `label`.
    """

    label: str = ""
    match: Mapping[Level, Mapping[str, str]] = field(default_factory=dict)

    @property
    def shared(self) -> bool:
        """Levels are not told apart: whatever is seen belongs to the one in force."""
        return not self.label and not self.match

    def level(self, labels: Mapping[str, str], in_force: Level) -> Level | None:
        """The level of a series, or None if it belongs to none."""
        if self.shared:
            return in_force
        for level, wanted in self.match.items():
            if all(labels.get(name) == value for name, value in wanted.items()):
                return level
        return _NAMES.get(labels.get(self.label, "")) if self.label else None
