"""Runs the experiment: models, plugin, matrix, measurement, table.

`python -m specwatch_bench.moe.noise_run` is the run alone, where typer or the installed command is missing.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from specwatch_bench.bench_error import BenchError
from specwatch_bench.moe.moe_shape import SHAPES
from specwatch_bench.moe.noise_matrix import NoisePlan, matrix_body
from specwatch_bench.moe.noise_models import write_models
from specwatch_bench.moe.noise_plugin import write_plugin
from specwatch_bench.moe.noise_table import NoiseRow, noise_rows, table_lines
from specwatch_bench.run_matrix import run_matrix
from specwatch_bench.run_settings import RunSettings

_SEED: Final = 1


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
    environment = with_plugin(os.environ, write_plugin(folder / "plugin"))
    matrix = out / "matrix.yaml"
    matrix.write_text(yaml.safe_dump(matrix_body(plan), sort_keys=False))
    settings = RunSettings(out=out, python=python, environment=environment, shapes=out, models=folder)
    run_matrix(matrix, settings)
    return noise_rows(out)


def with_plugin(environment: Mapping[str, str], plugin: Path) -> dict[str, str]:
    """An environment in which vLLM finds the plugin; the Python path keeps what it had."""
    path = os.pathsep.join(part for part in (str(plugin), environment.get("PYTHONPATH", "")) if part)
    return {**environment, "PYTHONPATH": path}


def with_levels(plan: NoisePlan, text: str) -> NoisePlan:
    """The plan with levels as a person writes them: numbers with commas.

    Raises:
        BenchError: not numbers of 0 or more.
    """
    try:
        levels = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        levels = ()
    if not levels or not all(0.0 <= level < 1e6 for level in levels):
        raise BenchError(f"--levels: {text!r} is no list of numbers of 0 or more")
    return replace(plan, levels=levels)


def with_arguments(plan: NoisePlan, text: str) -> NoisePlan:
    """The plan with more of vLLM's arguments as a shell would have them.

    Raises:
        BenchError: a quotation mark is open.
    """
    try:
        return replace(plan, arguments=tuple(shlex.split(text)))
    except ValueError as error:
        raise BenchError(f"--vllm-arguments: {error}: {text}") from error


def parser() -> argparse.ArgumentParser:
    """The command line; `specwatch bench moe-noise` explains the options."""
    arguments = argparse.ArgumentParser(prog="python -m specwatch_bench.moe.noise_run", description=__doc__)
    arguments.add_argument("--out", type=Path, default=Path("moe-noise-results"), help="folder of the results")
    arguments.add_argument("--models", type=Path, help="folder of the models; OUT/models by default")
    arguments.add_argument("--levels", default="0,0.05,0.1,0.2,0.5,1", help="noise, with commas")
    arguments.add_argument("--shape", choices=sorted(SHAPES), default="large")
    arguments.add_argument("--tokens", type=int, default=3, help="draft tokens a step")
    arguments.add_argument("--concurrency", type=int, default=8)
    arguments.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--vllm-arguments", default="", help="more of vLLM's arguments")
    arguments.add_argument(
        "--python", default=sys.executable, help="interpreter that has vLLM; this one by default"
    )
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Entry point; 2 for what cannot be used."""
    asked = parser().parse_args(argv)
    plan = NoisePlan(
        shape=SHAPES[asked.shape],
        levels=(),
        tokens=asked.tokens,
        concurrency=asked.concurrency,
        seconds=asked.seconds,
        repeats=asked.repeats,
    )
    try:
        plan = with_arguments(with_levels(plan, asked.levels), asked.vllm_arguments)
        rows = run_noise(plan, asked.out, asked.python, asked.models)
    except BenchError as error:
        sys.stderr.write(f"bench: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    sys.stdout.write("\n".join(table_lines(rows)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
