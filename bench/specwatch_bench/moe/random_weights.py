"""Writes random weights; run by the engine's interpreter, which has torch: `random_weights.py LIST OUT SEED`.

`LIST` is a JSON file of [name, shape, standard deviation]; 0 means ones. The file appears whole or not at all.
A seed gives one set of weights on a CPU and another on a GPU, where billions take seconds.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Write the file."""
    torch = importlib.import_module("torch")
    save = importlib.import_module("safetensors.torch").save_file
    listed, out, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    source = torch.Generator(device).manual_seed(seed)

    def made(shape: list[int], std: float) -> Any:
        drawn = torch.randn(shape, generator=source, device=device) * std if std else torch.ones(shape)
        return drawn.to(torch.bfloat16).cpu()

    tensors = {name: made(shape, std) for name, shape, std in json.loads(listed.read_text())}
    part = out.with_name(out.name + ".part")
    save(tensors, str(part), metadata={"format": "pt"})
    part.replace(out)


if __name__ == "__main__":
    main()
