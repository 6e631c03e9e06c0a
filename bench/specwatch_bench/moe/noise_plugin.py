"""A folder that makes vLLM know the noisy model, by `PYTHONPATH` alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from specwatch_bench.moe import router_noise_engine

_MODULE = "specwatch_router_noise"


def write_plugin(folder: Path) -> Path:
    """Write the engine's side and its entry point into a folder; returns what to put on `PYTHONPATH`."""
    about = folder / f"{_MODULE}-0.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(router_noise_engine.__file__, folder / f"{_MODULE}.py")
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {_MODULE}\nVersion: 0\n")
    (about / "entry_points.txt").write_text(f"[vllm.general_plugins]\n{_MODULE} = {_MODULE}:register\n")
    return folder
