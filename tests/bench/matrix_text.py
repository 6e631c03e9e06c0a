"""Matrices for the tests of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specwatch_bench.matrix import Matrix
from specwatch_bench.matrix_file import matrix_from

SPECULATIVE = {"method": "eagle3", "num_speculative_tokens": 2}
ACCEPTANCE = {"source": "made up", "rates": {"chat": [0.8, 0.5], "code": [0.9, 0.7]}}


def body(**changes: Any) -> dict[str, Any]:
    """A small matrix on the replay engine, as decoded YAML."""
    return {
        "name": "small",
        "target": "replayed",
        "engine": "replay",
        "expected_start": 1,
        "engines": [{"name": "eagle3", "arguments": ["--speed", 50]}],
        "datasets": [
            {"name": "chat", "prompt": 20, "output": {"median": 30, "sigma": 0.3, "most": 90}},
            {"name": "code", "prompt": 20, "output": 30},
        ],
        "levels": [{"concurrency": [1, 4], "seconds": 0.4, "warmup": 0.2, "drain": 10, "datasets": ["chat"]}],
        **changes,
    }


def matrix(**changes: Any) -> Matrix:
    """The same, read."""
    return matrix_from(body(**changes), "small.yaml")


def written(folder: Path, text: str, name: str = "matrix.yaml") -> Path:
    """A file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
