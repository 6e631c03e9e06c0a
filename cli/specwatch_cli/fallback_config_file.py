"""The configuration that `specwatch fallback` commands are given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from specwatch_cli.errors import UserError

if TYPE_CHECKING:
    from specwatch_detectors.fallback.fallback_config import FallbackConfig

CONFIG: Final = typer.Option(
    "--config", metavar="FILE", help="Configuration in TOML; docs/fallback.md has each key."
)


def read_config(path: Path) -> FallbackConfig:
    """Read it.

    Raises:
        UserError: it cannot be used.
    """
    from specwatch_detectors.fallback.config_table import ConfigError  # noqa: PLC0415 - not needed for --help
    from specwatch_detectors.fallback.fallback_config import load_config  # noqa: PLC0415 - likewise

    try:
        return load_config(path)
    except ConfigError as error:
        raise UserError(str(error), exit_code=2) from error
