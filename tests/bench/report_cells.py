"""Small folders of results whose figures are known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specwatch_bench.cell_file import write_cell
from specwatch_bench.request_record import OK, RequestRecord

PROMPT = 100
SECONDS = 6.0
DRAFT = {"method": "eagle3", "num_speculative_tokens": 3}


def requests(step: float, tokens: int, batch: int, *, stall_at: float | None = None) -> list[RequestRecord]:
    """A closed loop whose steps take so long and bring each request so many tokens; 40 steps an answer.

    With `stall_at` one step at that moment takes three seconds.
    """
    done: list[RequestRecord] = []
    for slot in range(batch):
        begin = -1.0 - slot * step
        while begin < SECONDS:
            now, moments = begin, []
            for _ in range(40):
                stalls = stall_at is not None and now < stall_at <= now + step
                now += step + (3.0 if stalls else 0.0)
                moments.append(now)
            done.append(_record(len(done), begin, moments, tokens))
            begin = now
    return sorted(done, key=lambda record: record.sent)


def _record(number: int, begin: float, moments: list[float], tokens: int) -> RequestRecord:
    whole = [round((after - before) * 1e6) for before, after in zip((begin, *moments), moments, strict=False)]
    sizes = (tokens,) * len(whole)
    return RequestRecord(
        number, "chat", round(begin * 1e6), None, tuple(whole), sizes, sum(whole), PROMPT, sum(sizes), 999, OK
    )


def head(engine: str, batch: int, /, **changes: Any) -> dict[str, Any]:
    """A cell's first line."""
    speculative = None if engine == "off" else DRAFT
    return {
        "kind": "cell",
        "format": 1,
        "key": "0" * 12,
        "matrix": "small",
        "target": "small shape",
        "engine": {
            "name": engine,
            "kind": "vllm",
            "arguments": [],
            "speculative": speculative,
            "labels": ["made up"],
            "acceptance": None if speculative is None else {"source": "nobody", "rates": {"chat": [0.5, 0.3, 0.2]}},
        },
        "dataset": {"name": "chat", "traffic_class": "chat"},
        "level": {"concurrency": batch, "rate": None, "repeat": 1},
        "synthetic_acceptance": None if speculative is None else [0.5, 0.3, 0.2],
        "version": "0.0",
        "start_seconds": 1,
        **changes,
    }


def write(
    folder: Path,
    engine: str,
    batch: int,
    records: list[RequestRecord],
    /,
    lines: Sequence[Mapping[str, Any]] = (),
    end: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """One cell's file, with further lines (pages, GPU) and other members of its last one."""
    first = head(engine, batch, **changes)
    draft = first["engine"]["speculative"] is not None
    last = {
        "kind": "end",
        "outcome": OK,
        "seconds": SECONDS,
        "requests": len(records),
        "drafts": 1000.0 if draft else None,
        "per_position": [0.5, 0.3, 0.2] if draft else None,
        "notices": [],
        **(end or {}),
    }
    level = f"c{batch}" if first["level"].get("repeat", 1) == 1 else f"c{batch}-{first['level']['repeat']}"
    path = folder / "cells" / f"{engine}--chat--{level}--{'0' * 12}.jsonl.gz"
    write_cell(path, [first, *lines, *(record.to_json() for record in records), last])
    return path


def small_results(folder: Path, **changes: Any) -> Path:
    """A drafter that doubles the throughput at 1 in flight, and halves it at 4; at 8 it stood still."""
    for batch, plain, drafted in ((1, 0.02, 0.02), (4, 0.02, 0.08), (8, 0.02, 0.02)):
        write(folder, "off", batch, requests(plain, 1, batch), **changes)
        stall = 2.0 if batch == 8 else None
        write(folder, "eagle3", batch, requests(drafted, 2, batch, stall_at=stall), **changes)
    return folder


def manifest(folder: Path, engines: Mapping[str, list[str] | None]) -> None:
    """A manifest that asks for these engines at 1, 4, 8 and 16 in flight, and 2 a second."""
    levels = [{"concurrency": batch, "rate": None, "datasets": None} for batch in (1, 4, 8, 16)]
    body = {
        "matrices": {
            "small": {
                "name": "small",
                "target": "small shape",
                "engines": [{"name": name, "datasets": only} for name, only in engines.items()],
                "datasets": {"chat": {"name": "chat"}, "code": {"name": "code"}},
                "levels": [
                    *({**level, "datasets": ["chat"]} for level in levels),
                    {"concurrency": None, "rate": 2.0, "datasets": ["code"]},
                ],
            }
        }
    }
    (folder / "manifest.json").write_text(json.dumps(body), encoding="utf-8")
