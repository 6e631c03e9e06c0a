"""A model's shape from its `config.json`: parameters by kind, and what a token leaves in the KV cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specwatch_bench.bench_error import BenchError

_INSTALLED: Final = Path(__file__).parent / "shapes"
_CHECKOUT: Final = Path(__file__).parents[1] / "matrices" / "shapes"


@dataclass(frozen=True, slots=True)
class Shape:
    """What the arithmetic needs of a configuration.

    Attributes:
        name: of the shape.
        layers: decoder layers.
        window_layers: those of them whose attention has a sliding window.
        experts: per layer; 0 for a dense model.
        active_experts: that a token visits.
        expert_inner: inner width of one expert.
        draft: it is an EAGLE-3 head: one layer that reads the token's embedding beside a mix of three hidden states
            of the target.
        draft_vocab: words that a draft can say; 0 where it says those of its target.
        quantisation: what the configuration itself says (`awq`, `mxfp4`, `fp8`), or empty.
        group: weights per scale of a quantised tensor.
    """

    name: str
    hidden: int
    inner: int
    layers: int
    window_layers: int
    heads: int
    kv_heads: int
    head_width: int
    vocab: int
    tied: bool
    biased: bool
    experts: int = 0
    active_experts: int = 0
    expert_inner: int = 0
    draft: bool = False
    draft_vocab: int = 0
    quantisation: str = ""
    group: int = 128

    @property
    def attention(self) -> int:
        """Parameters of the attention of all layers."""
        width = 2 * self.hidden if self.draft else self.hidden
        into = width * (self.heads + 2 * self.kv_heads) * self.head_width
        biases = (self.heads + 2 * self.kv_heads) * self.head_width + self.hidden if self.biased else 0
        return self.layers * (into + self.heads * self.head_width * self.hidden + biases)

    @property
    def feed_forward(self) -> int:
        """Parameters of the feed-forward parts: gate, up and down, of all experts."""
        if not self.experts:
            return self.layers * 3 * self.hidden * self.inner
        biases = 2 * self.expert_inner + self.hidden if self.biased else 0
        return self.layers * self.experts * (3 * self.hidden * self.expert_inner + biases)

    @property
    def rest(self) -> int:
        """Parameters that no quantisation touches: routers, norms, and a draft's projection of hidden states."""
        router = self.experts * (self.hidden + (1 if self.biased else 0))
        norms = (2 * self.layers + 1) * self.hidden
        return self.layers * router + norms + (3 * self.hidden * self.hidden if self.draft else 0)

    @property
    def embeddings(self) -> int:
        """Parameters of the embedding and of the output head; a draft has none but a head for words of its own."""
        return self.draft_vocab * self.hidden if self.draft else self.vocab * self.hidden * (1 if self.tied else 2)

    @property
    def parameters(self) -> int:
        """All of them."""
        return self.attention + self.feed_forward + self.rest + self.embeddings

    def kv_layer_bytes(self, width: float) -> float:
        """Bytes that one token leaves in one layer: a key and a value per KV head."""
        return 2.0 * self.kv_heads * self.head_width * width


def shape_folder() -> Path:
    """The folder of the shipped shapes, in a wheel or a checkout."""
    return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT


def shape_names() -> tuple[str, ...]:
    """Names of the shipped shapes, sorted."""
    return tuple(sorted(path.stem for path in shape_folder().glob("*.json")))


def read_shape(where: str) -> Shape:
    """Read a shape.

    Args:
        where: name of a shipped shape, a `config.json`, or a folder with one.

    Raises:
        BenchError: there is none, or a member is missing.
    """
    path = Path(where)
    if path.is_dir():
        path /= "config.json"
    if not path.is_file():
        path = shape_folder() / f"{where}.json"
    if not path.is_file():
        raise BenchError(f"{where}: no such file and no such shape; there are {', '.join(shape_names())}")
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"{path}: cannot be read as JSON") from error
    if not isinstance(body, dict):
        raise BenchError(f"{path}: is not a model's configuration")
    name = path.parent.name if path.name == "config.json" else path.stem
    return shape_of({**body, **body.get("text_config", {})}, name)


def shape_of(config: Mapping[str, Any], name: str) -> Shape:
    """The shape that a decoded configuration describes.

    Raises:
        BenchError: a member is missing or no number.
    """

    def number(*keys: str, default: int | None = None) -> int:
        for key in keys:
            value = config.get(key)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        if default is None:
            raise BenchError(f"{name}: its configuration has no {keys[0]}")
        return default

    hidden, heads, layers = number("hidden_size"), number("num_attention_heads"), number("num_hidden_layers")
    experts = number("num_experts", "num_local_experts", "n_routed_experts", default=0)
    quantised = config.get("quantization_config") or {}
    architecture = str((config.get("architectures") or [""])[0])
    if "kv_lora_rank" in config:
        raise BenchError(f"{name}: its attention keeps a compressed KV (MLA), which is not worked out here")
    return Shape(
        name=name,
        hidden=hidden,
        inner=number("intermediate_size", default=4 * hidden),
        layers=layers,
        window_layers=[str(kind) for kind in config.get("layer_types") or ()].count("sliding_attention"),
        heads=heads,
        kv_heads=number("num_key_value_heads", default=heads),
        head_width=number("head_dim", default=hidden // heads),
        vocab=number("vocab_size"),
        tied=bool(config.get("tie_word_embeddings")),
        biased=bool(config.get("attention_bias")),
        experts=experts,
        active_experts=number("num_experts_per_tok", "experts_per_token", default=0),
        expert_inner=number("moe_intermediate_size", "intermediate_size", default=0) if experts else 0,
        draft="eagle3" in architecture.lower(),
        draft_vocab=number("draft_vocab_size", default=0),
        quantisation=str(quantised.get("quant_method", "")),
        group=int(quantised.get("group_size") or 128),
    )
