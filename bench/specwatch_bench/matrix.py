"""What to measure: engines, data sets, levels of load, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specwatch_exporters.demo.traffic_plan import Lengths

DATASET_KINDS: Final = ("gsm8k", "humaneval", "jsonl", "mt-bench", "sharegpt", "synthetic")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSpec:
    """One source of prompts.

    Attributes:
        name: in records and file names.
        traffic_class: class of its requests, unless a line of a file names one.
        kind: one of `DATASET_KINDS`.
        path: file of prompts; None for synthetic ones.
        prompt: lengths of synthetic prompts, tokens.
        output: `max_tokens` of a request; None takes the file's, else 256.
        vocab: synthetic prompts are token numbers below this; None makes words instead.
        chat: send chat completions, else completions.
    """

    name: str
    traffic_class: str
    kind: str = "synthetic"
    path: str | None = None
    prompt: Lengths = field(default_factory=lambda: Lengths(256))
    output: Lengths | None = None
    vocab: int | None = None
    chat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One load.

    Attributes:
        concurrency: requests in flight (closed loop).
        rate: Poisson arrivals per second (open loop); this or `concurrency`.
        seconds: measured time.
        most_seconds: goes on until `quantile` can be told, at most this long; equal to `seconds` for no longer.
        warmup: seconds of the same load before, recorded and left out of every figure.
        drain: seconds that what was sent may take to end after the measured time.
        quantile: the highest quantile of latencies that is asked for.
        repeat: number of the repetition, from 1; each has its own seed.
        datasets: names of the data sets that run at this level; None for all.
    """

    concurrency: int | None = None
    rate: float | None = None
    seconds: float = 30.0
    most_seconds: float = 30.0
    warmup: float = 5.0
    drain: float = 60.0
    quantile: float = 0.99
    repeat: int = 1
    datasets: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """Short, for file names: `c32` or `r2.5`, with the repetition from the second on."""
        load = f"c{self.concurrency}" if self.rate is None else f"r{self.rate:g}"
        return load if self.repeat == 1 else f"{load}-{self.repeat}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Synthetic acceptance, which vLLM applies instead of comparing draft and target.

    Attributes:
        source: whose values these are and how they were made; goes into every record.
        rates: per class, unconditional probability that position j is accepted, not rising.
    """

    source: str
    rates: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """One engine as it is started.

    Attributes:
        name: in records and file names; unique in the matrix.
        kind: who starts it: a name in `starters.STARTERS`.
        model: model path or name.
        served_name: model name in requests; None sends none.
        arguments: of the engine, after those that the starter sets.
        environment: variables added to the engine's.
        speculative: vLLM's `--speculative-config`; None for no speculation.
        acceptance: synthetic acceptance, or None for the draft's own.
        live_acceptance: change the acceptance of a running vLLM instead of starting one per class.
        url: address of a running engine, for kind `url`.
        start_seconds: most that the start may take.
        expected_start: what it is thought to take, for the time budget.
        datasets: names of its data sets; None for all.
        labels: what a reader of its figures must know.
        body: members added to every request.
    """

    name: str
    kind: str
    model: str = ""
    served_name: str | None = None
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    speculative: Mapping[str, Any] | None = None
    acceptance: Acceptance | None = None
    live_acceptance: bool = False
    url: str | None = None
    start_seconds: float = 600.0
    expected_start: float = 120.0
    datasets: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ()
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """All that one file asks for.

    Attributes:
        name: of the matrix.
        target: the model, in words.
        shapes: folders with a configuration and without weights that are written before the first start.
        seed: of everything that is drawn.
        engines: in the order in which they run.
        datasets: by name.
        levels: in the order in which they run.
    """

    name: str
    target: str
    engines: tuple[EngineSpec, ...]
    datasets: Mapping[str, DatasetSpec]
    levels: tuple[Level, ...]
    shapes: tuple[str, ...] = ()
    seed: int = 1
