"""Engines that requests go to: one, or several pools with a name, a method of speculation and a weight each.

A file of pools is TOML with one table per pool: `[pool.draft]` with `url = "http://127.0.0.1:8000"`, and if wanted
`method = "eagle3"` (the name, if it is not given) and `weight = 1`.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specwatch_exporters.sidecar import setting_values
from specwatch_exporters.sidecar.endpoint import Endpoint, redact
from specwatch_exporters.sidecar.engine_address import EngineAddress

MAX_POOLS: Final = 16
MAX_WEIGHT: Final = 1_000_000.0
_EXAMPLE: Final = "ngram=http://127.0.0.1:8001"
_MAX_FILE: Final = 64 * 1024
_KEYS: Final = frozenset({"url", "method", "weight"})
_CREDENTIALS: Final = "credentials belong into the clients' own requests, which carry them through"


class UpstreamError(ValueError):
    """An upstream, or a file of pools, is wrong; one clause says what."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """One engine, or several behind one address.

    Attributes:
        name: of the pool; empty for an only upstream without one.
        endpoint: where it is; its path is put before every request's.
        method: of speculation, for the label of its requests; None for an only upstream.
        weight: beside the other pools' ones, 0 for none.
    """

    name: str
    endpoint: Endpoint
    method: str | None
    weight: float


def endpoint_of(text: str) -> Endpoint:
    """An engine's address.

    Raises:
        UpstreamError: it is none, or carries credentials.
    """
    try:
        endpoint = Endpoint.parse(EngineAddress.parse(text).base_url)
    except ValueError as error:
        raise UpstreamError(str(error)) from None
    if endpoint.userinfo is not None:
        raise UpstreamError(_CREDENTIALS)
    return endpoint


def named(texts: Sequence[str]) -> tuple[Upstream, ...]:
    """Pools from `draft=http://a`, `ngram=http://b`: the name is the method, and the first gets everything.

    Raises:
        UpstreamError: one has no name, or two have the same.
    """
    pools = tuple(_named(text, weight=0.0 if number else 1.0) for number, text in enumerate(texts))
    return _checked(pools)


def has_name(text: str) -> bool:
    """Whether an upstream is written with a name."""
    name, equals, _ = text.partition("=")
    return bool(equals) and "/" not in name and ":" not in name


def _named(text: str, weight: float) -> Upstream:
    name, _, url = text.partition("=")
    if not has_name(text):
        raise UpstreamError(f"{redact(text)!r} has no name; several upstreams need one each, as in {_EXAMPLE}")
    return _upstream(name, {"url": url, "weight": weight})


def load_pools(path: Path) -> tuple[Upstream, ...]:
    """Pools from a TOML file; without any weight the first gets everything.

    Raises:
        UpstreamError: it cannot be read, or says something else than pools.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_FILE + 1)
        document = tomllib.loads(text.decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UpstreamError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    tables = document.get("pool")
    if len(text) > _MAX_FILE or set(document) != {"pool"} or not isinstance(tables, dict) or not tables:
        raise UpstreamError(f"{path}: accepted: one or more [pool.NAME] tables and nothing else, up to 64 KiB")
    weighted = any(isinstance(table, dict) and "weight" in table for table in tables.values())
    pools = []
    for number, (name, table) in enumerate(tables.items()):
        unsaid = 0.0 if weighted or number else 1.0
        try:
            pools.append(_upstream(name, {"weight": unsaid, **_table(table)}))
        except UpstreamError as error:
            raise UpstreamError(f"{path}: [pool.{name}]: {error}") from None
    try:
        return _checked(tuple(pools))
    except UpstreamError as error:
        raise UpstreamError(f"{path}: {error}") from None


def _table(table: Any) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise UpstreamError("it is no table")
    strange = sorted(set(table) - _KEYS)
    if strange:
        raise UpstreamError(f"there is no setting {strange[0]}; there are: {', '.join(sorted(_KEYS))}")
    return table


def _upstream(name: str, table: Mapping[str, Any]) -> Upstream:
    url, method = table.get("url"), table.get("method", name)
    if not isinstance(url, str) or not isinstance(method, str):
        raise UpstreamError("url and method must be strings, and url must be given")
    try:
        word, label = setting_values.word(name), setting_values.word(method)
    except ValueError:
        raise UpstreamError("name and method must be one word each") from None
    return Upstream(word, endpoint_of(url), label, checked_weight(table["weight"]))


def checked_weight(value: Any) -> float:
    """A weight.

    Raises:
        UpstreamError: it is none.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not 0.0 <= value <= MAX_WEIGHT:
        raise UpstreamError(f"a weight must be a number from 0 to {MAX_WEIGHT:.0f}")
    return float(value)


def _checked(pools: tuple[Upstream, ...]) -> tuple[Upstream, ...]:
    names = [pool.name for pool in pools]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise UpstreamError(f"two pools are called {doubled}")
    if len(pools) > MAX_POOLS:
        raise UpstreamError(f"{len(pools)} pools; there is room for {MAX_POOLS}")
    if not sum(pool.weight for pool in pools):
        raise UpstreamError("no pool has a weight, so no request could go anywhere")
    return pools
