"""What fits on a GPU beside the weights, and how much of it is left.

    KV cache = utilisation * memory - weights - draft - context - graphs - activations [- speculation]

Memory is what CUDA shows, less than the name on the card. Activations are those of the largest prefill: tokens of a
step times 2 bytes times (4 hidden + 2 inner) for a dense model, and times (4 hidden + active experts times (2 inner
+ hidden)) for experts. Context, graphs, speculation and the memory of the H200 are four constants, fitted to 13 of
the starts in `capacity_seen.toml` (vLLM 0.25.1, one H200). Tests hold the error against all 15: weights 0.4 % too
low at most, 1.0 % for MXFP4, whose kernels pad the experts, 2.3 % for AWQ; bytes per token 0.2 %; tokens in the KV
cache 1.2 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.capacity_shape import Shape
from specwatch_bench.capacity_weights import quantisation_of, weight_bytes

GIB: Final = 2.0**30
BLOCK: Final = 16
"""Tokens of a KV block."""
_CONTEXT_GIB: Final = 0.6
_GRAPHS_GIB: Final = 0.4
_SPECULATION_GIB: Final = 0.6


@dataclass(frozen=True, slots=True)
class Card:
    """A kind of GPU.

    Attributes:
        name: for people.
        gib: memory that CUDA shows.
        source: who saw it.
    """

    name: str
    gib: float
    source: str


CARDS: Final = (
    Card("H100 80 GB", 79.11, "vllm-project/vllm, thread 27508"),
    Card("H200 141 GB", 139.80, "the start-ups in capacity_seen.toml: they fit 139.80 within 0.1"),
    Card("B200 180 GB", 178.35, "pytorch/ao, pull request 4002"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a replica is to hold.

    Attributes:
        quantisation: see `WEIGHTS`; None for what the configuration says.
        kv_bytes: bytes of a number in the KV cache: 2 for bf16, 1 for fp8.
        draft: an EAGLE-3 head beside it; its weights stay bf16.
        own_head: the draft brings an output head for its own words; with dummy weights vLLM shares the target's.
        speculative: whether it speculates, with a head or without.
        gpus: that share the weights (tensor parallel).
        utilisation: share of the memory that the engine may take.
        batched_tokens: most tokens of one step.
        graphs: whether CUDA graphs are captured.
        context: tokens of one request.
        concurrency: requests that are to run at once.
    """

    quantisation: str | None = None
    kv_bytes: float = 2.0
    draft: Shape | None = None
    own_head: bool = True
    speculative: bool = False
    gpus: int = 1
    utilisation: float = 0.92
    batched_tokens: int = 8192
    graphs: bool = True
    context: int = 4096
    concurrency: int = 32


@dataclass(frozen=True, slots=True)
class Plan:
    """Memory of one GPU of a replica, in GiB, and what fits.

    Attributes:
        card: the GPU.
        quantisation: of the weights.
        weights: of the target.
        draft: of the draft.
        overhead: context, graphs, activations, and what speculation adds.
        kv: left for the KV cache; negative when it does not fit.
        kv_token_bytes: of one token, on this GPU.
        tokens: that the replica's KV cache holds.
        context: tokens of one request.
        needed: tokens that were asked for.
    """

    card: Card
    quantisation: str
    weights: float
    draft: float
    overhead: float
    kv: float
    kv_token_bytes: float
    tokens: int
    context: int
    needed: int

    @property
    def requests(self) -> float:
        """Requests of full length that run at once."""
        return self.tokens / self.context

    @property
    def headroom(self) -> float | None:
        """Tokens that are there over those needed, less one; None when it does not fit."""
        return None if self.kv <= 0 else self.tokens / self.needed - 1.0


def plan(shape: Shape, card: Card, wish: Wish) -> Plan:
    """Work out one kind of GPU.

    Raises:
        BenchError: a wish that makes no sense for this model.
    """
    _check(shape, wish)
    kind = quantisation_of(shape, wish.quantisation)
    weights = weight_bytes(shape, kind) / wish.gpus / GIB
    draft = 0.0 if wish.draft is None else _draft_bytes(wish.draft, wish) / wish.gpus / GIB
    overhead = overhead_gib(shape, wish)
    kv = wish.utilisation * card.gib - weights - draft - overhead
    each = kv_token_bytes(shape, wish)
    tokens = max(0, math.floor(kv * GIB / each / BLOCK) * BLOCK)
    needed = wish.context * wish.concurrency
    return Plan(card, kind, weights, draft, overhead, kv, each, tokens, wish.context, needed)


def _draft_bytes(draft: Shape, wish: Wish) -> float:
    return weight_bytes(draft if wish.own_head else replace(draft, draft_vocab=0), "bf16")


def overhead_gib(shape: Shape, wish: Wish) -> float:
    """Context, graphs, the activations of the largest prefill, and what speculation adds."""
    inner = shape.active_experts * (2 * shape.expert_inner + shape.hidden) if shape.experts else 2 * shape.inner
    activations = 2.0 * wish.batched_tokens * (4 * shape.hidden + inner / wish.gpus) / GIB
    speculates = wish.speculative or wish.draft is not None
    graphs = _GRAPHS_GIB if wish.graphs else 0.0
    return _CONTEXT_GIB + graphs + activations + (_SPECULATION_GIB if speculates else 0.0)


def kv_token_bytes(shape: Shape, wish: Wish) -> float:
    """Bytes that one token leaves on one GPU.

    vLLM (0.25) keeps layers with a sliding window and those without in two groups of one size, so the smaller one
    is filled up; up to the longest prompt of one step, a window saves nothing.
    """
    layers = shape.layers + (0 if wish.draft is None else wish.draft.layers)
    windows = shape.window_layers
    counted = 2 * max(windows, layers - windows) if 0 < windows < layers else layers
    share = max(1.0, shape.kv_heads / wish.gpus) / shape.kv_heads
    return counted * shape.kv_layer_bytes(wish.kv_bytes) * share


def _check(shape: Shape, wish: Wish) -> None:
    if shape.draft:
        raise BenchError(f"{shape.name} is a draft; give the target, and the draft with --draft")
    if wish.draft is not None and not wish.draft.draft:
        raise BenchError(f"{wish.draft.name} is no EAGLE-3 head")
    if shape.heads % wish.gpus:
        raise BenchError(f"{shape.name}: its {shape.heads} attention heads cannot be shared by {wish.gpus} GPUs")
    if not 0 < wish.utilisation <= 1:
        raise BenchError(f"utilisation is a share above 0 and up to 1, not {wish.utilisation:g}")
