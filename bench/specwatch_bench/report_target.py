"""A folder of results: one target, its cells, what each pair of them says, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.profile_cell import OFF, method_of
from specwatch_bench.profile_table import UNKNOWN, StepTable, engine_of, one_target, table_of
from specwatch_bench.report_cell import CellReport, GpuUse, read_report_cell
from specwatch_bench.report_draws import Floats
from specwatch_bench.report_settings import ReportSettings, TargetSettings, read_report_settings
from specwatch_bench.report_setup import setups_of

_METHODS: Final = {"eagle": "EAGLE", "eagle3": "EAGLE-3", "peagle": "P-EAGLE", "ngram": "n-gram", "mtp": "MTP"}


@dataclass(frozen=True, slots=True)
class Pair:
    """A cell with speculation beside the one without at the same load and data set.

    Attributes:
        speedup: quotient of output tokens per second.
        own: with speculation.
        plain: without.
    """

    speedup: Floats
    own: CellReport
    plain: CellReport


@dataclass(frozen=True, slots=True)
class Target:
    """All of one folder.

    Attributes:
        name: of the folder.
        title: the target in words.
        cells: in order of engines and load.
        table: step times of the cells that can be believed.
        manifest: `manifest.json`, empty where there is none.
        settings: see `TargetSettings`.
        torn: why files of it are no whole cells, a line each.
    """

    name: str
    title: str
    cells: tuple[CellReport, ...]
    table: StepTable
    manifest: Mapping[str, Any]
    settings: TargetSettings
    torn: tuple[str, ...] = ()

    @property
    def published(self) -> tuple[CellReport, ...]:
        """Cells whose figures are shown."""
        return tuple(cell for cell in self.cells if not cell.refused)

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of the engines, the one without speculation first."""
        return tuple(dict.fromkeys(cell.engine for cell in self.cells))

    @property
    def drafters(self) -> tuple[str, ...]:
        """Names of the engines that speculate."""
        return tuple(dict.fromkeys(cell.engine for cell in self.cells if _method(cell) != OFF))

    @property
    def batches(self) -> tuple[int, ...]:
        """Requests in flight that were measured, ascending."""
        return tuple(sorted({cell.batch for cell in self.cells if cell.batch is not None}))

    @property
    def shared(self) -> str:
        """The data set that ran without speculation, so that pairs can be made of it."""
        plain = [cell.dataset for cell in self.cells if _method(cell) == OFF]
        return plain[0] if plain else self.cells[0].dataset

    def cell(self, engine: str, batch: int, dataset: str | None = None) -> CellReport | None:
        """A published cell of a closed loop: its first run."""
        wanted = (engine, batch, dataset or self.shared)
        return next((one for one in self.published if (one.engine, one.batch, one.dataset) == wanted), None)

    def label(self, engine: str) -> str:
        """An engine in words: its drafter and K, with its name where another has the same."""
        words = {name: self._words(name) for name in self.engines}
        own = words[engine]
        return own if list(words.values()).count(own) == 1 else f"{own}, {engine}"

    def _words(self, engine: str) -> str:
        cells = [cell for cell in self.cells if cell.engine == engine]
        return label_of(next((cell for cell in cells if _method(cell) != OFF), cells[0]))

    def pairs(self) -> Iterator[Pair]:
        """Cells that have their counterpart without speculation."""
        plain = {(cell.load, cell.dataset): cell for cell in reversed(self.published) if _method(cell) == OFF}
        for cell in self.published:
            other = plain.get((cell.load, cell.dataset))
            if _method(cell) != OFF and other is not None:
                yield Pair(cell.tok_s / other.tok_s, cell, other)

    def gpu_of(self, cell: CellReport) -> GpuUse | None:
        """The GPU that a cell's engine ran on; None where neither the record nor a setting says which it was."""
        if len(cell.gpus) == 1:
            return next(iter(cell.gpus.values()))
        told = str(cell.head.get("visible_gpus") or "")
        at = int(told) if told.isdecimal() else self.settings.gpus.get(cell.name, self.settings.gpu)
        return None if at is None else cell.gpus.get(at)

    @property
    def engine_words(self) -> str:
        """The engine with its version; one that the records do not tell is the settings', and marked."""
        head = self.table.head
        if head.get("version") is None and self.settings.version:
            head = {**head, "version": f"{self.settings.version} (as installed)"}
        return engine_of(head)


@dataclass(frozen=True, slots=True)
class Results:
    """Folders of results with what is known about them."""

    folder: Path
    settings: ReportSettings
    targets: tuple[Target, ...]

    @property
    def torn(self) -> tuple[str, ...]:
        """Files that are no whole cells, each with its folder and why."""
        return tuple(f"{target.name}: {line}" for target in self.targets for line in target.torn)


def read_results(folder: Path) -> Results:
    """Read a folder that `specwatch bench run` wrote, or a folder of such folders.

    A folder whose cells come from several engines, versions, tools or cards is a target for each of these, so that
    nothing is set beside what ran under other conditions.

    Raises:
        BenchError: no cells, or none that is whole.
    """
    settings = read_report_settings(folder)
    folders = [folder] if (folder / "cells").is_dir() else [one.parent for one in folder.glob("*/cells")]
    if not folders:
        raise BenchError(f"{folder}: no results; give a folder that `specwatch bench run` wrote, or one of such")
    known = list(settings.targets)
    folders.sort(key=lambda one: (known.index(one.name) if one.name in known else len(known), one.name))
    return Results(folder, settings, tuple(target for one in folders for target in _targets(one, settings)))


def _targets(folder: Path, settings: ReportSettings) -> Iterator[Target]:
    cells, torn = [], []
    for path in sorted((folder / "cells").glob("*.jsonl.gz")):
        try:
            cells.append(read_report_cell(path))
        except BenchError as error:
            torn.append(str(error))
    if not cells:
        raise BenchError(torn[0] if torn else f"{folder}: no cells in it")
    one_target([str(cell.head["target"]) for cell in cells], folder)
    manifest, name = _manifest(folder / "manifest.json"), folder.resolve().name
    setups = setups_of(cells)
    for at, (setup, own) in enumerate(setups.items()):
        words = setup.words if len(setups) > 1 else ""
        target = _target(folder, own, manifest, settings.targets.get(name, TargetSettings()))
        title = f"{target.title}, {words}" if words else target.title
        yield replace(target, name=f"{name}-{at + 1}" if at else name, title=title, torn=() if at else tuple(torn))


def _target(folder: Path, cells: list[CellReport], manifest: Mapping[str, Any], settings: TargetSettings) -> Target:
    order = _order(manifest, cells)
    methods = list(
        dict.fromkeys(_method(cell) for cell in sorted(cells, key=lambda cell: order.index(cell.engine)))
    )
    cells.sort(key=lambda cell: (*_rank(cell, methods), order.index(cell.engine), _load(cell), cell.name))
    steps = [cell.steps for cell in cells if cell.steps is not None]
    title = str(cells[0].head["target"])
    table = table_of(steps, folder) if steps else _no_steps(cells)
    return Target(folder.resolve().name, title, tuple(cells), table, manifest, settings)


def _no_steps(cells: Sequence[CellReport]) -> StepTable:
    """The table of cells under an open loop, whose batch wanders: it has no step times."""
    seconds = [float(cell.end.get("seconds") or 0.0) for cell in cells]
    card = next((cell.card for cell in cells if cell.card), UNKNOWN)
    return StepTable(cells[0].head, card, {}, (), (), (min(seconds), max(seconds)))


def _manifest(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"{path}: cannot be read as JSON: {error}") from error
    return body if isinstance(body, dict) else {}


def _order(manifest: Mapping[str, Any], cells: Sequence[CellReport]) -> list[str]:
    """Engines in the order of their matrix."""
    asked = [one["name"] for matrix in manifest.get("matrices", {}).values() for one in matrix["engines"]]
    return [*asked, *sorted({cell.engine for cell in cells} - set(asked))]


def _rank(cell: CellReport, methods: Sequence[str]) -> tuple[int, int, int]:
    """No speculation first, lookup without a draft last, K ascending within a method."""
    method = _method(cell)
    place = 0 if method == OFF else 2 if method.startswith("ngram") else 1
    return place, methods.index(method), method_of(cell.head, cell.end)[1]


def _load(cell: CellReport) -> tuple[bool, float]:
    return cell.batch is None, float(cell.batch or cell.head["level"].get("rate") or 0.0)


def _method(cell: CellReport) -> str:
    return method_of(cell.head, cell.end)[0]


def label_of(cell: CellReport) -> str:
    """A cell's engine in words, such as `P-EAGLE K=5`; its name in the matrix without speculation."""
    method, depth = method_of(cell.head, cell.end)
    return cell.engine if method == OFF else f"{_METHODS.get(method, method)} K={depth}"
