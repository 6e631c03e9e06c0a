"""Assembly of the command line: commands and groups are named here, errors become one line here."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Final

import typer

from specwatch_cli.errors import UserError

COMMANDS: Final = ("inspect", "inject", "demo")
"""Commands: module `specwatch_cli.NAME` holds the function `NAME_command`."""

GROUPS: Final = (
    "exporter",
    "proxy",
    "classes",
    "detect",
    "fallback",
    "bench",
    "alerts",
    "slack",
    "dashboards",
    "scale",
    "doctor",
)
"""Groups of commands: module `specwatch_cli.NAME` holds the group `app`."""


def command_line(asked: str = "") -> typer.Typer:
    """The command line.

    Args:
        asked: name of the one command or group that is wanted. What is loaded here, a sidecar carries in every pod:
            only this one is loaded, or all of them where none has this name, for help and for mistakes.
    """
    app = typer.Typer(
        name="specwatch",
        help="Monitoring and SRE toolkit for LLM serving with speculative decoding.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    one = asked in COMMANDS or asked in GROUPS
    for name in COMMANDS:
        if name == asked or not one:
            app.command(name)(getattr(import_module(f"specwatch_cli.{name}"), f"{name}_command"))
    for name in GROUPS:
        if name == asked or not one:
            app.add_typer(import_module(f"specwatch_cli.{name}").app, name=name)
    return app


def _version(show: bool) -> None:
    if show:
        typer.echo(f"specwatch {version('specwatch')}")
        raise typer.Exit


def _root(
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Monitoring and SRE toolkit for LLM serving with speculative decoding."""


def run() -> None:
    """Entry point: a user's mistake is one line on stderr, never a traceback."""
    try:
        command_line(next(iter(sys.argv[1:]), ""))()
    except UserError as error:
        typer.echo(f"specwatch: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        name = "" if error.filename is None else f"{error.filename}: "
        typer.echo(f"specwatch: {name}{error.strerror or error}", err=True)
        sys.exit(1)
    except UnicodeEncodeError as error:
        letter = ascii(error.object[error.start])
        typer.echo(
            f"specwatch: the output takes {error.encoding} only, which has no {letter}; set PYTHONIOENCODING=utf-8",
            err=True,
        )
        sys.exit(1)
