"""The matrix of the experiment: one engine for each level of noise, all with the same draft and prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from specwatch_bench.moe.moe_shape import MoeShape
from specwatch_bench.moe.noise_models import target_name

LABELS: Final = ("random weights", "the draft is the target without noise")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePlan:
    """What is asked for.

    Attributes:
        shape: of target and draft.
        levels: standard deviation of the noise over that of a token's router logits.
        tokens: draft tokens a step (K).
        concurrency: requests in flight.
        seconds: of each measurement.
        repeats: measurements at each level, each with prompts of its own; the interval is between them.
        temperature: of the requests; 0 compares the most likely tokens.
        arguments: more of vLLM's.
    """

    shape: MoeShape
    levels: tuple[float, ...]
    tokens: int = 3
    concurrency: int = 8
    seconds: float = 5.0
    repeats: int = 5
    temperature: float = 0.0
    arguments: tuple[str, ...] = ()


def matrix_body(plan: NoisePlan) -> dict[str, Any]:
    """The matrix file's content; `{models}` is where the models lie."""
    return {
        "name": "moe-noise",
        "target": f"Qwen3-MoE {plan.shape.name} shape, random weights, noise at the router",
        "labels": list(LABELS),
        "engine": "vllm",
        "served_name": "moe",
        "arguments": ["--enforce-eager", "--max-model-len", 2048, "--no-enable-prefix-caching", *plan.arguments],
        "environment": {"HF_HUB_OFFLINE": 1},
        "start_seconds": 600,
        "body": {"temperature": plan.temperature},
        "engines": _engines(plan.levels, plan.tokens),
        "datasets": [
            {
                "name": "random",
                "class": "random",
                "vocab": plan.shape.vocab,
                "prompt": {"median": 64, "sigma": 0.3, "most": 128},
                "output": {"median": 96, "sigma": 0.3, "most": 192},
            }
        ],
        "levels": [
            {
                "concurrency": plan.concurrency,
                "seconds": plan.seconds,
                "warmup": 1,
                "drain": 60,
                "repeats": plan.repeats,
            }
        ],
    }


def _engines(levels: Sequence[float], tokens: int) -> list[dict[str, Any]]:
    draft = {"method": "draft_model", "model": "{models}/draft", "num_speculative_tokens": tokens}
    return [
        {"name": target_name(level), "model": f"{{models}}/{target_name(level)}", "speculative": draft}
        for level in levels
    ]
