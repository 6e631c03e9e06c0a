"""Imported runs as cells, which `bench report` reads beside measured ones."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specwatch_bench.cell import Cell
from specwatch_bench.cell_file import write_cell
from specwatch_bench.cell_run import NO_ANSWERS, OK, head_line
from specwatch_bench.enough import shortage
from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_bench.matrix import DatasetSpec, EngineSpec, Level

_QUANTILE = 0.99


@dataclass(frozen=True, slots=True)
class CellNames:
    """What the files do not say.

    Attributes:
        target: the model, in words.
        engine: name of the engine and its draft; None for the run's own.
        traffic_class: of all requests.
    """

    target: str
    engine: str | None
    traffic_class: str


def why_no_cell(found: ImportedRun) -> str:
    """Why a run makes no cell; empty when it does."""
    if not found.records:
        return "the file has no requests, only their statistics"
    if not found.placed:
        return "it is not known when each request was sent"
    if not found.chunked:
        return "the file keeps no chunks"
    return ""


def write_cells(runs: Sequence[ImportedRun], names: CellNames, out: Path) -> list[Path]:
    """Write the cells of all runs that make one.

    Args:
        runs: of one or more files.
        names: see `CellNames`.
        out: folder of one target; the cells lie under `cells`.

    Returns:
        The files; a run that was imported before replaces its own.

    Raises:
        OSError: a file cannot be written.
    """
    written = []
    for found in runs:
        if not why_no_cell(found):
            cell = _cell(found, names)
            path = out / "cells" / cell.file_name
            write_cell(path, _lines(cell, found, names))
            written.append(path)
    return written


def _cell(found: ImportedRun, names: CellNames) -> Cell:
    seconds = found.seconds
    run = found.run
    load = {"concurrency": run.concurrency} if _closed(found) else {"rate": found.rate or _mean_rate(found)}
    engine = EngineSpec(
        name=_plain(names.engine or run.name), kind="imported", labels=(f"imported from {found.tool}",)
    )
    dataset = DatasetSpec(name=_plain(names.traffic_class), traffic_class=names.traffic_class, kind="jsonl")
    level = Level(**load, seconds=seconds, most_seconds=seconds, warmup=0.0, drain=0.0, quantile=_QUANTILE)
    text = repr((engine.name, names, [record.to_json() for record in found.records]))
    return Cell(hashlib.sha256(text.encode()).hexdigest()[:12], engine, dataset, level, 0, None)


def _lines(cell: Cell, found: ImportedRun, names: CellNames) -> Iterator[dict[str, Any]]:
    facts = {"matrix": "imported", "target": names.target, "tool": found.tool}
    yield head_line(cell, facts, 0.0)
    for record in found.records:
        yield {**record.to_json(), "class": names.traffic_class}
    run, figures = found.run, found.figures
    few = shortage(_QUANTILE, 0 if figures is None else figures.requests)
    yield {
        "kind": "end",
        "outcome": OK if figures is not None and figures.tokens else NO_ANSWERS,
        "seconds": round(found.seconds, 6),
        "requests": len(found.records),
        "unsent": 0,
        "figures": None if figures is None else figures.to_json(),
        "drafts": run.tally.drafts,
        "acceptance_length": run.mean_acceptance_length,
        "per_position": list(run.tally.per_position),
        "notices": [
            *([few] if few else []),
            *_load_words(found),
            *found.remarks,
            *(notice.message for notice in run.notices()),
        ],
    }


def _closed(found: ImportedRun) -> bool:
    return not found.rate and found.run.concurrency is not None


def _mean_rate(found: ImportedRun) -> float:
    return round(len(found.records) / found.seconds, 4) if found.seconds else 1.0


def _load_words(found: ImportedRun) -> list[str]:
    """What is not known of the load: sent all at once, after a schedule, or by a changing rate."""
    if found.rate or _closed(found):
        return []
    most = _most_at_once(found)
    told = "the file says neither a limit on requests in flight nor a rate"
    return [f"{told}: its load is their mean, at most {most} at once"]


def _most_at_once(found: ImportedRun) -> int:
    """Requests in flight at most."""
    moments = [(record.sent, 1) for record in found.records]
    moments += [(record.sent + record.ended, -1) for record in found.records]
    flying = most = 0
    for _, change in sorted(moments):
        flying += change
        most = max(most, flying)
    return most


def _plain(text: str) -> str:
    """Fit for a file name."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.") or "run"
