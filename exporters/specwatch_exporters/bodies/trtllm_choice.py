"""What TensorRT-LLM says of speculation in each choice of an OpenAI answer.

- `avg_decoded_tokens_per_iter` (1.0 and newer, `serve/openai_protocol.py`): tokens per decode iteration, with or
  without a draft; 1 where nothing is drafted, so 1 tells nothing.
- `speculative_decoding`: counts, under its own names and vLLM's (NVIDIA/TensorRT-LLM#19311, open in 2026-09).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bodies.fields import count, counts, items, mapping, number
from specwatch_exporters.bodies.speculation import MAX_DEPTH, Claims, Speculation, check, combine

COUNTED: Final = "trtllm-request"
PER_ITERATION: Final = "trtllm-decoded-per-iteration"


def read(body: Mapping[str, Any]) -> Speculation | None:
    """The choices' counts, added; else the tokens per iteration of an answer with one choice; else None."""
    choices = items(body.get("choices"))
    records = (mapping(choice.get("speculative_decoding")) for choice in choices)
    parts = [part for part in map(_counted, records) if part is not None]
    if parts:
        return combine(parts)
    length = number(choices[0].get("avg_decoded_tokens_per_iter")) if len(choices) == 1 else None
    return Speculation(Tally(), PER_ITERATION, length=length) if length is not None and length > 1.0 else None


def _counted(record: Mapping[str, Any]) -> Speculation | None:
    drafted = count(record.get("total_draft_tokens"))
    if not drafted:
        return None
    depth = count(record.get("num_spec_tokens"))
    claims = Claims(
        drafts=count(record.get("num_spec_steps")),
        draft_tokens=drafted,
        accepted=count(record.get("total_accepted_draft_tokens")),
        depth=depth if depth and depth <= MAX_DEPTH else None,
        histogram=counts(record.get("acceptance_histogram")),
    )
    tally, notices = check(claims)
    return Speculation(tally, COUNTED, claims.histogram, speculative_tokens=claims.depth, notices=notices)
