"""How a panel wants one of its fields shown: unit, limits, texts and colours, with the overrides for its name."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specwatch_dashboards.preview.number_text import shown

Json = Mapping[str, Any]
QUIET: Final = "#8E8E8E"
# Told apart with the common colour vision deficiencies, on white and on black.
PALETTE: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#9467BD", "#8C8C00")
# Grafana's names of colours; other names are shown grey.
_NAMED: Final = {
    "green": "#73BF69",
    "dark-green": "#37872D",
    "red": "#F2495C",
    "dark-red": "#C4162A",
    "orange": "#FF9830",
    "dark-orange": "#FA6400",
    "yellow": "#FADE2A",
    "dark-yellow": "#E0B400",
    "blue": "#5794F2",
    "dark-blue": "#1F60C4",
    "purple": "#B877D9",
    "dark-purple": "#8F3BB8",
    "transparent": "transparent",
}


@dataclass(frozen=True, slots=True)
class Field:
    """The settings of a field.

    Attributes:
        settings: the panel's defaults with the overrides of the field's name, by name.
        custom: those of its kind of panel.
    """

    settings: Json
    custom: Json

    @property
    def unit(self) -> str:
        """Grafana's name of the unit."""
        return str(self.settings.get("unit", "short"))

    @property
    def no_value(self) -> str:
        """What stands where there is nothing."""
        return str(self.settings.get("noValue") or "No data")

    @property
    def low(self) -> float | None:
        """Lower end of the axis."""
        return _number(self.settings.get("min"))

    @property
    def high(self) -> float | None:
        """Upper end of the axis."""
        return _number(self.settings.get("max"))

    @property
    def fixed_color(self) -> str | None:
        """Its colour, if it has one of its own."""
        color = self.settings.get("color", {})
        return color_of(color["fixedColor"]) if color.get("mode") == "fixed" and "fixedColor" in color else None

    def text(self, value: float | None) -> str:
        """What is written for a value."""
        if value is None:
            return self.no_value
        mapped = self._mapped(value)
        if mapped is not None and mapped.get("text"):
            return str(mapped["text"])
        return shown(value, self.unit, self.settings.get("decimals"))

    def color(self, value: float | None) -> str:
        """Colour of a value: that of its text, or of the limit that it has passed."""
        mapped = None if value is None else self._mapped(value)
        if mapped is not None and mapped.get("color"):
            return color_of(mapped["color"])
        if self.fixed_color is not None:
            return self.fixed_color
        found = QUIET
        for step in self.settings.get("thresholds", {}).get("steps", []):
            limit = step.get("value")
            if limit is None or (value is not None and value >= limit):
                found = color_of(step["color"])
        return found

    def _mapped(self, value: float) -> Json | None:
        for mapping in self.settings.get("mappings", []):
            options = mapping.get("options", {})
            if mapping["type"] == "value":
                found = next((result for key, result in options.items() if _number(key) == value), None)
            elif mapping["type"] == "range":
                low, high = options.get("from"), options.get("to")
                inside = (low is None or value >= low) and (high is None or value <= high)
                found = options.get("result") if inside else None
            elif mapping["type"] == "special" and options.get("match") in {"nan", "null+nan"}:
                found = options.get("result") if math.isnan(value) else None
            else:
                found = None
            if found is not None:
                return dict(found)
        return None


def field_of(panel: Json, name: str) -> Field:
    """The settings of the field of a name."""
    config = panel.get("fieldConfig", {})
    settings = dict(config.get("defaults", {}))
    custom = dict(settings.get("custom", {}))
    for override in config.get("overrides", []):
        if not _matches(override["matcher"], name):
            continue
        for one in override["properties"]:
            key, value = one["id"], one.get("value")
            if key.startswith("custom."):
                custom[key.removeprefix("custom.")] = value
            else:
                settings[key] = value
    return Field(settings, custom)


def color_of(name: str) -> str:
    """A colour that CSS knows."""
    return name if name.startswith(("#", "rgb")) else _NAMED.get(name, QUIET)


def colors_of(fields: Sequence[Field]) -> list[str]:
    """A colour for each line: its own, or the palette's in order."""
    return [field.fixed_color or PALETTE[at % len(PALETTE)] for at, field in enumerate(fields)]


def _matches(matcher: Json, name: str) -> bool:
    if matcher["id"] == "byName":
        return bool(matcher.get("options") == name)
    if matcher["id"] == "byRegexp":
        pattern = str(matcher.get("options", "")).removeprefix("/").removesuffix("/")
        return re.search(pattern, name) is not None
    return False


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
