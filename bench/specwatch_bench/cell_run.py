"""Measures one cell on a running engine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from specwatch_bench.cell import Cell
from specwatch_bench.cell_file import FORMAT
from specwatch_bench.count_words import counted
from specwatch_bench.enough import shortage
from specwatch_bench.figures import Figures, figures
from specwatch_bench.gpu_watch import FIELDS, GpuWatch, Read
from specwatch_bench.live_acceptance import LiveAcceptance
from specwatch_bench.load import Load, LoadTarget
from specwatch_bench.page_counts import PageCounts, counts_between, fetch_page, off_the_set_rates
from specwatch_bench.prompt import Dataset
from specwatch_bench.request_record import ERROR, STOPPED
from specwatch_exporters.replay.clock import Clock

OK, NO_ANSWERS, ENGINE_FAILED, ENGINE_DIED = "ok", "no_answers", "engine_failed", "engine_died"


@dataclass(slots=True)
class Measurement:
    """A measured cell.

    Attributes:
        pages: (moment in measured seconds, page) before and after, as far as the engine has one.
        counts: drafts between them.
        wall: seconds since the epoch at the start of the measured time.
        notices: what a reader of the figures must know.
    """

    load: Load
    pages: list[tuple[float, str | None]] = field(default_factory=list)
    gpu: list[list[Any]] = field(default_factory=list)
    wall: float = 0.0
    notices: list[str] = field(default_factory=list)

    @property
    def counts(self) -> PageCounts | None:
        """Drafts of the measured time by the engine's counters."""
        return counts_between(self.pages[0][1], self.pages[1][1]) if len(self.pages) == 2 else None

    @property
    def figures(self) -> Figures:
        """At a glance."""
        return figures(self.load.records, self.load.measured)

    @property
    def outcome(self) -> str:
        """Whether anything was answered."""
        return OK if self.figures.tokens else NO_ANSWERS


@dataclass(frozen=True, slots=True)
class CellRunner:
    """What is the same for all cells of a start.

    Attributes:
        url: of the engine.
        model: name in requests, or None.
        live: changes its acceptance, or None.
        read_gpus: see `gpu_reader`.
        clock: source of time.
    """

    url: str
    model: str | None
    live: LiveAcceptance | None
    read_gpus: Read | None
    clock: Clock

    async def measure(self, cell: Cell, dataset: Dataset, shown: Callable[[float, int], None]) -> Measurement:
        """Make the load and watch.

        Args:
            cell: what to measure.
            dataset: its prompts.
            shown: see `Load`.
        """
        extra = cell.engine.body
        target = LoadTarget(url=self.url, model=self.model, chat=cell.dataset.chat, extra=extra)
        done = Measurement(Load(target, dataset, cell.level, cell.seed, self.clock, shown))
        if self.live is not None and cell.rates is not None:
            self.live.set(cell.rates)
        async with self._gpus(done):
            await done.load.run(lambda: self._at_start(cell, done), lambda: self._page(done))
        self._judge(cell, done)
        return done

    async def _at_start(self, cell: Cell, done: Measurement) -> None:
        if self.live is not None and cell.rates is not None:
            problem = await self.live.confirmed(cell.rates)
            if problem is not None:
                done.notices.append(problem)
        done.wall = self.clock.wall() - (self.clock.monotonic() - done.load.zero)
        await self._page(done)

    async def _page(self, done: Measurement) -> None:
        page = await fetch_page(self.url)
        done.pages.append((self.clock.monotonic() - done.load.zero, page))

    @contextlib.asynccontextmanager
    async def _gpus(self, done: Measurement) -> Any:
        if self.read_gpus is None:
            yield
            return
        watch = GpuWatch(self.read_gpus, lambda: self.clock.monotonic() - done.load.zero, self.clock)
        task = asyncio.create_task(watch.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            done.gpu = watch.rows

    def _judge(self, cell: Cell, done: Measurement) -> None:
        """Collect what a reader must know."""
        seen = done.figures
        few = shortage(cell.level.quantile, seen.requests)
        if few is not None:
            done.notices.append(few)
        if cell.rates is not None:
            problem = off_the_set_rates(done.counts, cell.rates)
            if problem is not None:
                done.notices.append(problem)
        errors = [record.error for record in done.load.records if record.outcome == ERROR]
        if errors:
            done.notices.append(f"{counted(len(errors), 'request')} failed, the first with: {errors[0]}")
        cut = sum(record.outcome == STOPPED and record.sent >= 0 for record in done.load.records)
        if cut:
            done.notices.append(f"{counted(cut, 'request')} cut after {cell.level.drain:g} s of draining")
        if done.load.unsent:
            done.notices.append(f"{done.load.unsent} arrivals were not sent: too many were in flight")


def cell_lines(cell: Cell, facts: Mapping[str, Any], done: Measurement) -> Iterator[dict[str, Any]]:
    """The lines of a measured cell's file, in order; see `docs/bench.md`."""
    yield head_line(cell, facts, done.wall)
    for when, (moment, page) in zip(("before", "after"), done.pages, strict=False):
        yield {"kind": "page", "when": when, "at": round(moment, 4), "text": page}
    if done.gpu:
        yield {"kind": "gpu", "fields": ["at", *FIELDS], "rows": done.gpu}
    for record in done.load.records:
        yield record.to_json()
    counts = done.counts
    yield {
        "kind": "end",
        "outcome": done.outcome,
        "seconds": round(done.load.measured, 6),
        "requests": len(done.load.records),
        "unsent": done.load.unsent,
        "figures": done.figures.to_json(),
        "drafts": None if counts is None else counts.drafts,
        "acceptance_length": None if counts is None else counts.length,
        "per_position": None if counts is None else list(counts.per_position),
        "notices": done.notices,
    }


def failed_lines(
    cell: Cell, facts: Mapping[str, Any], outcome: str, reason: str, last_lines: Sequence[str], wall: float
) -> Iterator[dict[str, Any]]:
    """The lines of a cell whose engine did not come up or ended."""
    yield head_line(cell, facts, wall)
    yield {"kind": "end", "outcome": outcome, "reason": reason, "last_lines": list(last_lines), "requests": 0}


def head_line(cell: Cell, facts: Mapping[str, Any], wall: float) -> dict[str, Any]:
    """The first line of a cell's file."""
    return {"kind": "cell", "format": FORMAT, "measured_at": round(wall, 3), **cell.to_json(), **facts}
