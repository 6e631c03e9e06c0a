"""`specwatch dashboards preview`: dashboards as pages, without Grafana."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from specwatch_alerts.durations import seconds_of
from specwatch_cli.dashboards_chosen import Files, Sources, chosen
from specwatch_cli.errors import UserError
from specwatch_dashboards.preview.look import Look
from specwatch_dashboards.source import Source


def preview_command(
    prometheus: Annotated[str, typer.Option(metavar="URL", help="Prometheus whose answers are drawn.")],
    files: Files = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write the pages into.")] = Path(
        "specwatch-preview"
    ),
    source: Sources = Source.SIDECAR,
    since: Annotated[
        str, typer.Option(metavar="DURATION", help="How far back, such as 90m. Default: as the dashboard says.")
    ] = "",
    scrape_interval: Annotated[
        str, typer.Option(metavar="DURATION", help="Scrape interval, as in Grafana's data source.")
    ] = "15s",
    var: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Set a variable; again for several values. Default: All."),
    ] = None,
    look: Annotated[Look, typer.Option(help="Colours at first; auto is the reader's own setting.")] = Look.AUTO,
    picture: Annotated[
        bool, typer.Option("--picture", help="A PNG beside each page too, taken with Chromium.")
    ] = False,
    chromium: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Chromium to use. Default: the one on the path.", show_default=False),
    ] = None,
) -> None:
    """Draw each dashboard as one HTML page from its JSON and live answers, for review without Grafana.

    The pages hold no scripts and need nothing from elsewhere. Times on them are UTC.

    Exit status: 0, 1 when Prometheus or a file cannot be used, 2 for wrong usage or without the extra `dashboards`.
    """
    # Not needed for --help, nor by what runs beside an engine.
    from specwatch_dashboards.preview.page_style import WIDTH_PX  # noqa: PLC0415
    from specwatch_dashboards.preview.picture import PictureError, browser, take  # noqa: PLC0415
    from specwatch_dashboards.preview.preview_set import Order, preview  # noqa: PLC0415
    from specwatch_dashboards.preview.prometheus_api import PrometheusApi, QueryError  # noqa: PLC0415
    from specwatch_dashboards.preview.time_span import SpanError  # noqa: PLC0415

    try:
        api = PrometheusApi(prometheus)
    except ValueError as error:
        raise UserError(f"--prometheus: {error}", exit_code=2) from error
    order = Order(
        now=time.time(),
        since_s=_seconds("--since", since) if since else None,
        scrape_s=_seconds("--scrape-interval", scrape_interval),
        chosen=_values(var or []),
        look=look,
    )
    boards = chosen(files, source)
    try:
        program = browser(chromium) if picture else None
        for drawn in preview(boards, api, out, order):
            typer.echo(f"wrote {drawn.path}")
            if program is not None:
                png = drawn.path.with_suffix(".png")
                take(program, drawn.path, png, WIDTH_PX, drawn.height)
                typer.echo(f"wrote {png}")
    except (QueryError, SpanError, PictureError) as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(f"cannot write {error.filename or out}: {error.strerror}") from error


def _seconds(option: str, text: str) -> float:
    try:
        seconds = seconds_of(text)
    except ValueError as error:
        raise UserError(f"{option}: {error}", exit_code=2) from error
    if not seconds:
        raise UserError(f"{option} must be longer than nothing", exit_code=2)
    return seconds


def _values(texts: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UserError(f"--var {text!r}: it is NAME=VALUE", exit_code=2)
        found.setdefault(name, []).append(value)
    return found
