"""Rotary position embedding of a configuration: base, scaling, and how many positions it is made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

DEFAULT_THETA: Final = 10000.0
"""Of transformers, where a configuration gives none."""

_EXTENDING: Final = frozenset({"linear", "dynamic", "yarn"})
"""Types whose factor multiplies the positions (vLLM 0.32, `_get_and_verify_max_len`); not llama3 and longrope."""


@dataclass(frozen=True, slots=True)
class Rope:
    """The embedding.

    Attributes:
        theta: base.
        scaling: type and numbers, sorted; empty for none.
    """

    theta: float
    scaling: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        rows = dict(self.scaling)
        said = [f"theta {self.theta:g}", rows.get("type", "no scaling")]
        said += [f"factor {rows['factor']}"] if "factor" in rows else []
        return ", ".join(said)

    def differences(self, other: Rope) -> str:
        """What is not alike, own value first."""
        mine = {"theta": f"{self.theta:g}", **dict(self.scaling)}
        its = {"theta": f"{other.theta:g}", **dict(other.scaling)}
        keys = [key for key in mine | its if mine.get(key) != its.get(key)]
        return ", ".join(f"{key} {mine.get(key, 'none')} against {its.get(key, 'none')}" for key in keys)


def read_rope(config: Mapping[str, Any]) -> Rope:
    """From `rope_parameters` of transformers 5, or from `rope_theta` and `rope_scaling` before."""
    rows = _rows(config)
    theta = rows.get("rope_theta", config.get("rope_theta"))
    kind = str(rows.get("rope_type", rows.get("type", "default")))
    numbers = {key: value for key, value in rows.items() if key not in {"rope_type", "type", "rope_theta"}}
    plain = {key: f"{value:g}" for key, value in numbers.items() if isinstance(value, int | float)}
    scaling = () if kind == "default" else (("type", kind), *sorted(plain.items()))
    return Rope(float(theta) if isinstance(theta, int | float) else DEFAULT_THETA, scaling)


def positions(config: Mapping[str, Any]) -> int | None:
    """Positions that the model is made for, a factor of its scaling applied; None if the file does not say."""
    most = next(
        (config[key] for key in ("max_position_embeddings", "max_seq_len") if isinstance(config.get(key), int)),
        None,
    )
    rows = _rows(config)
    factor, kind = rows.get("factor"), rows.get("rope_type", rows.get("type"))
    if most is None or kind not in _EXTENDING or not isinstance(factor, int | float):
        return most
    original = rows.get("original_max_position_embeddings")
    if kind == "yarn" and isinstance(original, int):
        return int(original * factor)
    return int(most * factor)


def _rows(config: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("rope_parameters", "rope_scaling"):
        found = config.get(key)
        if isinstance(found, Mapping):
            inner = found.get("full_attention")
            return inner if isinstance(inner, Mapping) else found
    return {}
