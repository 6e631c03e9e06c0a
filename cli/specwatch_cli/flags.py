"""Command-line flags out of a settings table: the table says what they are called, take, and do."""

from __future__ import annotations

from typing import Any

import typer

from specwatch_exporters.sidecar.options import Option


def flag(option: Option, *, negatable: bool = False) -> Any:
    """A typer option for a row of a settings table; a negatable switch also has its `--no-` form."""
    name = f"{option.flag}/--no-{option.flag.removeprefix('--')}" if negatable else option.flag
    default = f" Default: {option.default_text}." if option.default_text else ""
    text = f"{option.help} Variable {option.variable}.{default}"
    return typer.Option(name, metavar=option.value or None, help=text, show_default=False)
