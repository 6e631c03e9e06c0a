"""Runs the experiment: models, plugin, matrix, measurement, table."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import yaml

from specwatch_bench.moe.noise_matrix import NoisePlan, matrix_body
from specwatch_bench.moe.noise_models import write_models
from specwatch_bench.moe.noise_plugin import write_plugin
from specwatch_bench.moe.noise_table import NoiseRow, noise_rows
from specwatch_bench.run_matrix import run_matrix
from specwatch_bench.run_settings import RunSettings

_SEED = 1


def run_noise(plan: NoisePlan, out: Path, python: str, models: Path | None = None) -> list[NoiseRow]:
    """Measure what is not measured yet, and read all of it.

    Args:
        plan: what is asked for.
        out: folder of the results; run again to go on.
        python: interpreter that has vLLM.
        models: where the models are made; `out/models` by default.

    Raises:
        BenchError: something cannot be used, or nothing was measured.
    """
    out.mkdir(parents=True, exist_ok=True)
    folder = (models or out / "models").resolve()
    write_models(plan.shape, plan.levels, folder, python, _SEED)
    plugin = write_plugin(folder / "plugin")
    matrix = out / "matrix.yaml"
    matrix.write_text(yaml.safe_dump(matrix_body(plan, plugin), sort_keys=False))
    settings = RunSettings(out=out, python=python, environment=dict(os.environ), shapes=out, models=folder)
    run_matrix(matrix, settings)
    return noise_rows(out)


def with_levels(plan: NoisePlan, text: str) -> NoisePlan:
    """The plan with levels as a person writes them: numbers with commas.

    Raises:
        ValueError: not numbers of 0 or more.
    """
    levels = tuple(sorted({float(part) for part in text.split(",")}))
    if not all(0.0 <= level < 1e6 for level in levels):
        raise ValueError(text)
    return replace(plan, levels=levels)
