"""A model's shape from its `config.json`: parameters by kind, and what a token leaves in the KV cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.capacity_quantisation import read_quantisation

_INSTALLED: Final = Path(__file__).parent / "shapes"
_MOST: Final = 10_000_000
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
        shared_inner: inner width of the experts that every token visits, all together.
        dense_layers: layers of a mixture that have one feed-forward part instead of experts.
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
    shared_inner: int = 0
    dense_layers: int = 0
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
        experts = self.experts * (3 * self.hidden * self.expert_inner + biases)
        mixed = experts + 3 * self.hidden * self.shared_inner
        return (self.layers - self.dense_layers) * mixed + self.dense_layers * 3 * self.hidden * self.inner

    @property
    def rest(self) -> int:
        """Parameters that no quantisation touches: routers, norms, and a draft's projection of hidden states."""
        router = self.experts * (self.hidden + (1 if self.biased else 0))
        norms = (2 * self.layers + 1) * self.hidden
        return (
            (self.layers - self.dense_layers) * router
            + norms
            + (3 * self.hidden * self.hidden if self.draft else 0)
        )

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
    text = body.get("text_config")
    return shape_of({**body, **text} if isinstance(text, dict) else body, name)


def shape_of(config: Mapping[str, Any], name: str) -> Shape:
    """The shape that a decoded configuration describes.

    Raises:
        BenchError: a member is missing, no size of a model, or says what is not worked out here.
    """
    number = _Numbers(config, name)
    hidden, heads, layers = number("hidden_size"), number("num_attention_heads"), number("num_hidden_layers")
    experts = number("num_experts", "num_local_experts", "n_routed_experts", default=0)
    expert_inner = number("moe_intermediate_size", "intermediate_size", default=0) if experts else 0
    shared = number("n_shared_experts", default=0) * expert_inner
    quantised = read_quantisation(config, name, hidden)
    if "kv_lora_rank" in config:
        raise BenchError(f"{name}: its attention keeps a compressed KV (MLA), which is not worked out here")
    return Shape(
        name=name,
        hidden=hidden,
        inner=number("intermediate_size", default=4 * hidden),
        layers=layers,
        window_layers=_window_layers(config, name),
        heads=heads,
        kv_heads=number("num_key_value_heads", default=heads),
        head_width=number("head_dim", default=hidden // heads),
        vocab=number("vocab_size"),
        tied=bool(config.get("tie_word_embeddings")),
        biased=bool(config.get("attention_bias")),
        experts=experts,
        active_experts=number("num_experts_per_tok", "experts_per_token", default=0),
        expert_inner=expert_inner,
        shared_inner=number("shared_expert_intermediate_size", default=shared) if experts else 0,
        dense_layers=_dense_layers(config, number, layers) if experts else 0,
        draft="eagle3" in str(config.get("architectures")).lower(),
        draft_vocab=number("draft_vocab_size", default=0),
        quantisation=quantised.name,
        group=quantised.group,
    )


class _Numbers:
    """Whole numbers of a configuration."""

    def __init__(self, config: Mapping[str, Any], name: str) -> None:
        self._config = config
        self._name = name

    def __call__(self, *keys: str, default: int | None = None) -> int:
        """The first of these members that is a whole number.

        Raises:
            BenchError: none is and there is no default; or it is no size that a model can have.
        """
        for key in keys:
            value = self._config.get(key)
            if isinstance(value, int) and not isinstance(value, bool):
                least = 0 if default == 0 else 1
                if not least <= value <= _MOST:
                    raise BenchError(
                        f"{self._name}: {key} must be from {least} to {_MOST:,}, not {str(value)[:12]}"
                    )
                return value
        if default is None:
            raise BenchError(f"{self._name}: its configuration has no {keys[0]}")
        return default


def _window_layers(config: Mapping[str, Any], name: str) -> int:
    """Layers with a sliding window.

    Raises:
        BenchError: it has layers that keep something else than a key and a value of each token.
    """
    said = config.get("layer_types")
    kinds = [str(kind) for kind in said] if isinstance(said, list) else []
    other = sorted({*kinds} - {"full_attention", "sliding_attention"})
    if other:
        raise BenchError(f"{name}: it has layers of the kind {', '.join(other)}, which are not worked out here")
    return kinds.count("sliding_attention")


def _dense_layers(config: Mapping[str, Any], number: _Numbers, layers: int) -> int:
    """Layers of a mixture without experts: the first ones, named ones, or all but every n-th."""
    first, every = number("first_k_dense_replace", default=0), number("decoder_sparse_step", default=1)
    said = config.get("mlp_only_layers")
    named = {at for at in said if isinstance(at, int)} if isinstance(said, list) else set()
    return sum(at < first or at in named or (at + 1) % every != 0 for at in range(layers))
