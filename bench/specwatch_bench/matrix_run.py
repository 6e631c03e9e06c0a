"""Runs a matrix: engine by engine, cell by cell, each cell on disk before the next begins."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.budget import STOP_EXPECTED, Budget, level_seconds
from specwatch_bench.cell import Cell, Start, starts_of
from specwatch_bench.cell_file import outcome_of, write_cell
from specwatch_bench.cell_run import (
    ENGINE_DIED,
    ENGINE_FAILED,
    NO_ANSWERS,
    OK,
    CellRunner,
    cell_lines,
    failed_lines,
)
from specwatch_bench.count_words import counted
from specwatch_bench.dataset_file import open_dataset
from specwatch_bench.engine_process import EngineProcess, EngineStartError, is_healthy
from specwatch_bench.engine_version import version_of
from specwatch_bench.gpu_watch import gpu_reader
from specwatch_bench.live_acceptance import LiveAcceptance
from specwatch_bench.manifest import Manifest, machine
from specwatch_bench.matrix import EngineSpec, Matrix
from specwatch_bench.model_shape import write_shapes
from specwatch_bench.placeless import placeless
from specwatch_bench.prompt import Dataset
from specwatch_bench.run_settings import RunSettings
from specwatch_bench.run_view import RunView
from specwatch_bench.starter import HOST, STARTERS, Launch
from specwatch_exporters.replay.clock import Clock

SKIPPED, LEFT = "done before", "left for the next run"
_VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
_FAILED: Final = frozenset({ENGINE_FAILED, ENGINE_DIED, NO_ANSWERS})


class MatrixRun:
    """One run of a matrix; finished cells are skipped, so calling it again goes on.

    Args:
        matrix: what to measure.
        settings: how.
        view: is told what happens.
        clock: source of time.

    Raises:
        BenchError: a data set or an engine's name cannot be used; nothing has been started then.

    Attributes:
        tally: cells by outcome.
    """

    def __init__(self, matrix: Matrix, settings: RunSettings, view: RunView, clock: Clock | None = None) -> None:
        self.tally: Counter[str] = Counter()
        self._settings = settings
        self._view = view
        self._clock = clock or Clock()
        self._matrix = _shortened(matrix, settings.seconds_per_level)
        self._places = _places(settings)
        found = starts_of(self._matrix, self._places)
        self._starts = [start for start in found if _wanted(start, matrix, settings)]
        self._datasets: dict[str, Dataset] = {
            name: open_dataset(spec) for name, spec in self._matrix.datasets.items()
        }
        self._gpu_source, self._read_gpus = gpu_reader()
        self._budget = Budget(self._clock.monotonic(), settings.stop_after, self._clock)

    def plan(self) -> list[tuple[Cell, str | None]]:
        """All cells with the outcome on disk, None for those that are to be measured."""
        return [(cell, self._known(cell)) for start in self._starts for cell in start.cells]

    async def run(self) -> Counter[str]:
        """Measure what is not measured yet.

        Raises:
            BenchError: an engine that was to be running does not answer.
        """
        self._settings.out.mkdir(parents=True, exist_ok=True)
        write_shapes(self._matrix.shapes, self._settings.shapes, self._settings.models)
        self._manifest = Manifest(self._settings.out / "manifest.json")
        gpus = self._read_gpus() if self._read_gpus is not None else []
        self._manifest.add_machine(machine(self._gpu_source, gpus))
        self._manifest.add_matrix(self._matrix.name, placeless(asdict(self._matrix), self._places))
        for start in self._starts:
            await self._serve(start)
        return self.tally

    def _known(self, cell: Cell) -> str | None:
        outcome = outcome_of(self._settings.out / "cells" / cell.file_name)
        return None if self._settings.retry_failed and outcome in _FAILED else outcome

    async def _serve(self, start: Start) -> None:
        """Start an engine for the cells that are not measured yet."""
        todo = [cell for cell in start.cells if self._known(cell) is None]
        self.tally[SKIPPED] += len(start.cells) - len(todo)
        if not todo:
            return
        needed = start.engine.expected_start if start.engine.kind != "url" else 0.0
        if not self._budget.fits(needed + level_seconds(todo[0].level)):
            self._leave(start.engine.name, todo)
            return
        self._view.starting(start, len(todo))
        facts: dict[str, Any] = {"matrix": self._matrix.name, "target": self._matrix.target}
        try:
            async with self._engine(start, facts) as runner:
                for place, cell in enumerate(todo):
                    if not self._budget.fits(level_seconds(cell.level)):
                        self._leave(start.engine.name, todo[place:])
                        return
                    await self._measure(cell, runner, facts)
        except EngineStartError as error:
            self._view.failed(str(error), error.last_lines)
            left = [cell for cell in todo if self._known(cell) is None]
            outcome = ENGINE_DIED if facts.get("ready") else ENGINE_FAILED
            self._record_failure(left, facts, outcome, error)

    def _write(self, cell: Cell, lines: Iterable[dict[str, Any]]) -> None:
        path = self._settings.out / "cells" / cell.file_name
        write_cell(path, (line if line["kind"] == "request" else placeless(line, self._places) for line in lines))

    def _leave(self, name: str, cells: Sequence[Cell]) -> None:
        self.tally[LEFT] += len(cells)
        self._view.note(f"{name}: {counted(len(cells), 'cell')} left for the next run, the time is used up")

    def _record_failure(
        self, cells: Sequence[Cell], facts: Mapping[str, Any], outcome: str, error: EngineStartError
    ) -> None:
        for cell in cells:
            self._write(cell, failed_lines(cell, facts, outcome, str(error), error.last_lines, self._clock.wall()))
            self.tally[outcome] += 1

    async def _measure(
        self, cell: Cell, runner: tuple[CellRunner, EngineProcess | None], facts: dict[str, Any]
    ) -> None:
        cells, process = runner
        done = await cells.measure(
            cell,
            self._datasets[cell.dataset.name],
            lambda now, ended: self._view.measuring(cell, now, ended),
        )
        code = None if process is None else process.ended()
        if process is not None and code is not None:
            raise EngineStartError(f"the engine ended with status {code} in {cell.name}", process.last_lines())
        self._write(cell, cell_lines(cell, facts, done))
        self.tally[done.outcome] += 1
        length = None if done.counts is None else done.counts.length
        self._view.measured(cell, done.figures, length, done.notices)

    @asynccontextmanager
    async def _engine(
        self, start: Start, facts: dict[str, Any]
    ) -> AsyncIterator[tuple[CellRunner, EngineProcess | None]]:
        """A running engine; its start goes into the manifest, its facts into every cell."""
        spec = start.engine
        if spec.kind == "url":
            url = (spec.url or "").rstrip("/")
            if not await is_healthy(url, "/health"):
                raise BenchError(f"{url}/health does not answer with 200; nothing was measured there")
            facts |= {"url": url, "version": await version_of(url), "ready": True}
            yield CellRunner(url, spec.served_name, None, self._read_gpus, self._clock), None
            return
        live = self._live(spec)
        launch, port = self._launch(start, live)
        url = f"http://{HOST}:{port}"
        if live is not None and start.rates is not None:
            live.set(start.rates)
        log = self._settings.out / "logs" / f"{self._matrix.name}--{spec.name}.log"
        facts |= {"command": list(launch.command), "environment": dict(launch.environment)}
        facts["visible_gpus"] = launch.environment.get(_VISIBLE, self._settings.environment.get(_VISIBLE))
        process = self._begin(launch, log)
        try:
            try:
                seconds = await process.wait_until_healthy(url, launch.health, self._start_limit(spec, start))
            except EngineStartError as error:
                self._manifest.add_start(self._start_entry(spec, facts, str(error), None))
                raise
            facts |= {"version": await version_of(url), "start_seconds": round(seconds, 1), "ready": True}
            self._manifest.add_start(self._start_entry(spec, facts, OK, seconds))
            self._view.ready(seconds)
            yield CellRunner(url, spec.served_name, live, self._read_gpus, self._clock), process
        finally:
            await process.stop()

    def _begin(self, launch: Launch, log: Any) -> EngineProcess:
        environment = {**self._settings.environment, **launch.environment}
        try:
            return EngineProcess(launch.command, environment, log, self._clock)
        except OSError as error:
            raise EngineStartError(f"{launch.command[0]}: {error.strerror or error}") from error

    def _start_limit(self, spec: EngineSpec, start: Start) -> float:
        return max(min(spec.start_seconds, self._budget.left() - STOP_EXPECTED - start.cells[0].level.seconds), 1.0)

    def _start_entry(
        self, spec: EngineSpec, facts: Mapping[str, Any], outcome: str, seconds: float | None
    ) -> dict[str, Any]:
        entry = {
            "matrix": self._matrix.name,
            "engine": spec.name,
            "at": round(self._clock.wall(), 3),
            "outcome": outcome,
            "seconds": seconds,
            "command": facts["command"],
            "environment": facts["environment"],
            "version": facts.get("version"),
            "acceptance_source": spec.acceptance.source if spec.acceptance is not None else None,
            "labels": list(spec.labels),
        }
        return {key: placeless(value, self._places) for key, value in entry.items()}

    def _live(self, spec: EngineSpec) -> LiveAcceptance | None:
        if not spec.live_acceptance or spec.acceptance is None or spec.kind != "vllm":
            return None
        return LiveAcceptance(self._settings.out / "live" / spec.name, self._clock)

    def _launch(self, start: Start, live: LiveAcceptance | None) -> tuple[Launch, int]:
        port = _free_port()
        starter = STARTERS[start.engine.kind]
        try:
            launch = starter.launch(start.engine, port, start.rates, self._settings.python)
        except ValueError as error:
            raise EngineStartError(str(error)) from error
        if live is not None:
            base = {**self._settings.environment, **launch.environment}
            launch = replace(launch, environment={**launch.environment, **live.environment(base)})
        return launch, port


def _places(settings: RunSettings) -> dict[str, str]:
    """Folders that do not belong into records or keys."""
    return {
        settings.python: "python",
        str(settings.models.resolve()): "{models}",
        str(settings.out.resolve()): "{out}",
        str(settings.shapes.parent.resolve()): "{here}",
        str(Path.home()): "~",
    }


def _wanted(start: Start, matrix: Matrix, settings: RunSettings) -> bool:
    known = [engine.name for engine in matrix.engines]
    for name in settings.engines:
        if name not in known:
            raise BenchError(f"--engines: there is no engine {name!r}; there are {', '.join(known)}")
    return not settings.engines or start.engine.name in settings.engines


def _shortened(matrix: Matrix, seconds: float | None) -> Matrix:
    if seconds is None:
        return matrix
    levels = tuple(replace(level, seconds=seconds, most_seconds=seconds) for level in matrix.levels)
    return replace(matrix, levels=levels)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
