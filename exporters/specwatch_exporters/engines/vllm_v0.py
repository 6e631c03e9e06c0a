"""vLLM V0 (0.6, 0.7, and V0 mode up to 0.9.2).

Source: `vllm/engine/metrics.py` and `vllm/spec_decode/metrics.py` of 0.7.3.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from specwatch_exporters import catalog
from specwatch_exporters.engines import vllm_v1
from specwatch_exporters.engines.intake import Intake, strip_prefixes
from specwatch_exporters.exposition import Exposition
from specwatch_exporters.notices import Notice
from specwatch_exporters.page import Declared, Page

DEFINITION = "vllm-v0-any-position"
EMITTED = "emitted_tokens"
_SPECULATIVE = "spec_decode_"

DIALECT = replace(
    vllm_v1.DIALECT,
    own_counters={**vllm_v1.DIALECT.own_counters, "spec_decode_num_emitted_tokens": EMITTED},
    facts={
        **vllm_v1.DIALECT.facts,
        "spec_decode_efficiency": "efficiency",
        "spec_decode_draft_acceptance_rate": "reported_acceptance_rate",
    },
    legacy=frozenset(),
)
TARGETS = DIALECT.targets()
# Series that V1 never had.
MARKERS = frozenset(
    {
        "cpu_cache_usage_perc",
        "cpu_prefix_cache_hit_rate",
        "gpu_prefix_cache_hit_rate",
        "num_requests_swapped",
        "spec_decode_draft_acceptance_rate",
        "spec_decode_efficiency",
        "spec_decode_num_emitted_tokens",
        "spec_decode_num_emitted_tokens_total",
        "time_in_queue_requests",
        "tokens_total",
    }
)


class VllmV0Reader:
    """Reads vLLM V0 pages."""

    engine = "vllm-v0"

    def recognises(self, names: AbstractSet[str]) -> bool:
        """True if a V0-only series is on the page."""
        return not MARKERS.isdisjoint(strip_prefixes(names, vllm_v1.PREFIXES).values())

    def read(self, exposition: Exposition, names: AbstractSet[str]) -> Page:
        """Read the page; V0 counts no drafts and no positions, so lengths are unknown."""
        stripped = strip_prefixes(names, vllm_v1.PREFIXES)
        raw = frozenset(stripped.values())
        page = Page("vllm", "v0-ray" if any(n.startswith("ray_") for n in names) else "v0", DEFINITION)
        Intake(page, DIALECT, TARGETS).take(exposition.families, stripped)
        page.starts = vllm_v1.process_starts(exposition, DIALECT)
        vllm_v1.settle_hit_rate(page)
        speculative = any(name.startswith(_SPECULATIVE) for name in raw)
        whole = "num_requests_swapped" in raw
        for model in page.models():
            absent = Declared.OFF if whole else Declared.UNKNOWN
            page.declared[model] = Declared.CONFIGURED if speculative else absent
            if speculative:
                page.speculative.add(model)
                _explain(page, model)
        return page


def _explain(page: Page, model: str) -> None:
    """Say what V0's counts mean, with the prefix-limited figures where they follow exactly.

    efficiency = emitted / (drafts * (K+1)) and draft tokens = drafts * K, both since start, give
    drafts = emitted / efficiency - draft tokens; emitted = kept + drafts gives the kept tokens.
    """
    page.note(
        "v0_definition", "vLLM V0 counts accepted tokens even behind a rejection: its rate is an upper bound."
    )
    counts = {series.metric: value for series, value in page.counters.items() if series.model == model}
    drafted, emitted = counts.get(catalog.DRAFT_TOKENS.name), counts.get(EMITTED)
    efficiency = page.facts.get(model, {}).get("efficiency")
    if not drafted or not emitted or not efficiency or not 0.0 < efficiency <= 1.0:
        return
    drafts = emitted / efficiency - drafted
    depth = drafted / drafts if drafts > 0 else 0.0
    if depth >= 1 and abs(depth - round(depth)) < 0.01 and emitted >= drafts:
        kept = emitted - drafts
        text = (
            f"Since its start, from emitted tokens and efficiency: K={round(depth)}, kept {kept:.0f} of "
            f"{drafted:.0f} ({kept / drafted:.1%}), mean acceptance length {emitted / drafts:.3f}."
        )
        page.lifetime_notices.append(Notice("v0_definition", text))
