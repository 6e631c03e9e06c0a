"""What `trtllm-bench throughput` prints at its end (TensorRT-LLM 0.17 to 1.2), by label."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_bench.imported.trtllm_bench_results import read_trtllm_bench

_OVERVIEW: Final = "PERFORMANCE OVERVIEW"
_DETAILS: Final = "REQUEST DETAILS"
_LINE: Final = re.compile(
    r"^[\s>|*-]*(?P<label>[A-Za-z\[][^:|]*?)\s*:[\s|]*(?P<value>\d+(?:\.\d+)?(?:E\+?\d+)?)[\s|]*$", re.IGNORECASE
)
_KINDS: Final = {"TTFT": "ttft", "TPOT": "tpot", "LATENCY": "latency", "AL": "length"}
_PLAIN: Final = {
    "number of requests": ("request_info", "num_requests"),
    "average input length (tokens)": ("request_info", "avg_input_length"),
    "average output length (tokens)": ("request_info", "avg_output_length"),
    "total output throughput (tokens/sec)": ("performance", "system_output_throughput_tok_s"),
    "total latency (ms)": ("performance", "total_latency_ms"),
}
_MEANS: Final = {
    "average time-to-first-token [ttft] (ms)": "ttft",
    "average time-per-output-token [tpot] (ms)": "tpot",
    "average request latency (ms)": "latency",
}


def read_trtllm_bench_text(text: str) -> list[ImportedRun]:
    """One run for each block with an overview; none in other texts."""
    return [read_trtllm_bench(body) for body in map(_body, _blocks(text)) if body["performance"]]


def _blocks(text: str) -> Iterator[str]:
    """From each overview to the next one's request details, which stand before it."""
    if _OVERVIEW not in text:
        return
    first, *rest = text.split(_OVERVIEW)
    before = first.rpartition(_DETAILS)[2] if _DETAILS in first else ""
    for part in rest:
        yield before + part.rpartition(_DETAILS)[0] if _DETAILS in part else before + part
        before = part.rpartition(_DETAILS)[2] if _DETAILS in part else ""


def _body(block: str) -> Mapping[str, Any]:
    """A block in the form of the tool's JSON report."""
    parts: dict[str, dict[str, Any]] = {"request_info": {}, "performance": {}}
    times: dict[str, dict[str, float]] = {kind: {} for kind in _KINDS.values()}
    for found in map(_LINE.match, block.splitlines()):
        if found is None:
            continue
        label, value = found["label"].lower(), float(found["value"])
        own = re.fullmatch(r"\[(?P<kind>\w+)\] (?P<which>average|p50|p99)", label)
        if own is not None and own["kind"].upper() in _KINDS:
            times[_KINDS[own["kind"].upper()]][own["which"]] = value
        elif label in _MEANS:
            times[_MEANS[label]].setdefault("average", value)
        elif label in _PLAIN:
            part, name = _PLAIN[label]
            parts[part][name] = int(value) if name == "num_requests" else value
    parts["performance"] |= {"request_latency_percentiles_ms": times["latency"]} if times["latency"] else {}
    return {
        **parts,
        "streaming_metrics": {"ttft_percentiles": times["ttft"], "tpot_percentiles": times["tpot"]},
        "decoding_stats": {"acceptance_length_percentiles": times["length"]},
    }
