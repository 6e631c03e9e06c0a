"""Model folders with a configuration and a tokenizer and without weights, for engines that make dummy weights.

Kernels do the same work whatever the weights hold, so step times, queues and memory are those of the real model;
what the model says is not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from specwatch_bench.bench_error import BenchError

_TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}"


def write_shapes(names: tuple[str, ...], source: Path, folder: Path) -> None:
    """Write model folders.

    Args:
        names: of the shapes; `source/NAME.json` holds the content of `config.json`.
        source: folder of the shapes.
        folder: where one folder per shape is made.

    Raises:
        BenchError: no such shape, or no configuration in it.
    """
    for name in names:
        path = source / f"{name}.json"
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BenchError(f"shape {name}: {path} cannot be read as JSON") from error
        vocab = config.get("vocab_size") if isinstance(config, dict) else None
        if not isinstance(vocab, int):
            raise BenchError(f"shape {name}: {path} has no vocab_size")
        write_model(folder / name, config, vocab)


def write_model(folder: Path, config: dict[str, Any], vocab: int) -> None:
    """Write one model folder: its configuration, and a tokenizer whose token n is the word `tn`."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {
        "config.json": config,
        "tokenizer.json": _tokenizer(vocab),
        "tokenizer_config.json": _tokenizer_config(),
    }
    for name, body in parts.items():
        (folder / name).write_text(json.dumps(body), encoding="utf-8")


def _tokenizer(vocab: int) -> dict[str, Any]:
    """A tokenizer whose token n is the word `tn`."""
    words = {f"t{number}": number for number in range(vocab)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "t0"},
    }


def _tokenizer_config() -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": "t0",
        "eos_token": "t1",
        "bos_token": "t2",
        "chat_template": _TEMPLATE,
    }
