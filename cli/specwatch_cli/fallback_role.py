"""`specwatch fallback role`: the rights that a configuration needs in Kubernetes, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError
from specwatch_cli.fallback_config_file import CONFIG, read_config
from specwatch_cli.fallback_levers import roles


def role_command(config: Annotated[Path, CONFIG]) -> None:
    """Print the Role for the ServiceAccount of the controller, as YAML for `kubectl apply`."""
    known = read_config(config)
    try:
        typer.echo(roles(known), nl=False)
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed: pip install '.[kube]'", exit_code=2) from error
    except ValueError as error:
        raise UserError(str(error), exit_code=2) from error
