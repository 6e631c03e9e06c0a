"""Numbers with Grafana's units, in three significant digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

_THOUSANDS: Final = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))
_LONG: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))
_SHORT: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BINARY: Final = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))
_PER_SECOND: Final = {"reqps": " req/s", "cps": " c/s", "ops": " ops/s", "rps": " r/s"}
_WHOLE_TO: Final = 10_000.0
_MOST_BEHIND: Final = 8
_LONGEST: Final = 1e9


def shown(value: float, unit: str, decimals: int | None = None) -> str:
    """The number as people read it.

    Args:
        value: any number.
        unit: Grafana's name, such as `s` or `percentunit`; an unknown one is written behind the number.
        decimals: digits behind the point; None for three significant digits.
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Inf" if value > 0 else "-Inf"
    written = _UNITS.get(unit)
    if written is not None:
        return written(value, decimals)
    return f"{_scaled(value, _THOUSANDS, decimals, '')}{_behind(unit)}"


def digits(value: float, decimals: int | None = None) -> str:
    """A bare number; three significant digits unless told how many behind the point, whole ones as they are."""
    if abs(value) >= _LONGEST:
        return f"{value:.3g}"
    if decimals is not None:
        return f"{value:.{decimals}f}"
    if value == round(value) and abs(value) < _WHOLE_TO:
        return f"{value:.0f}"
    behind = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    if behind > _MOST_BEHIND:
        return f"{value:.2g}"
    text = f"{value:.{behind}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def all_shown(values: Sequence[float], unit: str, decimals: int | None = None) -> list[str]:
    """Marks of an axis, all in one unit where that is seconds: the largest in which none has a long fraction."""
    if unit != "s" or not values:
        return [shown(value, unit, decimals) for value in values]
    largest = max(abs(value) for value in values)
    fitting = (
        pair
        for pair in (*_LONG, *_SHORT)
        if largest >= pair[0] and all(_short(value / pair[0]) for value in values)
    )
    each, name = next(fitting, _SHORT[-1])
    return [f"{digits(round(value / each, 6), decimals)} {name}" if value else "0" for value in values]


def _short(value: float) -> bool:
    """Whether two digits behind the point are enough."""
    return abs(value - round(value, 2)) < 1e-6


def _seconds(value: float, decimals: int | None) -> str:
    size = abs(value)
    for each, name in _LONG:
        if size >= each:
            return f"{digits(value / each, decimals)} {name}"
    for each, name in _SHORT:
        if size >= each:
            return f"{digits(value / each, decimals)} {name}"
    return f"{digits(value / 1e-6, decimals)} µs" if value else "0 s"


def _bytes(value: float, decimals: int | None) -> str:
    return _scaled(value, _BINARY, decimals, " ") if abs(value) >= 1024 else f"{digits(value, decimals)} B"


def _dollars(value: float, decimals: int | None) -> str:
    return f"{'-' if value < 0 else ''}${_scaled(abs(value), _THOUSANDS, decimals, '')}"


def _watts(value: float, decimals: int | None) -> str:
    return f"{digits(value / 1e3, decimals)} kW" if abs(value) >= 1e3 else f"{digits(value, decimals)} W"


def _scaled(value: float, sizes: Sequence[tuple[float, str]], decimals: int | None, gap: str) -> str:
    for size, letter in sizes:
        if abs(value) >= size:
            return f"{digits(value / size, decimals)}{gap}{letter}"
    return digits(value, decimals)


def _behind(unit: str) -> str:
    if unit.startswith("suffix:"):
        return unit.removeprefix("suffix:")
    return _PER_SECOND.get(unit, "" if unit in {"", "short"} else f" {unit}")


_UNITS: Final[Mapping[str, Callable[[float, int | None], str]]] = {
    "none": digits,
    "percent": lambda value, decimals: f"{digits(value, decimals)}%",
    "percentunit": lambda value, decimals: f"{digits(value * 100.0, decimals)}%",
    "s": _seconds,
    "bytes": _bytes,
    "decbytes": _bytes,
    "currencyUSD": _dollars,
    "watt": _watts,
}
