"""`specwatch detect calibrate`: a profile from days of history."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.detect_values import duration, moment, part
from specwatch_cli.errors import UserError
from specwatch_detectors.calibrate import CalibrationRefusedError, alarm_bound, calibrate, least_days
from specwatch_detectors.history import DAY_S, History, HistoryError, clock
from specwatch_detectors.history_file import read_history
from specwatch_detectors.history_live import connect, fetch_history
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.profile import Profile, StreamProfile
from specwatch_detectors.request_records import Records, read_records
from specwatch_detectors.threshold import Budget


def calibrate_command(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="CSV (columns: docs/detect.md) or what Prometheus's /api/v1/query_range answered, plain or gzip.",
            show_default=False,
        ),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this Prometheus instead of reading a file.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="PROFILE", help="Where to write the profile.")] = Path(
        "specwatch-profile.json"
    ),
    days: Annotated[float, typer.Option(metavar="N", help="Days to ask Prometheus for, up to now.")] = 8.0,
    interval: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Length of an interval; default: the file's own, 10s of Prometheus."),
    ] = None,
    match: Annotated[
        str, typer.Option(metavar="MATCHERS", help='Label matchers for Prometheus, such as namespace="llm".')
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with a bearer token for Prometheus.")
    ] = None,
    requests: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Records of requests: drafts, accepted; class, model where known."),
    ] = None,
    pages: Annotated[float, typer.Option(metavar="N", help="False pages allowed in 30 days, per model.")] = 1.0,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="One model of several.")] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Leave out what is before.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Leave out what is after.")] = None,
) -> None:
    """Fit baseline, design effect and threshold to at least 7 quiet days, replay them, and write one profile.

    Refuses, with every reason, when the data cannot certify the budget; then nothing is written.

    Exit status: 0, 1 when refused, 2 when an input cannot be used.
    """
    if not 0.0 < pages <= 1e6:
        raise UserError(f"--pages must be positive, got {pages:g}", exit_code=2)
    if (file is None) == (prometheus is None):
        raise UserError("say either FILE or --prometheus URL", exit_code=2)
    first, last = moment("--from", start), moment("--to", end)
    step = None if interval is None else duration("--interval", interval)
    now = time.time()
    try:
        if file is not None:
            history = read_history(file, step)
        else:
            until = now if last is None else last
            begin = until - max(days, least_days(pages)) * DAY_S if first is None else first
            history = _ask(prometheus or "", begin, until, step or 10.0, match, token_file)
        history = part(history, model, first, last)
        records = {name: _records(requests, name) for name in history.models}
    except HistoryError as error:
        raise UserError(str(error), exit_code=2) from error
    _write(_fit(history, pages, now, records), out)


def _ask(url: str, start: float, end: float, step: float, match: str, token_file: Path | None) -> History:
    try:
        headers = {} if token_file is None else {"Authorization": f"Bearer {token_file.read_text().strip()}"}
        client = connect(url, headers)
    except OSError as error:
        raise UserError(f"{token_file}: {error.strerror or error}", exit_code=2) from error
    except ModuleNotFoundError as error:
        words = "--prometheus needs prometheus-api-client: pip install '.[detect]'"
        raise UserError(f"{words} ({error})") from error
    return fetch_history(
        client,
        start=start,
        end=end,
        interval_s=step,
        source=f"Prometheus, {clock(start)} to {clock(end)}",
        matchers=match,
        progress=lambda words: typer.echo(f"asking for {words}", err=True),
    )


def _records(path: Path | None, model: str) -> Records:
    if path is None:
        return {}
    try:
        with path.open(encoding="utf-8") as file:
            return read_records(file, str(path), model)
    except UnicodeDecodeError as error:
        raise HistoryError(f"{path}: not UTF-8 text ({error.reason})") from error
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror or error}") from error


def _fit(history: History, pages: float, now: float, records: dict[str, Records]) -> Profile:
    settings = MonitorSettings(budget=Budget(pages, history.interval_s))
    try:
        return calibrate(history, settings, created=now, requests=records)
    except CalibrationRefusedError as error:
        for reason in error.reasons:
            typer.echo(f"refused: {reason}", err=True)
        count = len(error.reasons)
        raise UserError(f"no profile was written: {count} reason{'' if count == 1 else 's'} above") from error


def _write(profile: Profile, out: Path) -> None:
    try:
        profile.save(out)
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror or error}") from error
    for note in profile.notes:
        typer.echo(f"note: {note}")
    for name, own in profile.models.items():
        days = (own.end - own.start) / DAY_S
        typer.echo(f"{name}: {days:.1f} days, K {own.depth}")
        for label, stream in own.streams.items():
            typer.echo(f"  {label or 'all traffic'}: {_words(stream)}")
        shown = f"no alarm in {days:.1f} days of replay: by itself that shows fewer than {alarm_bound(days):.0f}"
        typer.echo(f"  {shown} in 30 days (95 %); the threshold is made for {profile.false_pages:g}")
    typer.echo(f"wrote {out}")


def _words(stream: StreamProfile) -> str:
    counts = stream.baseline.counts
    length = f"acceptance length {counts.length or 0.0:.3f} of {counts.drafts:,.0f} drafts"
    design = f"design effect {stream.design:.1f} ({stream.design_from})"
    return f"{length}, {design}, threshold {stream.threshold:.2f}, replay reached {stream.largest_score:.2f}"
