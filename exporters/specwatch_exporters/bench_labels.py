"""Labels of the figures that vLLM's and SGLang's benchmark clients print, and the field each stands for.

Taken from vLLM 0.32 (`vllm bench serve`, and `benchmark_serving.py` before it) and SGLang 0.4 to 0.5
(`bench_serving`); fields are those of vLLM's JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

LIMIT: Final = "max_concurrency"
_FIELDS: Final = {
    "successful requests": "completed",
    "failed requests": "failed",
    "maximum request concurrency": LIMIT,
    "max request concurrency": LIMIT,
    "max reqeuest concurrency": LIMIT,  # as SGLang 0.4 spelled it
    "benchmark duration (s)": "duration",
    "total generated tokens": "total_output_tokens",
    "total generated tokens (retokenized)": "total_output_tokens_retokenized",
    "output token throughput (tok/s)": "output_throughput",
    "peak output token throughput (tok/s)": "max_output_tokens_per_s",
    "accept length": "accept_length",
    "acceptance length": "spec_decode_acceptance_length",
    "acceptance rate (%)": "spec_decode_acceptance_rate",
    "drafts": "spec_decode_num_drafts",
    "draft tokens": "spec_decode_draft_tokens",
    "accepted tokens": "spec_decode_accepted_tokens",
}
_TIME: Final = re.compile(r"(?P<which>mean|median|p50|p99) (?P<what>ttft|tpot|itl) \(ms\)")
_POSITION: Final = re.compile(r"(?:.* )?pos(?:ition)? (?P<index>\d{1,2})")
LABEL: Final = "|".join(
    (*map(re.escape, _FIELDS), r"(?:mean|median|p50|p99) (?:ttft|tpot|itl) \(ms\)", r"position \d{1,2}")
)
"""Any label as these clients print it, for a pattern that ignores case."""


def field_of(label: str) -> str | None:
    """The field that a label stands for; None if it is none of theirs."""
    plain = label.strip().lower()
    time = _TIME.fullmatch(plain)
    if time is not None:
        return f"{time['which']}_{time['what']}_ms"
    position = _POSITION.fullmatch(plain)
    if position is not None:
        return f"position {int(position['index'])}"
    return _FIELDS.get(plain)


def number_of(text: str) -> float | None:
    """A plain number, thousands set apart by commas or not; None for anything else."""
    plain = text.strip()
    return float(plain.replace(",", "")) if re.fullmatch(r"\d[\d,]*(?:\.\d+)?", plain) else None


def with_positions(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with the acceptance at each position, from percent, as vLLM's JSON lists it."""
    rates: list[float] = []
    while f"position {len(rates)}" in fields:
        rates.append(fields[f"position {len(rates)}"] / 100)
    return {**fields, "spec_decode_per_position_acceptance_rates": rates}
