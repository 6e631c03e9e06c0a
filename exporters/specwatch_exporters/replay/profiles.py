"""Step-time profiles: how long one engine step lasts, from measured throughput.

All numbers come from one run each on one H200 (vLLM 0.25.1, dummy weights, synthetic acceptance, closed
loop, 256 prompt and 192 output tokens). The arithmetic, for batch size b:

    tau       = 1 + sum of the synthetic acceptance per position     tokens per step and request
    gross(b)  = b * tau / tokens_per_second(b)                       seconds per step, prefill included
    share(b)  = b * 256 * tau / 192 * prefill_seconds_per_token      prefill in the average step
    step(b)   = gross(b) - share(b)

For example EAGLE-3 with K=3 at .76/.55/.38: tau = 2.69, so gross(1) = 2.69 / 108.9 = 24.7 ms. The share is
taken out because the scheduler adds prefill to the steps that hold a prompt; a closed loop of 256 + 192
tokens then gives the measured throughput back (a test holds this). Prefill per token is read off the
captured pages' TTFT and prefill histograms: 32 prompts of 256 tokens in about 0.8 s (70B) and 0.2 s (30B).
Between the measured batch sizes time is interpolated, beyond 32 it follows the slope from 8 to 32. With
another K than the profile's, the distance to the off profile is in proportion to K (inferred).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from specwatch_exporters.replay.chain import Rates

BATCHES = (1, 8, 32)
LAB_PROMPT_TOKENS = 256
LAB_OUTPUT_TOKENS = 192


@dataclass(frozen=True, slots=True)
class Measured:
    """One drafter on one shape.

    Attributes:
        acceptance: the run's synthetic acceptance per position; its length is K; empty when off.
        throughput: output tokens per second at batch 1, 8 and 32.
        kv_tokens: size of the KV cache in tokens, from the captured page.
    """

    acceptance: Rates
    throughput: tuple[float, float, float]
    kv_tokens: int

    @property
    def tau(self) -> float:
        """Tokens per step and request, bonus included."""
        return 1.0 + sum(self.acceptance)

    @property
    def depth(self) -> int:
        """Configured number of speculative tokens K; 0 when off."""
        return len(self.acceptance)

    def gross_step_seconds(self) -> tuple[float, ...]:
        """Average step at each measured batch size, prefill included."""
        return tuple(batch * self.tau / rate for batch, rate in zip(BATCHES, self.throughput, strict=True))

    def step_seconds(self, prefill_seconds_per_token: float) -> tuple[float, ...]:
        """Step at each measured batch size without its prefill share."""
        per_request = LAB_PROMPT_TOKENS * self.tau / LAB_OUTPUT_TOKENS * prefill_seconds_per_token
        return tuple(
            gross - batch * per_request for batch, gross in zip(BATCHES, self.gross_step_seconds(), strict=True)
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """A served model with everything that was measured on it.

    Attributes:
        model: default model name on the metrics page.
        prefill_seconds_per_token: time that one prompt token adds to a step.
        methods: `off` and every measured drafter.
    """

    name: str
    model: str
    prefill_seconds_per_token: float
    methods: Mapping[str, Measured]

    def step_seconds(self, method: str, batch: int, depth: int) -> float:
        """Time of one step without prefill.

        Args:
            method: a key of `methods`.
            batch: requests in the step, at least 1.
            depth: tokens drafted per request in this step.
        """
        off = self._at_batch("off", batch)
        full = self.methods[method].depth
        if full == 0 or depth == 0:
            return off
        return off + (self._at_batch(method, batch) - off) * depth / full

    def _at_batch(self, method: str, batch: int) -> float:
        times = self.methods[method].step_seconds(self.prefill_seconds_per_token)
        left = min(max(bisect_right(BATCHES, batch) - 1, 0), len(BATCHES) - 2)
        slope = (times[left + 1] - times[left]) / (BATCHES[left + 1] - BATCHES[left])
        return times[left] + (batch - BATCHES[left]) * slope


SHAPES: dict[str, Shape] = {
    "llama-70b-fp8": Shape(
        name="llama-70b-fp8",
        model="llama-3.3-70b",
        prefill_seconds_per_token=0.0001,
        methods={
            "off": Measured((), (47.9, 353.9, 1012.9), 191_328),
            "eagle3": Measured((0.76, 0.55, 0.38), (108.9, 566.4, 1687.9), 178_768),
            "peagle": Measured((0.76, 0.55, 0.38, 0.26, 0.18), (129.0, 685.4, 1554.6), 179_408),
            "ngram": Measured((0.45, 0.25, 0.15), (77.0, 414.3, 1274.6), 188_784),
        },
    ),
    "qwen3-coder-30b": Shape(
        name="qwen3-coder-30b",
        model="qwen3-coder-30b-a3b",
        prefill_seconds_per_token=0.000025,
        methods={
            "off": Measured((), (219.8, 611.2, 1881.9), 768_784),
            "eagle3": Measured((0.76, 0.55, 0.38), (377.9, 981.3, 3148.0), 741_728),
        },
    ),
}
"""Shapes by name, in the order in which they are listed to a user."""
