"""NVIDIA Dynamo's frontend: it has no engine series; they are on the workers' system port.

Source: ai-dynamo 1.6.1. A worker's page carries the engine's own series and is read by the engine's reader.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from specwatch_exporters import catalog
from specwatch_exporters.engines.intake import Dialect, Intake, strip_prefixes
from specwatch_exporters.exposition import Exposition
from specwatch_exporters.page import Declared, Page

PREFIXES = ("dynamo_frontend_",)

DIALECT = Dialect(
    counters={
        "requests": (catalog.REQUESTS, "status"),
        "output_tokens": (catalog.GENERATION_TOKENS, ""),
    },
    gauges={
        "queued_requests": (catalog.WAITING, ""),
        "inflight_requests": (catalog.RUNNING, ""),
    },
    histograms={
        "time_to_first_token_seconds": catalog.TTFT,
        "request_duration_seconds": catalog.E2E,
    },
    facts={
        "model_context_length": "context_length",
        "model_kv_cache_block_size": "kv_cache_block_size",
        "model_max_num_batched_tokens": "max_num_batched_tokens",
        "model_max_num_seqs": "max_num_seqs",
    },
    model_labels=("model",),
    own_labels=frozenset({"endpoint", "request_type"}),
)
TARGETS = DIALECT.targets()


class DynamoFrontendReader:
    """Reads the little that a Dynamo frontend says and points to the workers."""

    engine = "dynamo-frontend"

    def recognises(self, names: AbstractSet[str]) -> bool:
        """True if the frontend's series are there (engine readers are asked first)."""
        return any(name.startswith("dynamo_") for name in names)

    def read(self, exposition: Exposition, names: AbstractSet[str]) -> Page:
        """Read the page; speculation is unknown here."""
        page = Page(self.engine, "frontend", "none")
        Intake(page, DIALECT, TARGETS).take(exposition.families, strip_prefixes(names, PREFIXES))
        for model in page.models():
            page.declared[model] = Declared.UNKNOWN
        page.note(
            "frontend_only",
            "This is Dynamo's frontend: it has no acceptance. Scrape the worker's system port (DYN_SYSTEM_PORT).",
        )
        return page
