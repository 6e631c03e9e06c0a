"""`specwatch bench report`: one page of what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.cost_options import GpuHour, Prices, Results, Utilisation
from specwatch_cli.errors import UserError


def report_command(
    results: Results,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to write. Default: RESULTS_DIR/report.")
    ] = None,
    gpu_hour: GpuHour = None,
    utilisation: Utilisation = None,
    prices: Prices = None,
) -> None:
    """Write an HTML page, a Markdown page and pictures: speed-up, tails, verdicts, cost, memory, what is missing.

    Exit status: 0, or 2 when there are no results or a setting cannot be used.
    """
    try:
        from specwatch_bench.bench_error import BenchError  # noqa: PLC0415 - numpy, not for --help
        from specwatch_bench.cost_prices import load_prices  # noqa: PLC0415 - likewise
        from specwatch_bench.cost_settings import cost_settings  # noqa: PLC0415 - likewise
        from specwatch_bench.report_build import report_of, write_report  # noqa: PLC0415 - likewise
        from specwatch_bench.report_target import read_results  # noqa: PLC0415 - likewise
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed: pip install '.[bench]'", exit_code=2) from error

    try:
        settings, listed = cost_settings(gpu_hour, utilisation), load_prices(prices)
        found = read_results(results)
        written = write_report(report_of(found, listed, settings), out or results / "report")
    except BenchError as error:
        raise UserError(str(error), exit_code=2) from error
    for line in found.torn:
        typer.echo(f"bench: left out: {line}", err=True)
    typer.echo(f"{written.html}, {written.markdown} and {written.pictures} pictures")
