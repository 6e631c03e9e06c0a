"""`specwatch detect replay`: a past history through the detectors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from specwatch_cli.detect_replay_view import as_json, as_text
from specwatch_cli.detect_values import duration, moment, part
from specwatch_cli.errors import UserError
from specwatch_detectors.history import History, HistoryError, clock
from specwatch_detectors.history_file import read_history
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.profile import Profile, ProfileError, load_profile
from specwatch_detectors.profile_use import ProfileUse
from specwatch_detectors.replaying import Replayed, replay
from specwatch_detectors.threshold import Budget


class Format(StrEnum):
    """How the answer is printed."""

    TEXT = "text"
    JSON = "json"


def replay_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV (columns: docs/detect.md) or what Prometheus's /api/v1/query_range answered, plain or gzip.",
        ),
    ],
    profile: Annotated[
        Path | None, typer.Option(metavar="PROFILE", help="From `detect calibrate`; else the baseline is learned.")
    ] = None,
    interval: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Length of an interval; default: the file's own.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="OUT.png", help="Draw acceptance, evidence and alarms (matplotlib).")
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TEXT,
    change_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When acceptance is known to have changed: gives the delay.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="One model of several.")] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Leave out what is before.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Leave out what is after.")] = None,
    pages: Annotated[float, typer.Option(metavar="N", help="False pages allowed in 30 days, per model.")] = 1.0,
    fail_on_alarm: Annotated[
        bool, typer.Option("--fail-on-alarm", help="Exit with 1 if there was any alarm.")
    ] = False,
) -> None:
    """Run a history through the detectors: what they learn, when they alarm, how late, and why.

    Exit status: 0, or 1 with --fail-on-alarm if there was an alarm; 2 when an input cannot be used.
    """
    if not 0.0 < pages <= 1e6:
        raise UserError(f"--pages must be positive, got {pages:g}", exit_code=2)
    if picture is not None and picture.suffix.lower() != ".png":
        raise UserError(f"--picture {picture}: the picture is a PNG; name it so", exit_code=2)
    changed = moment("--change-at", change_at)
    history = _history(file, interval)
    history = part(history, model, moment("--from", start), moment("--to", end))
    _check_change(changed, history)
    if picture is not None and len(history.models) > 1:
        raise UserError(f"--picture draws one model; add --model: {', '.join(history.models)}", exit_code=2)
    known = _profile(profile)
    if known is not None:
        history = replace(history, notes=(*history.notes, *_remarks(known, history)))
    settings = MonitorSettings(budget=Budget(pages, history.interval_s))
    found = [
        replay(own, settings, None if known is None else known.calibrations(name))
        for name, own in history.models.items()
    ]
    if output is Format.JSON:
        typer.echo(json.dumps(as_json(history, found, changed), indent=1, allow_nan=False))
    else:
        typer.echo("\n".join(as_text(history, found, changed)))
    if picture is not None:
        made_up = any(note.startswith("Synthetic") for note in history.notes)
        name = f"{file.name} (synthetic traffic)" if made_up else file.name
        _draw(found[0], picture, name, changed, quiet=output is Format.JSON)
    if fail_on_alarm and any(one.alarms for one in found):
        raise typer.Exit(1)


def _history(file: Path, interval: str | None) -> History:
    try:
        return read_history(file, None if interval is None else duration("--interval", interval))
    except HistoryError as error:
        raise UserError(str(error), exit_code=2) from error


def _check_change(changed: float | None, history: History) -> None:
    """A change that the history does not show cannot be found, and alarms before it are not false for that."""
    first = min(own.intervals[0].at - history.interval_s for own in history.models.values())
    last = max(own.intervals[-1].at for own in history.models.values())
    if changed is not None and not first <= changed <= last:
        raise UserError(f"--change-at: the history is of {clock(first)} to {clock(last)}", exit_code=2)


def _remarks(profile: Profile, history: History) -> Iterator[str]:
    """What to know of a profile that is not made for this history."""
    use = ProfileUse(profile)
    yield from filter(None, map(use.remark, history.models))
    if profile.interval_s != history.interval_s:
        own = f"{history.interval_s:g} s"
        yield f"the profile was made with intervals of {profile.interval_s:g} s, these are {own} long"


def _profile(path: Path | None) -> Profile | None:
    if path is None:
        return None
    try:
        return load_profile(path)
    except ProfileError as error:
        raise UserError(str(error), exit_code=2) from error


def _draw(found: Replayed, path: Path, name: str, changed: float | None, *, quiet: bool) -> None:
    try:
        from specwatch_detectors.score_picture import draw  # noqa: PLC0415 - matplotlib, for this option only
    except ModuleNotFoundError as error:
        raise UserError(f"--picture needs matplotlib: pip install '.[detect]' ({error})") from error
    try:
        draw(found, path, title=f"Drift replay: {name}", change_at=changed)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from error
    if not quiet:
        typer.echo(f"\nwrote {path}")
