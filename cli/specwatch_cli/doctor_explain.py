"""`specwatch doctor explain`: what a finding code means."""

from __future__ import annotations

from typing import Annotated

import typer

from specwatch_cli.errors import UserError


def explain_command(
    code: Annotated[str, typer.Argument(metavar="CODE", help="Such as metric-renamed; without it, all.")] = "",
) -> None:
    """Say what a finding code means, with an example and what to do.

    Exit status: 0, 2 for a code that there is not.
    """
    from specwatch_deploy.doctor.codes import CODES  # noqa: PLC0415 - not needed for --help

    if code and code not in CODES:
        raise UserError(f"there is no code {code}; specwatch doctor explain lists them", exit_code=2)
    for one in [CODES[code]] if code else CODES.values():
        typer.echo(f"{one.name} ({one.severity})\n  {one.meaning}\n  Example: {one.example}\n  {one.mend}")
