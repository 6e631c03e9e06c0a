"""`specwatch inject`: the sidecar in somebody's manifest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from specwatch_cli.detect_values import whole_file
from specwatch_cli.errors import UserError

STANDARD_INPUT: Final = "the standard input"


def inject_command(
    file: Annotated[
        str,
        typer.Option(
            "--file", "-f", metavar="FILE", help="Manifests; - is the standard input.", show_default=False
        ),
    ],
    image: Annotated[
        str, typer.Option(metavar="IMAGE", help="Image of specwatch (deploy/Containerfile).")
    ] = "registry.example.com/specwatch:0.1.0",
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only the workload of this name; default: all engines.")
    ] = None,
    container: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The engine's container; default: the one that looks like it."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=65535, help="Port of the engine; default: as it is told.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(metavar="WORD", help="Speculation method; default: as in --speculative-config.")
    ] = None,
    payoff_profile: Annotated[
        str, typer.Option(metavar="PROFILE", help="Step-time profile: judges whether speculation pays.")
    ] = "",
    requests: Annotated[
        bool, typer.Option("--requests", help="Add the request sidecar too; clients must then use its port, 8080.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take out what was added.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Change the file instead of printing.")] = False,
) -> None:
    """Add the sidecar to the pods of a manifest, as a native sidecar (Kubernetes 1.29 and newer).

    Only lines are added, between two comments; comments, quotes and order stay. Doing it again replaces them.

    Exit status: 0, 1 when the file cannot be used, 2 for wrong usage.
    """
    from specwatch_deploy.inject.inject_error import InjectError  # noqa: PLC0415 - the sidecar has the same command
    from specwatch_deploy.inject.injection import Injected, Wishes, inject  # noqa: PLC0415
    from specwatch_deploy.inject.marked_lines import without_marked  # noqa: PLC0415

    said = STANDARD_INPUT if file == "-" else file
    if write and file == "-":
        raise UserError("--write needs a file; the standard input cannot be changed", exit_code=2)
    try:
        wishes = Wishes(
            image=image,
            workload=name,
            container=container,
            port=port,
            method=method,
            payoff_profile=payoff_profile,
            requests=requests,
        )
    except InjectError as error:
        raise UserError(str(error), exit_code=2) from error
    text = _read(file, said)
    try:
        done = Injected(without_marked(text), ()) if remove else inject(text, wishes)
    except InjectError as error:
        raise UserError(f"{said}: {error}") from error
    _give(done.text, file if write else None)
    for note in done.notes:
        typer.echo(f"{said}: {note}", err=True)


def _read(file: str, said: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode("utf-8")
    except OSError as error:
        raise UserError(f"cannot read {said}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{said} is no text in UTF-8") from error


def _give(text: str, file: str | None) -> None:
    if file is None:
        typer.echo(text.encode(), nl=False)
        return
    with whole_file(Path(file)) as out:
        out.write(text)
