"""Why an engine does not have a series, and what it has instead."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final

from specwatch_deploy.doctor.engine import SPELLINGS, Engine
from specwatch_deploy.doctor.metric_name import CREATED, Owner, listed, spelled
from specwatch_exporters.engine_metrics.metric_table import EngineMetric
from specwatch_exporters.engine_metrics.version import Version
from specwatch_exporters.metric import Kind

_OF_VERSIONS: Final = frozenset({"metric-hidden", "metric-removed", "metric-renamed", "metric-replaced"})

# Series names; the smallest whole page that was captured has 67.
_LEAST_OF_ALL: Final = 60


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a series is not there.

    Attributes:
        code: finding code.
        message: in one sentence.
        evidence: how that is known.
        name: the series to read instead; empty if there is no such one.
        expression: what gives the value today, if no single series does; empty otherwise.
    """

    code: str
    message: str
    evidence: str = ""
    name: str = ""
    expression: str = ""


def absence(owner: Owner, written: str, engine: Engine) -> Absence | None:
    """Why an engine does not have a series, or None if it has it, may have it, or nobody can tell.

    Args:
        owner: whose series it is.
        written: the name in the query.
        engine: an engine of that kind.
    """
    table = engine.table
    if engine.page is not None and written in engine.page:
        return None
    own = spelled(table, owner.name)
    if not own and table.base(owner.name) == owner.name and owner.name in table.rows:
        row = engine.row(owner.name)
        if row is None or row.kind is not Kind.HISTOGRAM:
            return _listed_absence(owner.name, written, engine)
        return Absence(
            "histogram-whole", f"{written} is a histogram: its series are {written}_bucket, _sum and _count"
        )
    if not own and not listed(table, owner.name):
        return _unknown(owner, written, engine)
    series = own or owner.name
    right = _on_page(series, engine, written)
    found = _listed_absence(series, written, engine)
    if written == right or (found is not None and found.code in _OF_VERSIONS):
        return found
    message = f"{written} does not exist; {engine.title} spells it {right}"
    return Absence("metric-misspelt", message, name=right)


def _on_page(series: str, engine: Engine, written: str) -> str:
    """A listed series as the engine's page spells it; Ray's prefix is taken as right where there is no page."""
    prefix = engine.prefix or engine.table.prefix
    if engine.page is None:
        ray = (one for one in SPELLINGS[engine.name] if one.startswith("ray_") and written.startswith(one))
        prefix = next(ray, prefix)
    return f"{prefix}{series.removeprefix(engine.table.prefix)}"


def _unknown(owner: Owner, written: str, engine: Engine) -> Absence:
    table = engine.table
    near = difflib.get_close_matches(owner.name, [*table.rows], n=1, cutoff=0.8)
    hint = f"; the nearest name is {near[0]}" if near else ""
    span = f" from {table.first} to {table.newest}" if table.first != table.newest else ""
    seen = f"not on the page of {engine.source}" if engine.page is not None else ""
    return Absence("metric-unknown", f"no {engine.label}{span} exports {written}{hint}", seen)


def _listed_absence(series: str, written: str, engine: Engine) -> Absence | None:
    """Why a series that the table lists is not there."""
    table = engine.table
    if series.endswith(CREATED):
        return _created(written, engine)
    if series.startswith(table.open):
        return None
    rows = table.rows[table.base(series)]
    low, high = engine.bounds
    if low < table.first:
        return None
    here = [row for row in rows if row.at(low) or row.at(high)]
    if not here:
        return _other_version(series, written, rows, engine)
    return _conditions(series, written, here[-1], engine)


def _created(written: str, engine: Engine) -> Absence | None:
    """Whether a page has no starting times at all."""
    if engine.page is None or any(name.endswith(CREATED) for name in engine.page) or not _whole(engine):
        return None
    message = (
        f"{written} exists only where one Python process serves the page, and this page has no `_created` at all"
    )
    return Absence("metric-one-process", message, f"not on the page of {engine.source}")


def _other_version(series: str, written: str, rows: tuple[EngineMetric, ...], engine: Engine) -> Absence | None:
    low, high = engine.bounds
    past = [row for row in rows if row.until is not None and row.until < low]
    if past:
        return _gone(series, written, past[-1], engine)
    since = min((row.since for row in rows if row.since is not None), default=None)
    if since is None or since <= high:
        return None
    before = _former(series, engine, low, written)
    hint = f"; {before} is its name there" if before else ""
    message = f"{written} exists since {engine.label} {since}, and this is {_spell(engine)}{hint}"
    return Absence("metric-too-new", message, _proof(rows[0], engine), before)


def _gone(series: str, written: str, row: EngineMetric, engine: Engine) -> Absence:
    proof, part = _proof(row, engine), series.removeprefix(engine.table.base(series))
    last = f"{engine.label} {row.until} was the last with {written}"
    if row.renamed_to:
        now = _on_page(f"{row.renamed_to}{part}", engine, written)
        return Absence("metric-renamed", f"{last}; since {row.renamed_in} it is {now}", proof, now)
    if row.became:
        return Absence("metric-replaced", f"{last}; other series give its value", proof, "", row.became)
    return Absence("metric-removed", f"{last}, and nothing took its place", proof)


def _former(series: str, engine: Engine, version: Version, written: str) -> str:
    """The name that a metric had in an older version."""
    table = engine.table
    base = table.base(series)
    part = series.removeprefix(base)
    for name, rows in table.rows.items():
        if any(row.renamed_to == base and row.at(version) for row in rows):
            return _on_page(f"{name}{part}", engine, written)
    return ""


def _conditions(series: str, written: str, row: EngineMetric, engine: Engine) -> Absence | None:
    """What keeps a metric that this version has from being exported, as far as that can be told."""
    low, _ = engine.bounds
    now = _now(series, written, row, engine) if row.renamed_to else ""
    if now and engine.page is not None and now in engine.page:
        message = f"{written} is {now} since {engine.label} {row.renamed_in}"
        return Absence("metric-renamed", message, _proof(row, engine), now)
    if row.hidden_from is not None and row.hidden_from <= low:
        message = f"{engine.label} hides {written} since {row.hidden_from}; it is {now} since {row.renamed_in}"
        return Absence("metric-hidden", message, _proof(row, engine), now)
    return None if engine.page is None else _unmet(series, written, row, engine)


def _now(series: str, written: str, row: EngineMetric, engine: Engine) -> str:
    """The name that a renamed series has now, as the page spells it."""
    return _on_page(f"{row.renamed_to}{series.removeprefix(row.name)}", engine, written)


def _unmet(series: str, written: str, row: EngineMetric, engine: Engine) -> Absence | None:
    """The condition that a page shows to be unmet."""
    proof = _proof(row, engine)
    low, high = engine.bounds
    if row.flag:
        return Absence("metric-needs", f"{written} is exported only with {row.flag}", proof)
    if "speculation" in row.needs and engine.speculating is False:
        message = f"{written} exists only while speculation is configured, and it is not"
        return Absence("metric-needs-speculation", message, proof)
    if "python-frontend" in row.needs and engine.rust:
        return Absence(
            "metric-other-frontend", f"vLLM's Python frontend has {written}, its Rust one has not", proof
        )
    told = row.needs or row.since is None or row.since <= low or low == high
    if told or not _whole(engine):
        return None
    message = f"{written} exists since {engine.label} {row.since}, and the page has it not"
    return Absence("metric-too-new", message, proof, _former(series, engine, low, written))


def _whole(engine: Engine) -> bool:
    """Whether a page looks like all that an engine exports, and not like an excerpt."""
    return sum(1 for name in engine.page or {} if name.startswith(engine.prefix)) > _LEAST_OF_ALL


def _spell(engine: Engine) -> str:
    low, high = engine.bounds
    return str(engine.version) if engine.version else (f"{low}" if low == high else f"{low} to {high}")


def _proof(row: EngineMetric, engine: Engine) -> str:
    seen = f"not on the page of {engine.source}; " if engine.page is not None else ""
    return f"{seen}source: {row.source}"
