"""`specwatch bench cost`: dollars per million tokens from measured throughput, beside list prices."""

from __future__ import annotations

import typer

from specwatch_cli.cost_options import GpuHour, Prices, Results, Utilisation
from specwatch_cli.errors import UserError


def cost_command(
    results: Results,
    gpu_hour: GpuHour = None,
    utilisation: Utilisation = None,
    prices: Prices = None,
) -> None:
    """Print what a million tokens costs, where it breaks even with vendors, and how that moves, as Markdown.

    Exit status: 0, or 2 when there are no results or a setting cannot be used.
    """
    try:
        from specwatch_bench.bench_error import BenchError  # noqa: PLC0415 - numpy, not for --help
        from specwatch_bench.cost_prices import load_prices  # noqa: PLC0415 - likewise
        from specwatch_bench.cost_settings import cost_settings  # noqa: PLC0415 - likewise
        from specwatch_bench.report_markdown import sections_text  # noqa: PLC0415 - likewise
        from specwatch_bench.report_section_cost import cost_sections  # noqa: PLC0415 - likewise
        from specwatch_bench.report_target import read_results  # noqa: PLC0415 - likewise
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed: pip install '.[bench]'", exit_code=2) from error

    try:
        settings, listed = cost_settings(gpu_hour, utilisation), load_prices(prices)
        found = read_results(results)
        sections = tuple(cost_sections(found.targets, listed, settings))
    except BenchError as error:
        raise UserError(str(error), exit_code=2) from error
    if not sections:
        raise UserError(f"{results}: no cell whose figures can be published, so no cost", exit_code=2)
    for line in found.torn:
        typer.echo(f"bench: left out: {line}", err=True)
    typer.echo(sections_text(sections))
