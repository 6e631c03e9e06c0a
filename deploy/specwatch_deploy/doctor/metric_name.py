"""Whose metric a name is, and how the engine itself spells it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from specwatch_deploy.doctor.engine import SPELLINGS
from specwatch_exporters.engine_metrics.metric_table import PARTS, EngineTable, load_tables
from specwatch_exporters.metric import Kind

CREATED: Final = "_created"


class Owner(NamedTuple):
    """Whose metric a name is.

    Attributes:
        engine: key of `SPELLINGS`.
        prefix: the prefix that the name has.
        name: the name with the engine's own prefix.
    """

    engine: str
    prefix: str
    name: str


@cache
def owner_of(name: str) -> Owner | None:
    """The engine of a metric's name; None if it is of no engine, or a recorded series.

    With a prefix that is not the engine's own, only names that the engine has count: `vllm_` may be anything's.
    """
    for engine, prefixes in SPELLINGS.items():
        for prefix in prefixes:
            if not name.startswith(prefix) or ":" in name.removeprefix(prefix):
                continue
            table = load_tables()[engine]
            own = f"{table.prefix}{name.removeprefix(prefix)}"
            if prefix == table.prefix or spelled(table, own):
                return Owner(engine, prefix, own)
    return None


def series_named(name: str, *, exact: bool) -> str:
    """The series of an engine that a scaler names; empty if it is no engine's.

    Args:
        name: as it is written: `vllm:num_requests_waiting`, `num_requests_waiting`.
        exact: whether the prefix must be there.
    """
    if owner_of(name) is not None or exact:
        return name if owner_of(name) is not None else ""
    found = (f"{load_tables()[engine].prefix}{name}" for engine in SPELLINGS)
    return next((one for one in found if (owner := owner_of(one)) and _is_listed(owner)), "")


def _is_listed(owner: Owner) -> bool:
    table = load_tables()[owner.engine]
    return table.base(owner.name) in table.rows


def listed(table: EngineTable, series: str) -> bool:
    """Whether a series is of a metric that the table has in any version, or of an open family."""
    return table.base(series) in table.rows or series.startswith(table.open) or _is_created(table, series)


def _is_created(table: EngineTable, series: str) -> bool:
    """Whether it is the time at which prometheus_client made a counter or a histogram."""
    base = series.removesuffix(CREATED)
    return base != series and (base in table.rows or f"{base}_total" in table.rows)


def spelled(table: EngineTable, series: str) -> str:
    """The listed series that a name is a misspelling of, or the name itself if it is listed; empty if none.

    `_total` may be missing, doubled or too much; a histogram may be read without one of its parts.
    """
    return next((one for one in _candidates(series) if listed_exactly(table, one)), "")


def listed_exactly(table: EngineTable, series: str) -> bool:
    """Whether a page can have a series of this very name: a histogram has only its parts."""
    row = (table.rows.get(series) or (None,))[-1]
    if row is None:
        return table.base(series) != series or _is_created(table, series)
    return row.kind is not Kind.HISTOGRAM


def _candidates(series: str) -> Iterator[str]:
    yield series
    bare = series
    while bare.endswith("_total"):
        bare = bare.removesuffix("_total")
    yield from (f"{bare}_total", bare)
    for part in PARTS:
        if series.endswith(f"{part}_total"):
            yield series.removesuffix("_total")
