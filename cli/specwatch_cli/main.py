"""Assembly of the command line: groups are added here, errors become one line here."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from specwatch_cli import (
    alerts,
    bench,
    classes,
    dashboards,
    detect,
    doctor,
    exporter,
    fallback,
    proxy,
    scale,
    slack,
)
from specwatch_cli.demo import demo_command
from specwatch_cli.errors import UserError
from specwatch_cli.inject import inject_command
from specwatch_cli.inspect import inspect_command

app = typer.Typer(
    name="specwatch",
    help="Monitoring and SRE toolkit for LLM serving with speculative decoding.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("inspect")(inspect_command)
app.command("inject")(inject_command)
app.command("demo")(demo_command)
app.add_typer(exporter.app, name="exporter")
app.add_typer(proxy.app, name="proxy")
app.add_typer(classes.app, name="classes")
app.add_typer(detect.app, name="detect")
app.add_typer(fallback.app, name="fallback")
app.add_typer(bench.app, name="bench")
app.add_typer(alerts.app, name="alerts")
app.add_typer(slack.app, name="slack")
app.add_typer(dashboards.app, name="dashboards")
app.add_typer(scale.app, name="scale")
app.add_typer(doctor.app, name="doctor")


def _version(show: bool) -> None:
    if show:
        typer.echo(f"specwatch {version('specwatch')}")
        raise typer.Exit


@app.callback()
def _root(
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Monitoring and SRE toolkit for LLM serving with speculative decoding."""


def run() -> None:
    """Entry point: a user's mistake is one line on stderr, never a traceback."""
    try:
        app()
    except UserError as error:
        typer.echo(f"specwatch: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        typer.echo(f"specwatch: {error.strerror or error}", err=True)
        sys.exit(1)
