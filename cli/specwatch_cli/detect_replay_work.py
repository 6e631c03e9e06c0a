"""The work of `specwatch detect replay`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

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


@dataclass(frozen=True)
class Order:
    """What the command was told; see its flags."""

    file: Path
    profile: Path | None
    interval: str | None
    picture: Path | None
    as_json: bool
    change_at: str | None
    model: str | None
    start: str | None
    end: str | None
    pages: float


def replay_order(order: Order) -> bool:
    """Run the history through the detectors and print what they found.

    Returns:
        Whether there was an alarm.

    Raises:
        UserError: an input cannot be used.
    """
    changed = moment("--change-at", order.change_at)
    history = _history(order.file, order.interval)
    history = part(history, order.model, moment("--from", order.start), moment("--to", order.end))
    _check_change(changed, history)
    if order.picture is not None and len(history.models) > 1:
        raise UserError(f"--picture draws one model; add --model: {', '.join(history.models)}", exit_code=2)
    known = _profile(order.profile)
    if known is not None:
        history = replace(history, notes=(*history.notes, *_remarks(known, history)))
    settings = MonitorSettings(budget=Budget(order.pages, history.interval_s))
    found = [
        replay(own, settings, None if known is None else known.calibrations(name))
        for name, own in history.models.items()
    ]
    if order.as_json:
        typer.echo(json.dumps(as_json(history, found, changed), indent=1, allow_nan=False))
    else:
        typer.echo("\n".join(as_text(history, found, changed)))
    if order.picture is not None:
        made_up = any(note.startswith("Synthetic") for note in history.notes)
        name = f"{order.file.name} (synthetic traffic)" if made_up else order.file.name
        _draw(found[0], order.picture, name, changed, quiet=order.as_json)
    return any(one.alarms for one in found)


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
