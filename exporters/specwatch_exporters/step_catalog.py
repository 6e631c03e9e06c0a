"""The catalogue's rows that only the vLLM plugin fills: what it sees of engine steps, and its own failures."""

from __future__ import annotations

from typing import Final

from specwatch_exporters.metric import Kind, Metric, Source

# Powers of two, as the batch buckets of the request metrics, and on to vLLM's larger default limits.
STEP_BATCH: Final = Metric(
    "specwatch_step_batch_requests",
    Kind.HISTOGRAM,
    ("model", "engine"),
    "Requests in the running batch of an engine step: those left after it plus those that finished in it. One "
    "sample per step with a batch, so the count is the number of steps and sum / count the mean batch.",
    Source.PLUGIN,
    (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
)
PLUGIN_ERRORS: Final = Metric(
    "specwatch_plugin_errors_total",
    Kind.COUNTER,
    ("part",),
    "Errors inside the vLLM plugin, swallowed so that the engine never sees them, by part: batch, "
    "speculation, latency, requests, outcome, publish, timer.",
    Source.PLUGIN,
)

STEP_CATALOG: Final[tuple[Metric, ...]] = (STEP_BATCH, PLUGIN_ERRORS)
