"""vLLM's per-request record: `metrics.speculative_decoding`, and the form of an early build.

Source: vLLM 0.29 to 0.33, `vllm/entrypoints/generate/base/protocol.py` (`SpeculativeDecodingMetrics`); the early
form sat on the choice as `speculative_decoding_stats`, with a histogram by name and rounded ratios. Ratios are
recomputed from counts, never taken over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from specwatch_exporters.bodies.fields import count, counts, items, mapping
from specwatch_exporters.bodies.speculation import MAX_DEPTH, Claims, Speculation, check, combine

DEFINITION = "vllm-v1-request"
_INDEX = re.compile(r"[0-9]{1,4}")
_MARKERS = frozenset({"num_spec_steps", "num_accepted_draft_tokens", "num_draft_tokens", "acceptance_histogram"})


def find(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The record inside a response or a `metrics` object, or the record itself; early builds: one per choice."""
    metrics = mapping(body.get("metrics"))
    spots = (body, mapping(body.get("speculative_decoding")), mapping(metrics.get("speculative_decoding")))
    present = [spot for spot in spots if not _MARKERS.isdisjoint(spot)][:1]
    early = (mapping(choice.get("speculative_decoding_stats")) for choice in items(body.get("choices")))
    return present or [spot for spot in early if not _MARKERS.isdisjoint(spot)]


def read(records: Sequence[Mapping[str, Any]]) -> Speculation:
    """Read what `find` returned; several records are added."""
    return combine([_read(record) for record in records])


def _read(record: Mapping[str, Any]) -> Speculation:
    depth = count(record.get("num_spec_tokens"))
    claims = Claims(
        drafts=count(record.get("num_spec_steps")),
        draft_tokens=count(record.get("num_draft_tokens")),
        accepted=count(record.get("num_accepted_draft_tokens")),
        depth=depth if depth is None or 0 < depth <= MAX_DEPTH else None,
        histogram=_histogram(record.get("acceptance_histogram"), depth),
        per_step_accepted=counts(record.get("per_step_accepted")),
        per_step_drafted=counts(record.get("per_step_drafted")),
    )
    tally, notices = check(claims)
    return Speculation(
        tally,
        DEFINITION,
        claims.histogram,
        claims.per_step_accepted,
        claims.per_step_drafted,
        claims.depth,
        notices=notices,
    )


def _histogram(value: object, depth: int | None) -> tuple[int, ...]:
    """Index j = steps that accepted j tokens, from a list or from an object with numbers as names."""
    if not isinstance(value, dict):
        return counts(value)
    named = {int(key): count(steps) for key, steps in value.items() if _INDEX.fullmatch(str(key))}
    longest = max(depth or 0, *named, 0)
    if len(named) != len(value) or None in named.values() or longest > MAX_DEPTH:
        return ()
    return tuple(named.get(index) or 0 for index in range(longest + 1))
