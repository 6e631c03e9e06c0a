"""The price of speculation by method, K and batch size, from a folder of cells, and the profile made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from specwatch_bench.bench_error import BenchError
from specwatch_bench.count_words import counted
from specwatch_bench.profile_cell import OFF, CellSteps, options_of, read_steps
from specwatch_bench.profile_estimate import Floats, StepEstimate, estimate

UNKNOWN: Final = "unknown"
"""The card of cells that saw none."""
_LEAST_BATCHES: Final = 2
_KINDS: Final = {"sglang": "SGLang", "trtllm": "TensorRT-LLM", "vllm": "vLLM"}
_PARALLEL: Final = (
    ("--tensor-parallel-size", "-tp", "--tp", "--tp-size", "--tp_size"),
    ("--pipeline-parallel-size", "-pp", "--pp", "--pp-size", "--pp_size"),
    ("--data-parallel-size", "-dp", "--dp", "--dp-size"),
)
_OUTER: Final = (0.025, 0.975)

Run = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Range:
    """A figure with the 95 % interval of its draws."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.lower:.2f} to {self.upper:.2f})"


@dataclass(frozen=True, slots=True)
class Price:
    """One method at one K and batch size beside the engine without speculation.

    Attributes:
        ratio: rho, without prefill.
        relative_error: standard error of rho over rho.
        gained: S that the step times give for the run's own lengths and prompts.
        measured: quotient of the tokens per second that arrived, each cell with its own prompts.
    """

    method: str
    depth: int
    batch: int
    ratio: Range
    relative_error: float
    gained: Range
    measured: Range
    own: StepEstimate
    plain: StepEstimate


@dataclass(frozen=True, slots=True)
class StepTable:
    """All of one folder.

    Attributes:
        head: first line of one of its cells.
        gpu: its name.
        plain: by batch size.
        prices: by method, K and batch size.
        left_out: name of a cell and why.
        seconds: shortest and longest measured time.
    """

    head: Mapping[str, Any]
    gpu: str
    plain: Mapping[int, StepEstimate]
    prices: tuple[Price, ...]
    left_out: tuple[tuple[str, str], ...]
    seconds: tuple[float, float]


def read_table(folder: Path) -> StepTable:
    """Read a folder that `specwatch bench run` wrote, or its `cells`.

    Raises:
        BenchError: no cells, cells of two targets, or none that is whole; others that are not are left out.
    """
    paths = sorted((folder / "cells" if (folder / "cells").is_dir() else folder).glob("*.jsonl.gz"))
    cells, torn = [], []
    for path in paths:
        try:
            cell = read_steps(path)
        except BenchError as error:
            torn.append((path.name, str(error).removeprefix(f"{path.name}: ")))
            continue
        if cell is not None:
            cells.append(cell)
    if not cells and torn:
        raise BenchError(": ".join(torn[0]))
    table = table_of(cells, folder)
    return replace(table, left_out=(*table.left_out, *torn))


def table_of(cells: Sequence[CellSteps], folder: Path) -> StepTable:
    """The table of cells that have been read from a folder.

    Raises:
        BenchError: see `read_table`.
    """
    if not cells:
        raise BenchError(f"{folder}: no cells of a closed loop; give a folder that `specwatch bench run` wrote")
    one_target([str(cell.head["target"]) for cell in cells], folder)
    usable, doubles = _one_engine_a_run([cell for cell in cells if not cell.refused])
    used = usable or cells
    estimates = _estimates(usable)
    plain = {batch: found for ((method, _), batch), found in estimates.items() if method == OFF}
    prices = [
        _price(run, batch, own, plain[batch])
        for (run, batch), own in sorted(estimates.items())
        if run[0] != OFF and batch in plain
    ]
    alone = [
        (name, f"no usable cell without speculation at batch {batch}")
        for (run, batch), own in sorted(estimates.items())
        if run[0] != OFF and batch not in plain
        for name in own.cells
    ]
    refused = [(cell.name, cell.refused) for cell in cells if cell.refused]
    seconds = [cell.seconds for cell in used]
    return StepTable(
        head=used[0].head,
        gpu=next((cell.gpu for cell in used if cell.gpu), UNKNOWN),
        plain=dict(sorted(plain.items())),
        prices=tuple(prices),
        left_out=(*refused, *doubles, *alone),
        seconds=(min(seconds), max(seconds)),
    )


def _one_engine_a_run(cells: Sequence[CellSteps]) -> tuple[list[CellSteps], list[tuple[str, str]]]:
    """Cells of the first engine of each method and K; those of another (other draft, arguments) with the reason."""
    first: dict[Run, str] = {}
    kept, others = [], []
    for cell in cells:
        name = str(cell.head["engine"]["name"])
        known = first.setdefault((cell.method, cell.depth), name)
        if name == known:
            kept.append(cell)
        else:
            others.append((cell.name, f"{known} has the same method and K, and is another engine"))
    return kept, others


def one_target(targets: Sequence[str], folder: Path) -> None:
    """Refuse cells of several targets.

    Raises:
        BenchError: they are.
    """
    known = sorted({*targets})
    if len(known) > 1:
        raise BenchError(f"{folder}: cells of {len(known)} targets ({', '.join(known)}); give one's folder")


def _estimates(cells: Sequence[CellSteps]) -> dict[tuple[Run, int], StepEstimate]:
    """By run and batch size; cells of the data set that ran without speculation come first."""
    shared = {cell.head["dataset"]["name"] for cell in cells if cell.method == OFF}
    grouped: dict[tuple[Run, int], list[CellSteps]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.head["dataset"]["name"] not in shared, cell.name)):
        grouped.setdefault(((cell.method, cell.depth), cell.batch), []).append(cell)
    return {key: estimate(group) for key, group in grouped.items()}


def _price(run: Run, batch: int, own: StepEstimate, plain: StepEstimate) -> Price:
    ratio = own.seconds / plain.seconds
    gained = _rate(own, batch) / _rate(plain, batch)
    measured = own.tokens_per_second / plain.tokens_per_second
    error = float(np.std(ratio[1:])) / float(ratio[0])
    return Price(*run, batch, _range(ratio), error, _range(gained), _range(measured), own, plain)


def _rate(one: StepEstimate, batch: int) -> Floats:
    """Tokens per request and second, from the parts of a step."""
    prompts = one.prompt_per_output * one.length * batch
    return np.asarray(one.length / (one.seconds + one.prefill * prompts))


def _range(values: Floats) -> Range:
    lower, upper = np.quantile(values[1:], _OUTER)
    return Range(float(values[0]), min(float(values[0]), float(lower)), max(float(values[0]), float(upper)))


def table_lines(table: StepTable) -> Iterator[str]:
    """The table as Markdown, and what was left out."""
    yield f"{table.head['target']}, {table.gpu}, {engine_of(table.head)}; {label_of(table)}"
    yield ""
    yield (
        "| method | K | batch | step, ms | plain step, ms | rho = break-even without prefill | tau | "
        "S from step times | tok/s ratio | steps without prefill |"
    )
    yield "|---" * 10 + "|"
    for price in table.prices:
        own, plain = price.own, price.plain
        yield (
            f"| {price.method} | {price.depth} | {price.batch} | {own.seconds[0] * 1e3:.2f} "
            f"| {plain.seconds[0] * 1e3:.2f} | {price.ratio} | {own.length:.2f} | {price.gained} "
            f"| {price.measured} | {own.quiet} and {plain.quiet} |"
        )
    if not table.prices:
        yield "no cell has a counterpart at the same batch size"
    yield ""
    yield from (f"left out: {name}: {reason}" for name, reason in table.left_out)


def label_of(table: StepTable) -> str:
    """How it was measured, in one line."""
    shortest, longest = table.seconds
    marks = [str(mark) for mark in table.head["engine"].get("labels", ())]
    return ", ".join([*marks, f"one run of {shortest:.0f} to {longest:.0f} s a level"])


def profile_of(table: StepTable) -> dict[str, Any]:
    """The profile that detectors and scaler read; seconds rounded to the microsecond.

    Where some steps of a run had no draft (n-gram), the time is carried to K drafted for each request, in
    proportion between a plain step and the step seen: readers take it back in the same proportion.

    Raises:
        BenchError: fewer than two batch sizes with and without speculation.
    """
    batches = list(table.plain)
    runs: dict[Run, list[Price]] = {}
    for price in table.prices:
        runs.setdefault((price.method, price.depth), []).append(price)
    complete = {run: prices for run, prices in runs.items() if len(prices) >= _LEAST_BATCHES}
    if not complete:
        raise BenchError(
            "no profile: no method has two batch sizes with and without speculation; "
            f"{counted(len(table.left_out), 'cell')} left out"
        )
    methods: dict[str, list[dict[str, Any]]] = {}
    for (method, depth), prices in sorted(complete.items()):
        methods.setdefault(method, []).append(_run(depth, prices))
    head, plain = table.head, table.plain
    return {
        "format": 1,
        "name": name_of(table),
        "label": label_of(table),
        "target": head["target"],
        "hardware": f"{gpus_of(head)} x {table.gpu}",
        "gpus": gpus_of(head),
        "engine": engine_of(head),
        "source": "specwatch bench profile: closed loop, chunk times of the client; errors of one run's steps",
        "context_tokens": round(_mean([one.context for one in plain.values()]), 1),
        "prefill_seconds_per_token": _nano(float(np.median([one.prefill[0] for one in plain.values()]))),
        "prompt_per_output": round(_mean([one.prompt_per_output for one in plain.values()]), 3),
        "batches": batches,
        "plain_seconds": [_micro(one.seconds[0]) for one in plain.values()],
        "plain_prefill_seconds_per_token": [_nano(one.prefill[0]) for one in plain.values()],
        "methods": methods,
    }


def _run(depth: int, prices: Sequence[Price]) -> dict[str, Any]:
    full = [
        price.plain.seconds[0] + (price.own.seconds[0] - price.plain.seconds[0]) / (price.own.share or 1.0)
        for price in prices
    ]
    return {
        "depth": depth,
        "tokens_per_step": round(float(np.median([price.own.length for price in prices])), 3),
        "draft_tokens_per_step": round(depth * _mean([price.own.share for price in prices]), 3),
        "batches": [price.batch for price in prices],
        "seconds": [_micro(seconds) for seconds in full],
        "relative_error": [round(price.relative_error, 4) for price in prices],
        "prefill_seconds_per_token": [_nano(price.own.prefill[0]) for price in prices],
    }


def name_of(table: StepTable) -> str:
    """Matrix, card and `bench`, as `llama-70b-fp8-h200-bench`."""
    return f"{table.head['matrix']}-{table.gpu.split()[-1].lower()}-bench"


def write_profile(table: StepTable, path: Path) -> None:
    """Write the profile's file.

    Raises:
        BenchError: it cannot be made or written.
    """
    text = json.dumps(profile_of(table), indent=1) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from error


def engine_of(head: Mapping[str, Any]) -> str:
    """An engine with its version, as `vLLM 0.25.1`."""
    kind = str(head["engine"]["kind"])
    if kind == "replay":
        return "replay engine"
    return f"{_KINDS.get(kind, kind)} {head.get('version') or '(version not told)'}"


def gpus_of(head: Mapping[str, Any]) -> int:
    """GPUs of one engine: tensor, pipeline and data parallelism; SGLang's DP attention shares its GPUs."""
    arguments = list(head["engine"].get("arguments", ()))
    said = options_of(arguments)
    shared = "--enable-dp-attention" in arguments
    found = 1
    for names in _PARALLEL[: len(_PARALLEL) - shared]:
        found *= next((int(said[name]) for name in names if said.get(name, "").isdecimal()), 1)
    return found


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _micro(seconds: float) -> float:
    return round(float(seconds), 6)


def _nano(seconds: float) -> float:
    return round(float(seconds), 9)
