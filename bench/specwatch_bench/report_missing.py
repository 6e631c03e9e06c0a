"""Cells that a matrix asks for and the results do not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specwatch_bench.matrix_file import read_matrix
from specwatch_bench.report_target import Results


@dataclass(frozen=True, slots=True)
class Missing:
    """Cells of one engine that are not there.

    Attributes:
        target: the matrix's target, in words.
        engine: its name.
        cells: data set and load, as `chat 32`.
        whole: nothing of the engine ran.
    """

    target: str
    engine: str
    cells: tuple[str, ...]
    whole: bool


def missing_of(results: Results) -> Iterator[Missing]:
    """Compare what the manifests and the planned matrices ask for with the cells that are there.

    Raises:
        BenchError: a planned matrix cannot be read.
    """
    there = {(cell.head["matrix"], *_key(cell.head)) for target in results.targets for cell in target.cells}
    seen: set[str] = set()
    for target in results.targets:
        for name, matrix in target.manifest.get("matrices", {}).items():
            seen.add(name)
            yield from _missing(matrix, there)
    for path in results.settings.planned:
        matrix = _planned(path)
        if matrix["name"] not in seen:
            yield from _missing(matrix, there)


def _planned(path: Path) -> Mapping[str, Any]:
    return asdict(read_matrix(path, models=Path("models")))


def _missing(matrix: Mapping[str, Any], there: set[tuple[str, str, str, float, int]]) -> Iterator[Missing]:
    for engine in matrix["engines"]:
        asked = [
            (dataset["name"], level)
            for level in matrix["levels"]
            for dataset in matrix["datasets"].values()
            if _runs(engine["datasets"], dataset) and _runs(level["datasets"], dataset)
        ]
        gone = [
            (name, level)
            for name, level in asked
            if (matrix["name"], engine["name"], name, *_load(level)) not in there
        ]
        if gone:
            words = tuple(f"{name} {_words(level)}" for name, level in gone)
            yield Missing(matrix["target"], engine["name"], words, len(gone) == len(asked))


def _key(head: Mapping[str, Any]) -> tuple[str, str, float, int]:
    return (head["engine"]["name"], head["dataset"]["name"], *_load(head["level"]))


def _load(level: Mapping[str, Any]) -> tuple[float, int]:
    """Negative for a rate, so that 8 in flight and 8 a second are two loads."""
    load = float(level["concurrency"]) if level.get("concurrency") is not None else -float(level["rate"])
    return load, int(level.get("repeat", 1))


def _words(level: Mapping[str, Any]) -> str:
    words = str(level["concurrency"]) if level.get("concurrency") is not None else f"{level['rate']:g}/s"
    return words if level.get("repeat", 1) == 1 else f"{words} run {level['repeat']}"


def _runs(names: Any, dataset: Mapping[str, Any]) -> bool:
    return names is None or dataset["name"] in names
