"""Reads the table of causes (`signatures.toml`) and checks it against the facts there are."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from specwatch_detectors.explain.fact_table import FACTS


class SignatureError(ValueError):
    """The table of causes is wrong; the message says which cause and what."""


@dataclass(frozen=True, slots=True)
class Weight:
    """Nats that one fact adds to a cause.

    Attributes:
        holds: if the fact holds.
        fails: if it does not.
    """

    holds: float
    fails: float


@dataclass(frozen=True, slots=True)
class Signature:
    """One cause.

    Attributes:
        id: stable name.
        name: the cause in a few words.
        says: what happens, for a person.
        checks: what to do next, in order.
        sources: where the cause was seen.
        prior: nats before any fact, "something else" being 0.
        facts: weight by fact, the defaults included.
        scored: False for causes that are decided before any scoring.
    """

    id: str
    name: str
    says: str
    checks: tuple[str, ...]
    sources: tuple[str, ...]
    prior: float = 0.0
    facts: Mapping[str, Weight] = field(default_factory=dict)
    scored: bool = True


@cache
def shipped() -> tuple[Signature, ...]:
    """The table that comes with specwatch, read once."""
    return parse((files("specwatch_detectors.explain") / "signatures.toml").read_text(encoding="utf-8"))


def parse(text: str) -> tuple[Signature, ...]:
    """Read a table of causes.

    Raises:
        SignatureError: no TOML, a key is missing, a fact is unknown, a weight is no pair, or an id comes twice.
    """
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SignatureError(f"the table of causes is not TOML: {error}") from error
    default = _weights("default", body.get("default", {}))
    found = tuple(_signature(row, default) for row in body.get("cause", []))
    ids = [cause.id for cause in found]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice or not found:
        raise SignatureError(f"causes given twice: {', '.join(twice)}" if twice else "the table has no cause")
    return found


def _signature(row: Mapping[str, Any], default: Mapping[str, Weight]) -> Signature:
    name = str(row.get("id", "without id"))
    missing = [key for key in ("id", "name", "says", "checks", "sources") if not row.get(key)]
    if missing:
        raise SignatureError(f"cause {name}: {', '.join(missing)} missing")
    return Signature(
        name,
        str(row["name"]),
        str(row["says"]),
        tuple(str(line) for line in row["checks"]),
        tuple(str(line) for line in row["sources"]),
        _number(name, "prior", row.get("prior", 0.0)),
        {**default, **_weights(name, row.get("facts", {}))},
        bool(row.get("scored", True)),
    )


def _weights(cause: str, rows: Mapping[str, Any]) -> dict[str, Weight]:
    unknown = sorted(set(rows) - set(FACTS))
    if unknown:
        raise SignatureError(f"cause {cause}: unknown facts: {', '.join(unknown)}")
    found = {}
    for name, pair in rows.items():
        if not isinstance(pair, list) or len(pair) != 2:
            raise SignatureError(f"cause {cause}: {name} needs two numbers: [if it holds, if it does not]")
        found[name] = Weight(_number(cause, name, pair[0]), _number(cause, name, pair[1]))
    return found


def _number(cause: str, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SignatureError(f"cause {cause}: {name} is no number")
    return float(value)
