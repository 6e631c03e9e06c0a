"""Make a tiny target model and drafts of it, so that a real engine runs on a CPU without any download.

Run it with the engine's interpreter, which has torch and tokenizers:

    .cache/vllm-venv/bin/python tests/engine/tiny_models.py .cache/tiny-models --sigma 0 --sigma 0.05

The target is a Llama of 4 layers and width 256 with random weights from a fixed seed. A draft is the same
weights plus Gaussian noise of ``sigma`` times each tensor's standard deviation, so ``sigma`` is a dial for
acceptance: 0 accepts every token, 0.4 almost none. Folders that are already there are kept.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

VOCABULARY = 2048
CORPUS_FILES = 120
SEED = 20260
INIT_STD = 0.02
SPECIAL_TOKENS = ("<|begin|>", "<|end|>", "<|user|>", "<|assistant|>")

ARCHITECTURE: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 688,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "dtype": "bfloat16",
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
}

CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ 'assistant' if m['role'] == 'assistant' else 'user' }}|>{{ m['content'] }}\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def engine_module(name: str) -> Any:
    """Import a package that only the engine's interpreter has.

    By name, because the linters run in an environment without it.
    """
    return importlib.import_module(name)


def recipe_digest() -> str:
    """Return a digest of this file: models made by another version of it are made again."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def draft_name(sigma: float) -> str:
    """Return the folder name of the draft with that much noise."""
    return f"draft-sigma-{sigma:g}"


def train_tokenizer(folder: Path) -> None:
    """Train a byte-level BPE tokenizer on the standard library's sources and write it to ``folder``."""
    tokenizers = engine_module("tokenizers")
    library = Path(sysconfig.get_paths()["stdlib"])
    sources = sorted(library.glob("*.py"))[:CORPUS_FILES]
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train(
        files=[str(path) for path in sources],
        vocab_size=VOCABULARY,
        min_frequency=2,
        special_tokens=list(SPECIAL_TOKENS),
        show_progress=False,
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": SPECIAL_TOKENS[0],
        "eos_token": SPECIAL_TOKENS[1],
        "additional_special_tokens": list(SPECIAL_TOKENS[2:]),
        "model_max_length": ARCHITECTURE["max_position_embeddings"],
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))


def weight_shapes() -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight of the Llama, in a fixed order."""
    width, inner = ARCHITECTURE["hidden_size"], ARCHITECTURE["intermediate_size"]
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (VOCABULARY, width)}
    for layer in range(ARCHITECTURE["num_hidden_layers"]):
        prefix = f"model.layers.{layer}"
        shapes[f"{prefix}.input_layernorm.weight"] = (width,)
        for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
            shapes[f"{prefix}.self_attn.{part}.weight"] = (width, width)
        shapes[f"{prefix}.post_attention_layernorm.weight"] = (width,)
        shapes[f"{prefix}.mlp.gate_proj.weight"] = (inner, width)
        shapes[f"{prefix}.mlp.up_proj.weight"] = (inner, width)
        shapes[f"{prefix}.mlp.down_proj.weight"] = (width, inner)
    shapes["model.norm.weight"] = (width,)
    shapes["lm_head.weight"] = (VOCABULARY, width)
    return shapes


def target_weights() -> dict[str, Any]:
    """Return the target's weights: normal with a fixed seed, norms at one; bfloat16."""
    torch = engine_module("torch")
    generator = torch.Generator().manual_seed(SEED)
    weights = {}
    for name, shape in weight_shapes().items():
        is_norm = len(shape) == 1
        tensor = torch.ones(shape) if is_norm else torch.randn(shape, generator=generator) * INIT_STD
        weights[name] = tensor.to(torch.bfloat16)
    return weights


def noisy_weights(weights: dict[str, Any], sigma: float) -> dict[str, Any]:
    """Return the weights plus Gaussian noise of ``sigma`` standard deviations of each tensor."""
    torch = engine_module("torch")
    generator = torch.Generator().manual_seed(SEED + 1)
    noisy = {}
    for name, tensor in weights.items():
        wide = tensor.to(torch.float32)
        noise = torch.randn(wide.shape, generator=generator)
        spread = wide.std() if wide.numel() > 1 else torch.tensor(0.0)
        noisy[name] = (wide + sigma * spread * noise).to(torch.bfloat16)
    return noisy


def write_model(folder: Path, weights: dict[str, Any]) -> None:
    """Write one model folder; it appears under its name only when it is whole."""
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    (partial / "config.json").write_text(json.dumps(ARCHITECTURE, indent=1))
    train_tokenizer(partial)
    engine_module("safetensors.torch").save_file(weights, partial / "model.safetensors", {"format": "pt"})
    (partial / "recipe").write_text(recipe_digest())
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def is_current(folder: Path) -> bool:
    """Tell whether the folder holds a model that this version of the recipe made."""
    stamp = folder / "recipe"
    return stamp.is_file() and stamp.read_text() == recipe_digest()


def make_models(root: Path, sigmas: list[float]) -> None:
    """Make the target and one draft per ``sigma`` under ``root``; folders that are current stay."""
    wanted = {root / draft_name(sigma): sigma for sigma in sigmas}
    missing = [folder for folder in (root / "target", *wanted) if not is_current(folder)]
    if not missing:
        return
    weights = target_weights()
    for folder in missing:
        sigma = wanted.get(folder, 0.0)
        write_model(folder, noisy_weights(weights, sigma) if sigma else weights)
        sys.stdout.write(f"tiny model: {folder.name}\n")


def main() -> None:
    """Read the arguments and make the models."""
    parser = argparse.ArgumentParser(description="Make tiny target and draft models.")
    parser.add_argument("root", type=Path)
    parser.add_argument("--sigma", type=float, action="append", default=[])
    arguments = parser.parse_args()
    make_models(arguments.root, arguments.sigma)


if __name__ == "__main__":
    main()
