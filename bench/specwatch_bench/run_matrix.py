"""`python -m specwatch_bench.run_matrix`: the run alone, where typer or the installed command is missing."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections import Counter
from pathlib import Path

from specwatch_bench.bench_error import BenchError
from specwatch_bench.matrix_file import read_matrix
from specwatch_bench.matrix_run import MatrixRun
from specwatch_bench.run_settings import RunSettings
from specwatch_bench.run_view import TerminalView


def run_matrix(
    path: Path, settings: RunSettings, url: str | None = None, *, only_list: bool = False
) -> Counter[str]:
    """Run a matrix, or list its cells.

    Args:
        path: the YAML file.
        settings: how to run it.
        url: measure the engine at this address instead of starting any.
        only_list: print the cells and what is known of them, and start nothing.

    Returns:
        Cells by outcome.

    Raises:
        BenchError: something in the file or the options cannot be used; one line.
        KeyboardInterrupt: it was told to end; finished cells are kept, the engine is stopped.
    """
    matrix = read_matrix(path, models=settings.models, url=url)
    if url is not None and len(matrix.engines) > 1 and len(settings.engines) != 1:
        names = ", ".join(engine.name for engine in matrix.engines)
        raise BenchError(f"--url is one engine: say with --engines which of these it is: {names}")
    with TerminalView() as view:
        run = MatrixRun(matrix, settings, view)
        if only_list:
            for cell, outcome in run.plan():
                view.note(f"{cell.key}  {cell.name}  {outcome or 'to measure'}")
            return run.tally
        tally = asyncio.run(_until_done_or_told(run))
        view.note(", ".join(f"{count} {name}" for name, count in sorted(tally.items()) if count) or "no cells")
    return tally


async def _until_done_or_told(run: MatrixRun) -> Counter[str]:
    """Run; SIGTERM ends it as Ctrl-C does, with the engine stopped."""
    task = asyncio.ensure_future(run.run())
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


def settings_for(path: Path, arguments: argparse.Namespace) -> RunSettings:
    """Settings from options.

    Args:
        path: the YAML file.
        arguments: of `parser`.
    """
    out = Path(arguments.out)
    return RunSettings(
        out=out,
        python=arguments.python or sys.executable,
        environment=dict(os.environ),
        shapes=path.parent / "shapes",
        models=Path(arguments.models) if arguments.models else out / "models",
        stop_after=arguments.stop_after,
        seconds_per_level=arguments.seconds_per_level,
        engines=tuple(name for name in (arguments.engines or "").split(",") if name),
        retry_failed=arguments.retry_failed,
    )


def parser() -> argparse.ArgumentParser:
    """The command line."""
    arguments = argparse.ArgumentParser(prog="python -m specwatch_bench.run_matrix", description=__doc__)
    arguments.add_argument("matrix", type=Path, help="YAML file; see docs/bench.md")
    arguments.add_argument("--out", default="bench-results", help="folder of the results")
    arguments.add_argument("--url", help="measure the engine at this address instead of starting any")
    arguments.add_argument("--engines", help="names, with commas; all by default")
    arguments.add_argument("--models", help="folder for the models without weights; OUT/models by default")
    arguments.add_argument("--python", help="interpreter that has the engine installed; this one by default")
    arguments.add_argument("--seconds-per-level", type=float, help="replaces the measured time of every level")
    arguments.add_argument("--stop-after", type=float, help="seconds after which nothing new is begun")
    arguments.add_argument("--retry-failed", action="store_true", help="run cells again that gave no figures")
    arguments.add_argument("--list", action="store_true", help="print the cells and start nothing")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Entry point; 2 for what cannot be used."""
    arguments = parser().parse_args(argv)
    settings = settings_for(arguments.matrix, arguments)
    try:
        run_matrix(arguments.matrix, settings, arguments.url, only_list=arguments.list)
    except BenchError as error:
        sys.stderr.write(f"bench: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
