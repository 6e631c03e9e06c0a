"""Cells: one engine, one data set, one level; each with a key that says whether it has been measured already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.matrix import DatasetSpec, EngineSpec, Level, Matrix
from specwatch_bench.placeless import placeless

# What a measurement does not depend on: where things lie, how long we wait, which cells there are beside it.
_PLACES: Final = ("datasets", "expected_start", "labels", "live_acceptance", "start_seconds", "url")


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement.

    Attributes:
        key: 12 hexadecimal digits over all that the result depends on, places left out.
        seed: of what is drawn.
        rates: synthetic acceptance that holds during the cell, or None.
    """

    key: str
    engine: EngineSpec
    dataset: DatasetSpec
    level: Level
    seed: int
    rates: tuple[float, ...] | None

    @property
    def name(self) -> str:
        """For people and file names."""
        return f"{self.engine.name}--{self.dataset.name}--{self.level.name}"

    @property
    def file_name(self) -> str:
        """Of its records."""
        return f"{self.name}--{self.key}.jsonl.gz"

    def to_json(self) -> dict[str, Any]:
        """The JSON form, everything that was asked for."""
        return {
            "key": self.key,
            "engine": asdict(self.engine),
            "dataset": asdict(self.dataset),
            "level": asdict(self.level),
            "seed": self.seed,
            "synthetic_acceptance": None if self.rates is None else list(self.rates),
        }


@dataclass(frozen=True, slots=True)
class Start:
    """One start of an engine and the cells that it serves, in order."""

    engine: EngineSpec
    rates: tuple[float, ...] | None
    cells: tuple[Cell, ...]


def starts_of(matrix: Matrix, places: Mapping[str, str] | None = None) -> Iterator[Start]:
    """The starts that a matrix needs.

    An engine whose acceptance cannot be changed while it runs is started once per class.

    Args:
        matrix: what to measure.
        places: folder to name; these folders do not count in a cell's key.

    Raises:
        BenchError: a class without synthetic acceptance.
    """
    for engine in matrix.engines:
        cells = tuple(_cells(matrix, engine, places or {}))
        if engine.acceptance is None or engine.live_acceptance:
            if cells:
                yield Start(engine, cells[0].rates, cells)
            continue
        for rates in dict.fromkeys(cell.rates for cell in cells):
            yield Start(engine, rates, tuple(cell for cell in cells if cell.rates == rates))


def _cells(matrix: Matrix, engine: EngineSpec, places: Mapping[str, str]) -> Iterator[Cell]:
    for level in matrix.levels:
        for dataset in matrix.datasets.values():
            if _runs(engine.datasets, dataset) and _runs(level.datasets, dataset):
                yield _cell(matrix, engine, dataset, level, places)


def _runs(names: tuple[str, ...] | None, dataset: DatasetSpec) -> bool:
    return names is None or dataset.name in names


def _cell(
    matrix: Matrix, engine: EngineSpec, dataset: DatasetSpec, level: Level, places: Mapping[str, str]
) -> Cell:
    rates = None
    if engine.acceptance is not None:
        rates = engine.acceptance.rates.get(dataset.traffic_class)
        if rates is None:
            raise BenchError(f"engine {engine.name}: no acceptance for the class {dataset.traffic_class!r}")
    seed = _number(f"{matrix.seed} {dataset.name} {level.name}")
    cell = Cell("", engine, dataset, level, seed, rates)
    return replace(cell, key=_key(matrix, cell, places))


def _key(matrix: Matrix, cell: Cell, places: Mapping[str, str]) -> str:
    body = cell.to_json()
    for name in _PLACES:
        body["engine"].pop(name)
    body["engine"].pop("acceptance")
    body["level"].pop("datasets")
    body["matrix"] = [matrix.name, matrix.target]
    text = json.dumps(placeless(body, places), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _number(text: str) -> int:
    """A seed that depends on data set and level only, so that every engine gets the same load."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
