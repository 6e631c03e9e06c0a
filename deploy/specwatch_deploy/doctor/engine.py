"""What is known of one engine: its page, its version, or both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.metrics_core import Metric as Family

from specwatch_exporters.engine_metrics.metric_table import EngineMetric, EngineTable, load_tables
from specwatch_exporters.engine_metrics.version import Version

SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "vllm": ("vllm:", "vllm_", "ray_vllm:", "ray_vllm_"),
    "sglang": ("sglang:", "sglang_"),
    "trtllm": ("trtllm_", "trtllm:"),
    "triton-trtllm": ("nv_trt_llm_",),
    "dynamo": ("dynamo_",),
}
"""Prefixes under which an engine's metrics are found; its own is the first."""
LABELS: Final[Mapping[str, str]] = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "trtllm": "TensorRT-LLM",
    "triton-trtllm": "Triton's TensorRT-LLM backend",
    "dynamo": "Dynamo",
}


@dataclass(frozen=True, slots=True)
class Exposed:
    """A series name on a page.

    Attributes:
        kind: type as the page declares it; `unknown` if it does not.
        values: values of each label, by label.
        everywhere: labels that all of its series have.
    """

    kind: str
    values: Mapping[str, frozenset[str]]
    everywhere: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine that is watched.

    Attributes:
        source: where it is known from: URL, file, or `vllm@0.33.0`.
        name: of the engine; a key of `SPELLINGS`.
        version: what it says of itself, or what was given; None if unknown.
        page: series by name; None if only a version was given.
        prefix: how the page spells its names.
        speculating: whether speculation is configured; None if the page does not tell.
        rust: whether the page is of vLLM's Rust frontend.
        assumed: True if nobody named this engine, and the newest version is taken.
        span: the oldest and the newest version that the page can be of; None without a page.
    """

    source: str
    name: str
    version: Version | None = None
    page: Mapping[str, Exposed] | None = field(default=None, repr=False)
    prefix: str = ""
    speculating: bool | None = None
    rust: bool = False
    assumed: bool = False
    span: tuple[Version, Version] | None = None

    @property
    def table(self) -> EngineTable:
        """Its metrics."""
        return load_tables()[self.name]

    @property
    def label(self) -> str:
        """Its name for people."""
        return LABELS[self.name]

    @property
    def title(self) -> str:
        """For people: `vLLM 0.33.0`, or where it is known from."""
        if self.version is None:
            return f"the {self.label} of {self.source}"
        return (
            f"{self.label} {self.version}" if any(self.version.release) else self.label
        )  # no version is told apart

    def row(self, name: str) -> EngineMetric | None:
        """The table's row for a metric in this version; where the version is unknown, in the newest it can be."""
        return self.table.at(name, self.version or self.bounds[1])

    @property
    def bounds(self) -> tuple[Version, Version]:
        """The oldest and the newest version that it can be."""
        if self.version is not None:
            return self.version, self.version
        return self.span or (self.table.first, self.table.newest)


def newest(name: str) -> Engine:
    """The newest known version of an engine, where nobody said which one is watched."""
    table = load_tables()[name]
    return Engine(f"{name}@{table.newest}", name, table.newest, prefix=table.prefix, assumed=True)


def exposed(families: Iterable[Family]) -> dict[str, Exposed]:
    """Series names of a page, with the values of their labels."""
    kinds: dict[str, str] = {}
    values: dict[str, dict[str, set[str]]] = {}
    everywhere: dict[str, set[str]] = {}
    for family in families:
        for sample in family.samples:
            kinds.setdefault(sample.name, family.type)
            own = values.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                own.setdefault(label, set()).add(value)
            everywhere.setdefault(sample.name, set(sample.labels)).intersection_update(sample.labels)
    return {
        name: Exposed(
            kinds[name], {label: frozenset(seen) for label, seen in own.items()}, frozenset(everywhere[name])
        )
        for name, own in values.items()
    }


def versions_of(table: EngineTable, page: Mapping[str, Exposed], prefix: str) -> tuple[Version, Version]:
    """The oldest and the newest version in which everything on a page is there.

    Args:
        table: of the engine.
        page: series by name.
        prefix: how the page spells its names.
    """
    there = {table.base(f"{table.prefix}{name.removeprefix(prefix)}") for name in page if name.startswith(prefix)}
    low, high = table.first, table.newest
    for name in there & set(table.rows):
        rows = table.rows[name]
        low = max(low, min(row.since or table.first for row in rows))
        high = min(high, max(row.until or table.newest for row in rows))
    return min(low, high), high
