"""Bytes of a model's weights, by how they are kept.

| name | which weights | bits a weight |
|---|---|---|
| `bf16` | all | 16 |
| `fp8` | linear layers; embedding, output head, routers and norms stay bf16 | 8 |
| `awq` | the same | 4, and per group a scale of 16 and a zero of 4 |
| `mxfp4` | experts alone | 4, and a scale of 8 per 32 |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.capacity_shape import Shape

_BF16: Final = 2.0


def _bf16(shape: Shape) -> float:
    return _BF16 * shape.parameters


def _fp8(shape: Shape) -> float:
    return 1.0 * (shape.attention + shape.feed_forward) + _BF16 * (shape.rest + shape.embeddings)


def _awq(shape: Shape) -> float:
    each = 0.5 + (2.0 + 0.5) / shape.group
    return each * (shape.attention + shape.feed_forward) + _BF16 * (shape.rest + shape.embeddings)


def _mxfp4(shape: Shape) -> float:
    if not shape.experts:
        raise BenchError(f"{shape.name}: mxfp4 is kept for experts, and this model has none")
    each = 0.5 + 1.0 / 32
    return each * shape.feed_forward + _BF16 * (shape.attention + shape.rest + shape.embeddings)


WEIGHTS: Final[Mapping[str, Callable[[Shape], float]]] = {"awq": _awq, "bf16": _bf16, "fp8": _fp8, "mxfp4": _mxfp4}


def quantisation_of(shape: Shape, asked: str | None) -> str:
    """The quantisation that counts: the one asked for, else the configuration's own, else bf16.

    Raises:
        BenchError: an unknown one, or another one than the weights of the configuration have.
    """
    own = shape.quantisation
    chosen = asked or own or "bf16"
    if chosen not in WEIGHTS:
        raise BenchError(f"{shape.name}: the quantisation {chosen!r} is not known; there are {', '.join(WEIGHTS)}")
    if own and chosen != own:
        raise BenchError(f"{shape.name}: its weights are {own}; they cannot be loaded as {chosen}")
    return chosen


def weight_bytes(shape: Shape, quantisation: str) -> float:
    """Bytes of all weights.

    Raises:
        BenchError: the model has no weights of the kind that is quantised.
    """
    return WEIGHTS[quantisation](shape)
