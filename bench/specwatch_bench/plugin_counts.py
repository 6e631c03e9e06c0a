"""What specwatch's plugin inside vLLM counted during a cell, from the engine's page before and after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from prometheus_client.parser import text_string_to_metric_families

from specwatch_exporters.histogram import summarise
from specwatch_exporters.report import Latency
from specwatch_exporters.request_catalog import ACCEPTANCE_LENGTH, INTER_CHUNK, INTER_TOKEN
from specwatch_exporters.request_labels import BATCH_LABELS
from specwatch_exporters.step_catalog import STEP_BATCH

Increases: TypeAlias = Mapping[tuple[str, str, str], float]
"""By name of the sample, batch and upper edge, the last two empty where a sample has none."""

_BY_BATCH: Final = (ACCEPTANCE_LENGTH, INTER_TOKEN, INTER_CHUNK)
_PREFIXES: Final = (*(metric.name for metric in (*_BY_BATCH, STEP_BATCH)), "# TYPE specwatch_")


@dataclass(frozen=True, slots=True)
class BatchRow:
    """Steps of one batch bucket.

    Attributes:
        batch: its upper edge, as the label says.
        steps: engine steps.
        drafts: draft steps of requests.
        length: tokens per draft step; None without any.
        token: time per token, seconds.
        chunk: time between chunks, seconds.
    """

    batch: str
    steps: float
    drafts: float
    length: float | None
    token: Latency
    chunk: Latency


def plugin_increases(before: str | None, after: str | None) -> Increases | None:
    """What the plugin's histograms gained; None where a page is missing or the plugin was not loaded."""
    if before is None or after is None or STEP_BATCH.name not in after:
        return None
    was = _samples(before)
    return {key: value - was.get(key, 0.0) for key, value in _samples(after).items()}


def _samples(page: str) -> dict[tuple[str, str, str], float]:
    lines = [line for line in page.splitlines() if line.startswith(_PREFIXES)]
    counted: dict[tuple[str, str, str], float] = defaultdict(float)
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                counted[sample.name, sample.labels.get("batch", ""), sample.labels.get("le", "")] += sample.value
    return counted


def batch_rows(found: Iterable[Increases]) -> Iterator[BatchRow]:
    """A row for each batch bucket with steps, over all cells."""
    whole: dict[tuple[str, str, str], float] = defaultdict(float)
    for one in found:
        for key, value in one.items():
            whole[key] += value
    below = 0.0
    for label in BATCH_LABELS:
        edge = "+Inf" if label == "+" else f"{float(label)}"
        reached = whole[f"{STEP_BATCH.name}_bucket", "", edge]
        drafts, tokens = (whole[f"{ACCEPTANCE_LENGTH.name}_{part}", label, ""] for part in ("count", "sum"))
        row = BatchRow(
            batch=label,
            steps=reached - below,
            drafts=drafts,
            length=tokens / drafts if drafts else None,
            token=_latency(whole, INTER_TOKEN.name, label),
            chunk=_latency(whole, INTER_CHUNK.name, label),
        )
        below = reached
        if row.steps or row.chunk.count:
            yield row


def _latency(whole: Mapping[tuple[str, str, str], float], name: str, batch: str) -> Latency:
    buckets = {
        float(edge): count for (sample, label, edge), count in whole.items()
        if sample == f"{name}_bucket" and label == batch
    }  # fmt: skip
    total, count = (whole.get((f"{name}_{part}", batch, ""), 0.0) for part in ("sum", "count"))
    return summarise(buckets, total, count)
