"""`specwatch bench import`: results of other benchmarks in this one's terms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError


def import_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="What vllm bench serve, SGLang bench_serving, benchmark_serving, AIPerf (its folder), GuideLLM, "
            "inference-perf, GenAI-Perf, Perf Analyzer or trtllm-bench wrote or printed.",
        ),
    ],
    gpu_hour: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Price of a GPU hour: adds $ per 1M output tokens at this load."),
    ] = None,
    gpus: Annotated[int, typer.Option(min=1, help="GPUs that served each run.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Also write runs with requests as cells for `bench report`."),
    ] = None,
    target: Annotated[str, typer.Option(help="With --out: the model, in words.")] = "imported",
    engine: Annotated[
        str | None, typer.Option(help="With --out: engine and draft. Default: what the file calls the run.")
    ] = None,
    traffic_class: Annotated[
        str, typer.Option("--class", metavar="NAME", help="With --out: traffic class of the requests.")
    ] = "imported",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Read results of other benchmarks: say what each figure counts, correct what can be, flag what cannot.

    Exit status: 0, or 2 when a file holds no figures of a known benchmark.
    """
    from specwatch_bench.bench_error import BenchError  # noqa: PLC0415 - not for --help
    from specwatch_bench.cost_settings import cost_settings  # noqa: PLC0415 - likewise
    from specwatch_bench.imported.import_cells import CellNames, write_cells  # noqa: PLC0415 - likewise
    from specwatch_bench.imported.import_view import runs_json, show_runs  # noqa: PLC0415 - likewise
    from specwatch_bench.imported.results_file import read_results  # noqa: PLC0415 - likewise
    from specwatch_cli.plain_console import plain_console  # noqa: PLC0415 - likewise

    try:
        price = None if gpu_hour is None else (cost_settings(gpu_hour).gpu_hour_usd, gpus)
        runs = [run for file in files for run in read_results(file)]
        written = [] if out is None else write_cells(runs, CellNames(target, engine, traffic_class), out)
    except BenchError as error:
        raise UserError(str(error), exit_code=2) from error
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be written: {error.strerror}", exit_code=2) from error
    if as_json:
        typer.echo(runs_json(runs, price))
        return
    show_runs(plain_console(), runs, price, cells=None if out is None else written)
