"""A mixture of experts in Qwen3-MoE's architecture with random weights: its configuration and its tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeShape:
    """Sizes of a model; weights are normal with standard deviation 1/sqrt(fan-in), so that each block counts.

    Attributes:
        name: of the shape.
        hidden: width.
        layers: all with experts.
        heads: of queries; keys and values have as many as `kv_heads`.
        head_dim: width of a head.
        experts: in each layer.
        top_k: experts for each token.
        inner: width of an expert.
        vocab: tokens.
    """

    name: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    experts: int
    top_k: int
    inner: int
    vocab: int

    def config(self, architecture: str) -> dict[str, Any]:
        """The content of `config.json`."""
        return {
            "architectures": [architecture],
            "model_type": "qwen3_moe",
            "hidden_size": self.hidden,
            "intermediate_size": self.inner * self.top_k,
            "moe_intermediate_size": self.inner,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "num_experts": self.experts,
            "num_experts_per_tok": self.top_k,
            "decoder_sparse_step": 1,
            "norm_topk_prob": True,
            "mlp_only_layers": [],
            "vocab_size": self.vocab,
            "max_position_embeddings": 4096,
            "rms_norm_eps": 1e-6,
            "rope_theta": 10000.0,
            "torch_dtype": "bfloat16",
            "tie_word_embeddings": False,
            "bos_token_id": 2,
            "eos_token_id": 1,
            "hidden_act": "silu",
            "attention_bias": False,
            "use_sliding_window": False,
            "sliding_window": None,
        }

    def tensors(self) -> Iterator[tuple[str, tuple[int, ...], float]]:
        """Name, shape and standard deviation of each tensor, in a fixed order; 0 means ones."""
        yield "model.embed_tokens.weight", (self.vocab, self.hidden), 1.0
        for layer in range(self.layers):
            yield from self._layer(f"model.layers.{layer}")
        yield "model.norm.weight", (self.hidden,), 0.0
        yield "lm_head.weight", (self.vocab, self.hidden), self.hidden**-0.5

    def _layer(self, at: str) -> Iterator[tuple[str, tuple[int, ...], float]]:
        out, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        narrow, back = self.hidden**-0.5, out**-0.5
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield f"{at}.{norm}.weight", (self.hidden,), 0.0
        for norm in ("q_norm", "k_norm"):
            yield f"{at}.self_attn.{norm}.weight", (self.head_dim,), 0.0
        yield f"{at}.self_attn.q_proj.weight", (out, self.hidden), narrow
        yield f"{at}.self_attn.k_proj.weight", (kv, self.hidden), narrow
        yield f"{at}.self_attn.v_proj.weight", (kv, self.hidden), narrow
        yield f"{at}.self_attn.o_proj.weight", (self.hidden, out), back
        yield f"{at}.mlp.gate.weight", (self.experts, self.hidden), narrow
        for expert in range(self.experts):
            part = f"{at}.mlp.experts.{expert}"
            yield f"{part}.gate_proj.weight", (self.inner, self.hidden), narrow
            yield f"{part}.up_proj.weight", (self.inner, self.hidden), narrow
            yield f"{part}.down_proj.weight", (self.hidden, self.inner), self.inner**-0.5


SHAPES: Final = {
    shape.name: shape
    for shape in (
        MoeShape(
            name="large", hidden=2048, layers=24, heads=16, kv_heads=4, head_dim=128, experts=64, top_k=8,
            inner=384, vocab=32000,
        ),
        MoeShape(
            name="small", hidden=128, layers=4, heads=4, kv_heads=4, head_dim=32, experts=16, top_k=4, inner=64,
            vocab=1024,
        ),
    )
}  # fmt: skip
"""Shapes by name: `small` runs on a CPU in seconds, `large` (4 billion parameters, 8 GB) wants a GPU."""
