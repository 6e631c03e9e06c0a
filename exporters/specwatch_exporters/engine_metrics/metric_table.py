"""The engines' metric tables, read from the TOML files beside this one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from specwatch_exporters.engine_metrics.version import Version
from specwatch_exporters.metric import Kind

PARTS: Final = ("_bucket", "_sum", "_count")
NEEDS: Final = frozenset({"event", "model", "python-frontend", "speculation", "v0"})
"""Conditions: first event of its kind, a kind of model, the Python frontend, speculation on, the V0 engine."""


@dataclass(frozen=True, slots=True)
class EngineMetric:
    """One metric over a range of versions.

    Attributes:
        name: as exposed; a histogram's base name.
        kind: Prometheus type.
        labels: labels that the engine writes; None where they change from release to release.
        source: the engine's file, and the versions in which it was read.
        since: first version that has it, of those that were read; None if nobody looked.
        until: last version that has it; None if the newest one does.
        needs: what must be so, of `NEEDS`.
        flag: argument or variable without which it is not exported; empty if none.
        values: closed sets of label values.
        edges: finite bucket edges; empty if not known.
        range: smallest and largest value, None where there is no limit.
        each: what one observation of a histogram is; empty if not told.
        hidden_from: first version in which a flag must restore it.
        renamed_to: its name today.
        renamed_in: first version with that name.
        became: what gives its value today, if no single metric does.
    """

    name: str
    kind: Kind
    labels: frozenset[str] | None
    source: str
    since: Version | None = None
    until: Version | None = None
    needs: frozenset[str] = frozenset()
    flag: str = ""
    values: Mapping[str, frozenset[str]] | None = None
    edges: tuple[float, ...] = ()
    range: tuple[float | None, float | None] = (None, None)
    each: str = ""
    hidden_from: Version | None = None
    renamed_to: str = ""
    renamed_in: Version | None = None
    became: str = ""

    def at(self, version: Version) -> bool:
        """Whether a version has it."""
        return (self.since is None or self.since <= version) and (self.until is None or version <= self.until)


@dataclass(frozen=True, slots=True)
class EngineTable:
    """Everything that is known of one engine's metrics.

    Attributes:
        engine: name of the engine.
        prefix: of its metrics' names.
        first: nothing is said of versions before it.
        newest: newest version that was read.
        open: prefixes of families of which not all metrics are listed.
        rows: by name, the oldest first.
    """

    engine: str
    prefix: str
    first: Version
    newest: Version
    open: tuple[str, ...]
    rows: Mapping[str, tuple[EngineMetric, ...]]

    def at(self, name: str, version: Version | None = None) -> EngineMetric | None:
        """The row of a metric in a version, the newest known one unless given; None if it is not in it."""
        return next((row for row in self.rows.get(name, ()) if row.at(version or self.newest)), None)

    def base(self, series: str) -> str:
        """The name under which a series' metric is listed: that of the histogram for its parts."""
        for part in PARTS:
            name = series.removesuffix(part)
            if series not in self.rows and name != series and name in self.rows:
                return name
        return series


@cache
def load_tables() -> Mapping[str, EngineTable]:
    """All tables, by engine.

    Raises:
        ValueError: a row is not as it must be.
    """
    folder = files("specwatch_exporters.engine_metrics")
    found = [
        _table(tomllib.loads(path.read_text(encoding="utf-8")))
        for path in sorted(folder.iterdir(), key=lambda one: one.name)
        if path.name.endswith(".toml")
    ]
    return {table.engine: table for table in found}


def _table(body: dict[str, Any]) -> EngineTable:
    rows: dict[str, list[EngineMetric]] = {}
    for row in body["metrics"]:
        for name in row["names"]:
            rows.setdefault(name, []).append(_metric(name, row, body))
    return EngineTable(
        body["engine"],
        body["prefix"],
        Version.parse(body["first"]),
        Version.parse(body["newest"]),
        tuple(body["open"]),
        {name: tuple(own) for name, own in rows.items()},
    )


def _metric(name: str, row: Mapping[str, Any], body: Mapping[str, Any]) -> EngineMetric:
    needs = frozenset(row.get("needs", ()))
    if needs - NEEDS or not {"since", "seen"} & set(row):
        raise ValueError(f"{name}: unknown condition, or neither `since` nor `seen`")
    low, high = (*row.get("range", ()), None, None)[:2]
    return EngineMetric(
        name,
        Kind(row["kind"]),
        _labels(row["labels"], body.get("label_sets", {})),
        body["sources"][row["source"]],
        _version(row, "since"),
        _version(row, "until"),
        needs,
        row.get("flag", ""),
        {label: frozenset(values) for label, values in row.get("values", {}).items()},
        tuple(float(edge) for edge in row.get("edges", ())),
        (low, high),
        row.get("each", ""),
        _version(row, "hidden_from"),
        row.get("renamed_to", ""),
        _version(row, "renamed_in"),
        row.get("became", ""),
    )


def _labels(written: list[str], sets: Mapping[str, list[str]]) -> frozenset[str] | None:
    """Labels with `@set` replaced by the set's; None if `*` says that there are others."""
    if "*" in written:
        return None
    own = {label for label in written if not label.startswith("@")}
    return frozenset(own.union(*(sets[label[1:]] for label in written if label.startswith("@"))))


def _version(row: Mapping[str, Any], key: str) -> Version | None:
    return Version.parse(row[key]) if key in row else None
