"""A dashboard as the preview reads it: nothing is null, and every panel has a kind and a place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

# Where Grafana puts a panel that does not say.
_PLACE: Final = {"x": 0, "y": 0, "w": 6, "h": 3}


def drawable(dashboard: Mapping[str, Any]) -> dict[str, Any]:
    """The same; what is null is absent, as Grafana takes it, and what is no panel is left out."""
    whole: dict[str, Any] = _without_nulls(dashboard)
    return {**whole, "panels": _panels(whole.get("panels"))}


def with_titles(panels: Sequence[Mapping[str, Any]], words: Callable[[str], str]) -> list[dict[str, Any]]:
    """Panels whose titles have variables filled in, those below closed rows too."""
    return [
        {**one, "title": words(str(one.get("title", ""))), "panels": with_titles(one.get("panels", ()), words)}
        for one in panels
    ]


def _panels(found: Any) -> list[dict[str, Any]]:
    return [_panel(one) for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _panel(found: dict[str, Any]) -> dict[str, Any]:
    # A panel of a library has its kind in Grafana's database.
    kind = found.get("type") or ("library panel" if "libraryPanel" in found else "unknown")
    place = {name: _whole(found.get("gridPos", {}).get(name), default) for name, default in _PLACE.items()}
    below = {"panels": _panels(found.get("panels"))} if kind == "row" else {}
    return {**found, "type": kind, "gridPos": place, **below}


def _whole(value: Any, default: int) -> int:
    return int(value) if isinstance(value, int | float) else default


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_nulls(one) for one in value if one is not None]
    return value
