"""One cell as the report sees it: its figures with their draws, its counts, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from specwatch_bench.bench_error import BenchError
from specwatch_bench.cell_file import read_cell
from specwatch_bench.enough import requests_for
from specwatch_bench.plugin_counts import Increases, plugin_increases
from specwatch_bench.profile_cell import MOST_STALLED, CellSteps, gpu_name, judged_steps
from specwatch_bench.report_draws import Floats, generator, quantile_draws, rate_draws
from specwatch_bench.request_record import OK, RequestRecord

QUANTILES: Final = (0.5, 0.95, 0.99)
FEW: Final = {quantile: requests_for(quantile) for quantile in QUANTILES}
"""Fewest requests for an upper limit of each quantile."""


@dataclass(frozen=True, slots=True)
class Times:
    """p50, p95 and p99 of one kind of time, in milliseconds, with their draws."""

    p50: Floats
    p95: Floats
    p99: Floats

    def of(self, quantile: float) -> Floats:
        """One of the three."""
        return {0.5: self.p50, 0.95: self.p95, 0.99: self.p99}[quantile]


@dataclass(frozen=True, slots=True)
class GpuUse:
    """One GPU in the measured time.

    Attributes:
        busy: mean share of time with any kernel running, 0 to 1.
        watts: mean power.
        memory_gib: most memory in use.
    """

    busy: float
    watts: float
    memory_gib: float


@dataclass(frozen=True, slots=True)
class CellReport:
    """One cell.

    Attributes:
        name: of its file, without the key.
        head: its first line.
        end: its last line.
        steps: what its chunks say about step times; None for an open loop.
        requests: ended well, sent within the measured time.
        tok_s: output tokens per second.
        prompt_s: prompt tokens per second, of requests whose first token came in the measured time.
        ttft: to the first token.
        e2e: of whole requests.
        token: per output token after the first chunk; each has its share of its chunk's gap.
        chunk: between chunks, which is what a reader of the stream waits.
        gpus: by index; empty where nobody read them.
        card: name of the first GPU, or empty.
        plugin: what specwatch's plugin inside vLLM counted; None where it was not loaded.
    """

    name: str
    head: Mapping[str, Any]
    end: Mapping[str, Any]
    steps: CellSteps | None
    requests: int
    tok_s: Floats
    prompt_s: Floats
    ttft: Times
    e2e: Times
    token: Times
    chunk: Times
    gpus: Mapping[int, GpuUse]
    card: str
    plugin: Increases | None

    @property
    def engine(self) -> str:
        """Name of the engine in its matrix."""
        return str(self.head["engine"]["name"])

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return str(self.head["dataset"]["name"])

    @property
    def batch(self) -> int | None:
        """Requests in flight; None for an open loop."""
        found = self.head["level"].get("concurrency")
        return None if found is None else int(found)

    @property
    def load(self) -> str:
        """`32`, or `2.5/s` for an open loop; with the repetition from the second on."""
        level = self.head["level"]
        words = f"{level['rate']:g}/s" if self.batch is None else str(self.batch)
        return words if level.get("repeat", 1) == 1 else f"{words} run {level['repeat']}"

    @property
    def refused(self) -> str:
        """Why no figure of this cell is published, or empty: it failed, or stood still for a fifth of the time."""
        if self.end.get("outcome") != OK:
            return f"its outcome is {self.end.get('outcome')}: {self.end.get('reason', 'nothing was answered')}"
        return self.steps.refused if self.steps is not None and self.steps.stalled_share > MOST_STALLED else ""

    @property
    def doubts(self) -> tuple[str, ...]:
        """What else a reader of its figures must know: its notices, and why its step times are not used."""
        few = ("an upper limit for p",)
        kept = [str(each) for each in self.end.get("notices", ()) if not any(mark in str(each) for mark in few)]
        if self.steps is not None and self.steps.refused and not self.refused:
            kept.append(f"no step times of it are used: {self.steps.refused}")
        if self.steps is not None and not self.steps.refused and self.steps.stalled_s > 0:
            kept.append(f"{self.steps.stalled_s:.1f} s of {self.steps.seconds:.0f} s went into steps that stalled")
        return tuple(kept)


def read_report_cell(path: Path) -> CellReport:
    """Read a cell.

    Raises:
        BenchError: the file is torn or no cell.
    """
    try:
        lines = list(read_cell(path))
        records = [RequestRecord.from_json(line) for line in lines if line["kind"] == "request"]
        return _report(path, lines, records)
    except (ValueError, KeyError, TypeError) as error:
        why = str(error).removeprefix(f"{path}: ")
        raise BenchError(f"{path.name}: not a whole cell of this format ({why})") from error


def _report(path: Path, lines: Sequence[Mapping[str, Any]], records: Sequence[RequestRecord]) -> CellReport:
    head, end = lines[0], lines[-1]
    seconds = float(end.get("seconds") or 0.0)
    ended = [record for record in records if record.sent >= 0 and record.outcome == OK and record.chunks]
    rng = generator(path.name)
    chunks = _Chunks(records, seconds)
    nothing = np.zeros(1)
    pages = {line["when"]: line["text"] for line in lines if line["kind"] == "page"}
    return CellReport(
        name="--".join(path.name.split("--")[:3]),
        head=head,
        end=end,
        steps=judged_steps(path, lines, records),
        requests=len(ended),
        tok_s=rate_draws(chunks.moments, chunks.sizes, seconds, rng) if seconds else nothing,
        prompt_s=rate_draws(chunks.first_moments, chunks.prompts, seconds, rng) if seconds else nothing,
        ttft=_per_request([record.chunks[0] for record in ended], rng),
        e2e=_per_request([record.ended for record in ended], rng),
        token=Times(
            *quantile_draws(chunks.gaps / chunks.gap_sizes, chunks.gap_sizes, chunks.owners, QUANTILES, rng)
        ),
        chunk=Times(*quantile_draws(chunks.gaps, np.ones_like(chunks.gaps), chunks.owners, QUANTILES, rng)),
        gpus=_gpus(lines, seconds),
        card=gpu_name(lines),
        plugin=plugin_increases(*(pages.get(when) for when in ("before", "after"))),
    )


def _per_request(micros: Sequence[int], rng: np.random.Generator) -> Times:
    values = np.array(micros, dtype=float) / 1e3
    return Times(*quantile_draws(values, np.ones_like(values), np.arange(len(values)), QUANTILES, rng))


class _Chunks:
    """Chunks of a cell as arrays.

    Attributes:
        moments: seconds of every chunk.
        sizes: tokens of every chunk.
        first_moments: seconds of every first chunk.
        prompts: prompt tokens that came with it.
        gaps: milliseconds before every later chunk of the measured time.
        gap_sizes: tokens of those.
        owners: number of their request.
    """

    def __init__(self, records: Sequence[RequestRecord], seconds: float) -> None:
        moments, sizes, firsts, prompts = [], [], [], []
        gaps, gap_sizes, owners = [], [], []
        for owner, record in enumerate(records):
            if not record.chunks:
                continue
            at = (record.sent + np.cumsum(np.array(record.chunks, dtype=float))) / 1e6
            size = _sizes(record)
            moments.append(at)
            sizes.append(size)
            firsts.append(at[0])
            prompts.append(float(record.prompt_tokens or 0))
            later = (np.arange(len(at)) > 0) & (at >= 0) & (at < seconds)
            gaps.append(np.array(record.chunks, dtype=float)[later] / 1e3)
            gap_sizes.append(size[later])
            owners.append(np.full(int(later.sum()), owner))
        self.moments, self.sizes = _joined(moments), _joined(sizes)
        self.first_moments, self.prompts = np.array(firsts, dtype=float), np.array(prompts)
        self.gaps, self.gap_sizes = _joined(gaps), _joined(gap_sizes)
        self.owners = np.concatenate(owners).astype(np.int64) if owners else np.empty(0, dtype=np.int64)


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.empty(0)


def _sizes(record: RequestRecord) -> Floats:
    """Tokens of each chunk; shared evenly where the engine does not say."""
    if record.sizes is not None:
        return np.array(record.sizes, dtype=float)
    count = len(record.chunks)
    return np.full(count, (count if record.tokens is None else record.tokens) / count)


def _gpus(lines: Sequence[Mapping[str, Any]], seconds: float) -> dict[int, GpuUse]:
    """Means of the measured time, by GPU."""
    rows: dict[int, list[tuple[float, float, float]]] = {}
    for line in lines:
        if line["kind"] != "gpu":
            continue
        names = line["fields"]
        for row in line["rows"]:
            one = dict(zip(names, row, strict=True))
            if 0 <= one["at"] < seconds:
                known = (one["busy_percent"] or 0, one["power_w"] or 0, one["memory_mib"] or 0)
                rows.setdefault(int(one["index"]), []).append(known)
    return {
        index: GpuUse(
            float(np.mean([each[0] for each in seen])) / 100.0,
            float(np.mean([each[1] for each in seen])),
            max(each[2] for each in seen) / 1024.0,
        )
        for index, seen in sorted(rows.items())
    }
