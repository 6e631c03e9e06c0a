"""Which dashboards a command of `specwatch dashboards` works on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from specwatch_cli.errors import UserError
from specwatch_dashboards.source import Source

Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILE...", help="JSON of dashboards. Default: specwatch's own.", show_default=False),
]
Sources = Annotated[Source, typer.Option(help="Which of specwatch's own, as for `build`.")]


def chosen(files: list[Path] | None, source: Source) -> dict[str, dict[str, Any]]:
    """The dashboards of the files, or specwatch's own, by uid."""
    from specwatch_dashboards.dashboard_files import (  # noqa: PLC0415 - not needed for --help
        DashboardFileError,
        read_dashboards,
    )

    if files:
        try:
            return read_dashboards(files)
        except DashboardFileError as error:
            raise UserError(str(error)) from error
    try:
        from specwatch_dashboards.build import build  # noqa: PLC0415 - needs the extra
    except ModuleNotFoundError as error:
        raise UserError(
            f"dashboards are built with {error.name}: pip install '.[dashboards]', or name JSON files", exit_code=2
        ) from error
    return build(source)
