"""Folders as models have them, without a tensor: configurations of real shapes, headers, small tokenizers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Tensors = dict[str, tuple[str, tuple[int, ...]]]
BYTES = {"BF16": 2, "F32": 4, "F8_E4M3": 1, "I64": 8, "BOOL": 1}


@dataclass
class Folder:
    """What is written into a folder.

    Attributes:
        config: its configuration.
        tensors: name to type and shape.
        tokens: of its tokenizer; none for no tokenizer.
        special: of `tokenizer_config.json`.
    """

    config: Json
    tensors: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    special: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.config, self.tokens, self.special = deepcopy((self.config, self.tokens, self.special))

    def write(self, path: Path) -> Path:
        path.mkdir(parents=True)
        (path / "config.json").write_text(json.dumps(self.config, indent=1))
        if self.tensors:
            write_tensors(path / "model.safetensors", self.tensors)
        if self.tokens:
            vocabulary = {token: number for number, token in enumerate(self.tokens)}
            body = {"model": {"type": "BPE", "vocab": vocabulary}, "added_tokens": []}
            (path / "tokenizer.json").write_text(json.dumps(body))
        if self.special:
            (path / "tokenizer_config.json").write_text(json.dumps(self.special))
        return path


def write_tensors(path: Path, tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
    """A file as long as its header says, with a hole where the numbers would be."""
    rows, at = {}, 0
    for name, (dtype, shape) in tensors.items():
        size = BYTES[dtype]
        for one in shape:
            size *= one
        rows[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    header = json.dumps(rows).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + at)


@dataclass
class Pair:
    """A draft before a target, with the arguments that belong to it."""

    draft: Folder
    target: Folder
    arguments: str
    draft_name: str = "draft"
    target_name: str = "target"

    def write(self, path: Path) -> tuple[Path, Path]:
        return self.draft.write(path / "d" / self.draft_name), self.target.write(path / "t" / self.target_name)


LLAMA_ROPE = {
    "factor": 8.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192,
    "rope_type": "llama3",
}
TOKENS = ["<s>", "</s>", "a", "b", "<|eot_id|>"]
TEMPLATE = "<|start_header_id|>{{ role }}<|end_header_id|>{{ content }}<|eot_id|>"
SPECIAL = {"bos_token": "<s>", "eos_token": {"content": "<|eot_id|>"}, "chat_template": TEMPLATE}


def head_tensors(hidden: int, vocabulary: int, out: int, **more: tuple[str, tuple[int, ...]]) -> Any:
    """Tensors of an EAGLE-3 head, those that are looked at."""
    return {
        "fc.weight": ("BF16", (hidden, 3 * hidden)),
        "layers.0.self_attn.q_proj.weight": ("BF16", (hidden, 2 * hidden)),
        "lm_head.weight": ("BF16", (out, hidden)),
        "d2t": ("I64", (out,)),
        "t2d": ("BOOL", (vocabulary,)),
        **more,
    }


def speculators(layer: Json, kind: str, verifier: str, architecture: str, tokens: int = 5, **more: Any) -> Json:
    """A configuration in Speculators' form."""
    method = {
        "accept_tolerance": 0.0,
        "proposal_type": "greedy",
        "speculative_tokens": tokens,
        "verifier_accept_k": 1,
    }
    return {
        "architectures": ["Eagle3Speculator"],
        "draft_vocab_size": 32000,
        "speculators_config": {
            "algorithm": kind,
            "default_proposal_method": "greedy",
            "proposal_methods": [method],
            "verifier": {"architectures": [architecture], "name_or_path": verifier},
        },
        "speculators_model_type": kind,
        "speculators_version": "0.5.0",
        "target_hidden_size": None,
        "transformer_layer_config": layer,
        **more,
    }


def llama_70b() -> Pair:
    """Llama 3.3 70B in FP8 with an EAGLE-3 head in Speculators' form."""
    target = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 8192,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "rope_theta": 500000.0,
        "rope_scaling": LLAMA_ROPE,
        "quantization_config": {"quant_method": "compressed-tensors"},
    }
    layer = {
        "model_type": "llama",
        "hidden_size": 8192,
        "num_hidden_layers": 1,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "rope_theta": 500000.0,
        "rope_scaling": LLAMA_ROPE,
    }
    head = speculators(
        layer,
        "eagle3",
        "meta-llama/Llama-3.3-70B-Instruct",
        "LlamaForCausalLM",
        eagle_aux_hidden_state_layer_ids=[2, 40, 77],
    )
    arguments = (
        "vllm serve example/Llama-3.3-70B-Instruct-FP8-dynamic -tp 4 --max-model-len 32768 --speculative-config "
        '\'{"method": "eagle3", "model": "/models/draft", "num_speculative_tokens": 3}\''
    )
    return Pair(
        Folder(head, head_tensors(8192, 128256, 32000), TOKENS, SPECIAL),
        Folder(target, {}, TOKENS, SPECIAL),
        arguments,
        target_name="Llama-3.3-70B-Instruct-FP8-dynamic",
    )


def qwen_moe() -> Pair:
    """Qwen3 30B-A3B with SpecForge's EAGLE-3 head, as SGLang serves it."""
    target = {
        "architectures": ["Qwen3MoeForCausalLM"],
        "model_type": "qwen3_moe",
        "hidden_size": 2048,
        "num_hidden_layers": 48,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "num_experts": 128,
        "vocab_size": 151936,
        "max_position_embeddings": 40960,
        "rope_theta": 1000000.0,
        "rope_scaling": None,
    }
    head = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_size": 2048,
        "intermediate_size": 12288,
        "num_hidden_layers": 1,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "vocab_size": 151936,
        "draft_vocab_size": 32000,
        "max_position_embeddings": 2048,
        "rope_theta": 1000000.0,
        "rope_scaling": None,
        "bos_token_id": 151643,
        "eos_token_id": 151645,
    }
    tensors = head_tensors(2048, 151936, 32000)
    tensors["midlayer.self_attn.q_proj.weight"] = tensors.pop("layers.0.self_attn.q_proj.weight")
    arguments = (
        "python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --context-length 2048 "
        "--speculative-algorithm EAGLE3 --speculative-draft-model-path /models/draft "
        "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
    )
    return Pair(Folder(head, tensors), Folder(target, {}, TOKENS, SPECIAL), arguments)


def gpt_oss() -> Pair:
    """gpt-oss 20B with a P-EAGLE head in Speculators' form."""
    rope = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "beta_fast": 32.0}
    target = {
        "architectures": ["GptOssForCausalLM"],
        "model_type": "gpt_oss",
        "hidden_size": 2880,
        "num_hidden_layers": 24,
        "num_attention_heads": 64,
        "vocab_size": 201088,
        "max_position_embeddings": 131072,
        "rope_theta": 150000.0,
        "rope_scaling": rope,
        "quantization_config": {"quant_method": "mxfp4"},
    }
    layer = {
        "model_type": "llama",
        "hidden_size": 2880,
        "num_hidden_layers": 4,
        "num_attention_heads": 64,
        "vocab_size": 201088,
        "max_position_embeddings": 131072,
        "rope_theta": 150000.0,
        "rope_scaling": rope,
    }
    head = speculators(layer, "peagle", "openai/gpt-oss-20b", "GptOssForCausalLM", tokens=10, mask_token_id=200017)
    tensors = head_tensors(2880, 201088, 32000, mask_hidden=("BF16", (1, 3 * 2880)))
    tensors |= {f"layers.{number}.mlp.up_proj.weight": ("BF16", (2880, 2880)) for number in range(4)}
    arguments = (
        "vllm serve openai/gpt-oss-20b --speculative-config.method eagle3 --speculative-config.model /models/draft "
        "--speculative-config.num_speculative_tokens 7 --speculative-config.parallel_drafting true"
    )
    return Pair(Folder(head, tensors), Folder(target), arguments, target_name="gpt-oss-20b")


def small_llama() -> Pair:
    """Llama 3.3 70B with Llama 3.2 1B as its draft model."""
    pair = llama_70b()
    small = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 2048,
        "num_hidden_layers": 2,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "rope_theta": 500000.0,
        "rope_scaling": {**LLAMA_ROPE, "factor": 32.0},
    }
    tensors: Tensors = {
        "model.embed_tokens.weight": ("BF16", (128256, 2048)),
        "model.layers.0.mlp.up_proj.weight": ("BF16", (8192, 2048)),
        "model.layers.1.mlp.up_proj.weight": ("BF16", (8192, 2048)),
    }
    special = {**SPECIAL, "chat_template": f"{TEMPLATE} {{# another text, the same markers #}}"}
    arguments = (
        '{"method": "draft_model", "model": "/models/draft", "num_speculative_tokens": 5, '
        '"draft_tensor_parallel_size": 1}'
    )
    return Pair(Folder(small, tensors, TOKENS, special), pair.target, arguments, target_name=pair.target_name)


def first_eagle() -> Pair:
    """Llama 2 7B with an EAGLE head, which calls itself LlamaForCausalLM."""
    target = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32000,
        "max_position_embeddings": 4096,
    }
    head = {**target, "num_hidden_layers": 1, "rope_scaling": None}
    tensors: Tensors = {
        "fc.weight": ("BF16", (4096, 8192)),
        "embed_tokens.weight": ("BF16", (32000, 4096)),
        "layers.0.mlp.up_proj.weight": ("BF16", (11008, 4096)),
    }
    arguments = '{"model": "yuhuili/EAGLE-llama2-chat-7B", "num_speculative_tokens": 5}'
    return Pair(Folder(head, tensors), Folder(target), arguments)


def dflash() -> Pair:
    """Qwen3 8B with a DFlash head."""
    target = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": 4096,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "vocab_size": 151936,
        "max_position_embeddings": 40960,
        "rope_theta": 1000000,
    }
    head = {
        **target,
        "architectures": ["DFlashDraftModel"],
        "block_size": 16,
        "num_hidden_layers": 5,
        "num_target_layers": 36,
    }
    arguments = '{"model": "z-lab/Qwen3-8B-DFlash-b16", "num_speculative_tokens": 15}'
    return Pair(Folder(head), Folder(target), arguments)


def medusa() -> Pair:
    """Vicuna 7B with five Medusa heads."""
    target = first_eagle().target
    head = {"architectures": ["MedusaModel"], "model_type": "medusa", "hidden_size": 4096, "num_heads": 5}
    arguments = '{"method": "medusa", "model": "/models/draft", "num_speculative_tokens": 5}'
    return Pair(Folder(head), Folder(target.config), arguments)


SOUND = {one.__name__: one for one in (llama_70b, qwen_moe, gpt_oss, small_llama, first_eagle, dflash, medusa)}
