"""Model folders of the experiment: one set of weights, a quiet draft, and a target for each level of noise."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.model_shape import write_model
from specwatch_bench.moe import random_weights
from specwatch_bench.moe.moe_shape import MoeShape
from specwatch_bench.moe.router_noise_engine import ARCHITECTURE

QUIET: Final = "Qwen3MoeForCausalLM"
_WEIGHTS = "model.safetensors"


def target_name(level: float) -> str:
    """Folder and engine name of a target."""
    return f"noise-{level:g}"


def write_models(shape: MoeShape, levels: Sequence[float], folder: Path, python: str, seed: int) -> None:
    """Write `draft` and the targets; weights that are there are kept.

    Args:
        shape: of all of them.
        levels: of noise; the target of level 0 has the noisy architecture too, so that all run the same code.
        folder: where.
        python: interpreter with torch and safetensors.
        seed: of the weights.

    Raises:
        BenchError: the interpreter cannot make the weights.
    """
    weights = folder / f"{shape.name}-{seed}.safetensors"
    folder.mkdir(parents=True, exist_ok=True)
    if not weights.exists():
        _make_weights(shape, weights, python, seed)
    configs = {"draft": shape.config(QUIET)}
    configs |= {target_name(level): shape.config(ARCHITECTURE) | {"router_noise": level} for level in levels}
    for name, config in configs.items():
        write_model(folder / name, config, shape.vocab)
        link = folder / name / _WEIGHTS
        if not (link.exists() and link.samefile(weights)):
            link.unlink(missing_ok=True)
            link.hardlink_to(weights)


def _make_weights(shape: MoeShape, weights: Path, python: str, seed: int) -> None:
    listed = weights.with_suffix(".json")
    listed.write_text(json.dumps(list(shape.tensors())))
    command = [python, random_weights.__file__, str(listed), str(weights), str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise BenchError(f"{python}: cannot be run: {error.strerror}") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BenchError(f"{python} cannot make random weights (it needs torch and safetensors): {last}")
