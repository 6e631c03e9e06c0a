"""The work of `specwatch detect calibrate`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Order:
    """What the command was told; see its flags."""

    file: Path | None
    prometheus: str
    out: Path
    days: float
    interval: str | None
    match: str
    token_file: Path | None
    requests: Path | None
    pages: float
    model: str | None
    start: str | None
    end: str | None


def calibrate_order(order: Order) -> None:
    """Read the history, fit, replay, and write the profile.

    Raises:
        UserError: an input cannot be used, or the data cannot certify the budget.
    """
    first, last = moment("--from", order.start), moment("--to", order.end)
    step = None if order.interval is None else duration("--interval", order.interval)
    now = time.time()
    try:
        if order.file is not None:
            history = read_history(order.file, step)
        else:
            until = now if last is None else last
            begin = until - max(order.days, least_days(order.pages)) * DAY_S if first is None else first
            history = _ask(order.prometheus, begin, until, step or 10.0, order.match, order.token_file)
        history = part(history, order.model, first, last)
        records = {name: _records(order.requests, name) for name in history.models}
    except HistoryError as error:
        raise UserError(str(error), exit_code=2) from error
    _write(_fit(history, order.pages, now, records), order.out)


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
