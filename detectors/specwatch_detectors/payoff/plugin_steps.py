"""What the vLLM plugin's series say of an interval's engine steps: batch sizes, and times by batch bucket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specwatch_exporters.counts import Counts
from specwatch_exporters.request_catalog import INTER_CHUNK
from specwatch_exporters.request_labels import BATCH_LABELS
from specwatch_exporters.step_catalog import STEP_BATCH


@dataclass(frozen=True, slots=True)
class PluginSteps:
    """Increases of one interval.

    Attributes:
        sizes: steps by upper edge of the batch size, not cumulative; `inf` for the last.
        batch_total: sum of the batch sizes, or None.
        gaps: samples and seconds between outputs of a request, by batch bucket; empty where the page has none.
    """

    sizes: Mapping[float, float]
    batch_total: float | None
    gaps: Mapping[str, tuple[float, float]]


def plugin_steps(counts: Counts) -> PluginSteps | None:
    """Read them; None where the page has no such series, or no step was made."""
    cumulative = sorted(counts.buckets(STEP_BATCH.name).items())
    sizes: dict[float, float] = {}
    before = 0.0
    for edge, upto in cumulative:
        sizes[edge] = max(0.0, upto - before)
        before = upto
    if before <= 0.0:
        return None
    samples = counts.by_extra(f"{INTER_CHUNK.name}_count")
    seconds = counts.by_extra(f"{INTER_CHUNK.name}_sum")
    gaps = {
        label: (samples[label], seconds[label])
        for label in BATCH_LABELS
        if samples.get(label, 0.0) > 0.0 and label in seconds
    }
    return PluginSteps(sizes, counts.histogram_sum(STEP_BATCH.name), gaps)
