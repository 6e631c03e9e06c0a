"""`specwatch bench`: measure engines, with and without speculation."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.bench_capacity import capacity_command
from specwatch_cli.bench_cost import cost_command
from specwatch_cli.bench_import import import_command
from specwatch_cli.bench_moe_noise import moe_noise_command
from specwatch_cli.bench_report import report_command
from specwatch_cli.errors import UserError

app = typer.Typer(no_args_is_help=True, help="Measure engines, with and without speculation.")
app.command("import")(import_command)
app.command("moe-noise")(moe_noise_command)
app.command("report")(report_command)
app.command("cost")(cost_command)
app.command("capacity")(capacity_command)


@app.command("run")
def run_command(
    matrix: Annotated[
        Path, typer.Argument(metavar="MATRIX", help="YAML file: engines, data sets, levels of load.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of the results; run again to go on.")
    ] = Path("bench-results"),
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Measure this running engine instead of starting any.")
    ] = None,
    engines: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Only these engines of the file. Default: all.")
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Interpreter that has the engine installed. Default: this one."),
    ] = None,
    models: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where models without weights are made. Default: DIR/models.")
    ] = None,
    seconds_per_level: Annotated[
        float | None, typer.Option(min=0.1, help="Replaces the measured time of every level.")
    ] = None,
    stop_after: Annotated[
        float | None, typer.Option(min=1.0, help="Seconds after which nothing new is begun; run again to go on.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option(help="Run cells again that gave no figures.")] = False,
    only_list: Annotated[bool, typer.Option("--list", help="Print the cells and start nothing.")] = False,
) -> None:
    """Run a matrix: start each engine, load it, keep a record of every request, stop it.

    Exit status: 0 when all cells have an outcome or are left for later, 2 for wrong usage.
    """
    from specwatch_bench.bench_error import BenchError  # noqa: PLC0415 - brings aiohttp, not for --help
    from specwatch_bench.run_matrix import run_matrix  # noqa: PLC0415 - likewise
    from specwatch_bench.run_settings import RunSettings  # noqa: PLC0415 - likewise

    settings = RunSettings(
        out=out,
        python=python or sys.executable,
        environment=dict(os.environ),
        shapes=matrix.parent / "shapes",
        models=models or out / "models",
        stop_after=stop_after,
        seconds_per_level=seconds_per_level,
        engines=tuple(name for name in (engines or "").split(",") if name),
        retry_failed=retry_failed,
    )
    try:
        run_matrix(matrix, settings, url, only_list=only_list)
    except BenchError as error:
        raise UserError(str(error), exit_code=2) from error


@app.command("profile")
def profile_command(
    results: Annotated[Path, typer.Argument(metavar="RESULTS_DIR", help="Folder of one target that `run` wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write a step-time profile for --payoff-profile.")
    ] = None,
) -> None:
    """Print what a step costs with and without speculation, by method, K and batch size.

    Exit status: 0, or 2 when the folder has no cells that can be compared.
    """
    try:
        from specwatch_bench.bench_error import BenchError  # noqa: PLC0415 - brings aiohttp, not for --help
        from specwatch_bench.profile_table import read_table, table_lines, write_profile  # noqa: PLC0415 - numpy
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed: pip install '.[bench]'", exit_code=2) from error
    try:
        table = read_table(results)
        typer.echo("\n".join(table_lines(table)))
        if out is not None:
            write_profile(table, out)
    except BenchError as error:
        raise UserError(str(error), exit_code=2) from error
