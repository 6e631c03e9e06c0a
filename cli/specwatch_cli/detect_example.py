"""`specwatch detect example`: synthetic traffic to try the detectors on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.detect_values import duration, whole_file
from specwatch_cli.errors import UserError
from specwatch_detectors.example_history import MADE_UP, Example, Kind
from specwatch_detectors.history import clock


def example_command(
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Where to write it.")],
    kind: Annotated[
        Kind,
        typer.Option(
            help="quiet: nothing happens; stale-draft: the target moves one version on and the draft does not; "
            "mix-shift: the share of code falls from 50 % to 10 %."
        ),
    ] = Kind.STALE_DRAFT,
    length: Annotated[
        str, typer.Option(metavar="DURATION", help="Length, such as 6h or 192h; the change is after two thirds.")
    ] = "6h",
    interval: Annotated[str, typer.Option(metavar="DURATION", help="Length of an interval.")] = "10s",
    seed: Annotated[int, typer.Option(metavar="N", help="Another number gives other traffic.")] = 1,
) -> None:
    """Write synthetic traffic as CSV, to try `replay` and `calibrate` without an engine.

    No measurement: requests of two classes with acceptance, lengths and a daily load made up for the purpose. Six
    hours at 10 s take a second and 0.3 MB.
    """
    hours, step = duration("--length", length) / 3600.0, duration("--interval", interval)
    if not 1.0 <= step <= 3600.0 or not 3.0 * step <= hours * 3600.0 <= 60 * 86_400.0:
        raise UserError("--interval must be 1s to 1h, and --length from three intervals to 1440h", exit_code=2)
    _check_place(file)
    example = Example(kind, hours, step, change_hour=hours * 2.0 / 3.0, seed=seed)
    with whole_file(file) as out:
        for line in example.lines():
            out.write(line + "\n")
    change = "nothing happens in it" if kind is Kind.QUIET else f"the change comes at {clock(example.change_at)}"
    typer.echo(f"wrote {file}: {hours:g} hours of synthetic traffic; {change}")


def _check_place(file: Path) -> None:
    """An example may be written anew; a file of anybody's own is not lost to one."""
    if not file.is_file():
        return
    with file.open("rb") as there:
        ours = there.read(len(MADE_UP)) == MADE_UP.encode()
    if not ours:
        raise UserError(f"{file}: is there already and is no example; name another file", exit_code=2)
