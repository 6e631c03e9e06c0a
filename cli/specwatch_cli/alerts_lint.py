"""`specwatch alerts lint`: what promtool does not find in rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.errors import UserError


def lint_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A rule file or a PrometheusRule.")],
    scrape_interval: Annotated[
        str, typer.Option(metavar="TIME", help="Scrape interval of the series, such as 15s or 1m.")
    ] = "15s",
) -> None:
    """Find what makes rules lie: rates of gauges, ratios without a guard, labels that do not exist, and more.

    `specwatch doctor` holds rules, dashboards and scalers against a version's own metrics, renamed ones included.
    """
    import yaml  # noqa: PLC0415 - only here

    try:
        from specwatch_alerts.lint import lint  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed: pip install '.[rules]'", exit_code=2) from error
    try:
        loaded = yaml.safe_load_all(file.read_text(encoding="utf-8"))
        documents = [document for document in loaded if document is not None]
        findings = [one for document in documents for one in lint(document, scrape_interval)]
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}", exit_code=2) from error
    except yaml.YAMLError as error:
        raise UserError(f"{file} is not YAML: {error}", exit_code=2) from error
    except ValueError as error:
        raise UserError(f"{file}: {error}", exit_code=2) from error
    if not documents:
        raise UserError(f"{file}: it is empty", exit_code=2)
    for one in findings:
        typer.echo(f"{one.group} / {one.rule}: {one.code}: {one.message}")
    if findings:
        raise typer.Exit(1)
    typer.echo(f"{file}: clean")
