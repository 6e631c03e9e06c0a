"""Makes the shipped profiles of one H200 from the replay engine's table.

Run as `python -m specwatch_detectors.payoff.lab_profile`.

The table holds throughput of a closed loop with dummy weights and synthetic acceptance, one run each. A step takes
batch * tau / throughput, and the prefill share comes out (see the replay engine's `profiles`). The profile's error
is the part of it that is known: tau of a run was set, but the run drew a finite number of drafts, so the tau that
its throughput stands for has the standard error sqrt(v / N). How far another run would differ is not known.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, Final

from specwatch_detectors import chain
from specwatch_exporters.replay.profiles import (
    BATCHES,
    LAB_OUTPUT_TOKENS,
    LAB_PROMPT_TOKENS,
    SHAPES,
    Measured,
    Shape,
)

FOLDER: Final = Path(__file__).parent / "profiles"
LABEL: Final = "dummy weights, synthetic acceptance, one run"
# The load: 4 requests at batch 1, three per slot at 8 and 32.
REQUESTS: Final = (4, 24, 96)
TARGETS: Final = {
    "llama-70b-fp8": "Llama 3.3 70B shape, FP8",
    "qwen3-coder-30b": "Qwen3-Coder-30B-A3B shape, bf16",
}


def lab_profile(shape: Shape) -> dict[str, Any]:
    """One shape's profile as JSON.

    Returns:
        What `profile_file.profile_from_json` reads; seconds rounded to the microsecond.
    """
    prefill = shape.prefill_seconds_per_token
    return {
        "format": 1,
        "name": f"{shape.name}-h200",
        "label": LABEL,
        "target": TARGETS[shape.name],
        "hardware": "one H200",
        "gpus": 1,
        "engine": "vLLM 0.25.1",
        "source": "closed loop of 256 prompt and 192 output tokens; the table behind the replay engine",
        "context_tokens": LAB_PROMPT_TOKENS + LAB_OUTPUT_TOKENS / 2,
        "prefill_seconds_per_token": prefill,
        "prompt_per_output": round(LAB_PROMPT_TOKENS / LAB_OUTPUT_TOKENS, 6),
        "batches": list(BATCHES),
        "plain_seconds": _rounded(shape.methods["off"].step_seconds(prefill)),
        "methods": {
            name: [_run(measured, prefill)] for name, measured in sorted(shape.methods.items()) if measured.depth
        },
    }


def _run(measured: Measured, prefill: float) -> dict[str, Any]:
    return {
        "depth": measured.depth,
        "acceptance": list(measured.acceptance),
        "seconds": _rounded(measured.step_seconds(prefill)),
        "relative_error": [round(_drawing_error(measured, requests), 4) for requests in REQUESTS],
    }


def _drawing_error(measured: Measured, requests: int) -> float:
    drafts = requests * LAB_OUTPUT_TOKENS / measured.tau
    variance = chain.variance(chain.conditional(measured.acceptance))
    return math.sqrt(variance / drafts) / measured.tau


def _rounded(values: tuple[float, ...]) -> list[float]:
    return [round(value, 6) for value in values]


def main() -> None:
    """Write one file per shape into the package."""
    for shape in SHAPES.values():
        body = lab_profile(shape)
        path = FOLDER / f"{body['name']}.json"
        path.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
        sys.stdout.write(f"{path.name}\n")


if __name__ == "__main__":
    main()
