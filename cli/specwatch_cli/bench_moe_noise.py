"""`specwatch bench moe-noise`: what routing noise of a mixture of experts costs a fixed draft."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError


def moe_noise_command(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of the results; run again to go on.")
    ] = Path("moe-noise-results"),
    levels: Annotated[
        str,
        typer.Option(metavar="N,...", help="Noise: its standard deviation over that of a token's router logits."),
    ] = "0,0.05,0.1,0.2,0.5,1",
    shape: Annotated[
        str, typer.Option(help="Model: small (a CPU does) or large (4 billion parameters, a GPU).")
    ] = "small",
    tokens: Annotated[int, typer.Option(min=1, max=8, help="Draft tokens a step (K).")] = 3,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests in flight.")] = 8,
    seconds: Annotated[float, typer.Option(min=0.5, help="Of each measurement.")] = 5.0,
    repeats: Annotated[int, typer.Option(min=1, help="Measurements at each level.")] = 5,
    temperature: Annotated[float, typer.Option(min=0.0, help="Of the requests.")] = 0.0,
    vllm_arguments: Annotated[
        str, typer.Option(metavar="TEXT", help="More arguments of vLLM's, as a shell would have them.")
    ] = "",
    python: Annotated[
        str | None, typer.Option(metavar="FILE", help="Interpreter that has vLLM. Default: this one.")
    ] = None,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="Only print what DIR holds, and start nothing.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Serve a mixture of experts with noise at its router; print acceptance by position against the noise.

    Weights are random; the draft is the target without noise, so noise 0 accepts all: what is lost is the noise's.
    Exit status: 0, or 2 when nothing could be measured.
    """
    from specwatch_bench.bench_error import BenchError  # noqa: PLC0415 - not for --help
    from specwatch_bench.moe.moe_shape import SHAPES  # noqa: PLC0415 - likewise
    from specwatch_bench.moe.noise_matrix import NoisePlan  # noqa: PLC0415 - likewise
    from specwatch_bench.moe.noise_run import run_noise, with_arguments, with_levels  # noqa: PLC0415 - likewise
    from specwatch_bench.moe.noise_table import noise_rows, table_lines  # noqa: PLC0415 - likewise

    if shape not in SHAPES:
        raise UserError(f"--shape: {shape!r} is none of {', '.join(sorted(SHAPES))}", exit_code=2)
    plan = NoisePlan(
        shape=SHAPES[shape],
        levels=(),
        tokens=tokens,
        concurrency=concurrency,
        seconds=seconds,
        repeats=repeats,
        temperature=temperature,
    )
    try:
        plan = with_arguments(with_levels(plan, levels), vllm_arguments)
        rows = run_noise(plan, out, python or sys.executable) if run else noise_rows(out)
    except BenchError as error:
        raise UserError(str(error), exit_code=2) from error
    typer.echo(json.dumps([row.to_json() for row in rows], indent=2) if as_json else "\n".join(table_lines(rows)))
