"""The picture of a replay: acceptance length above, evidence over threshold below, alarms through both.

Needs matplotlib (`pip install '.[detect]'`). Colours are Okabe and Ito's, which colour-blind readers can
tell apart; what a colour says, a shape or a word says, too.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from datetime import UTC
from itertools import groupby
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from specwatch_detectors.history import clock
from specwatch_detectors.reading import DriftState
from specwatch_detectors.replaying import Point, Replayed

BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
VERMILION: Final = "#D55E00"
GREY: Final = "#6B7280"
INK: Final = "#1F2937"
_MAX_POINTS: Final = 4_000
_SIZE: Final = (10.0, 6.2)
_DPI: Final = 150
_MOST_TITLE: Final = 90
_MOST_NAME: Final = 60
_TOP: Final = 1.6
"""Scores above are cut in the picture: over the threshold is over the threshold."""


def draw(found: Replayed, path: Path, *, title: str, change_at: float | None = None) -> None:
    """Draw a replay into a PNG file, as a whole or not at all.

    Args:
        found: the replay.
        path: of the PNG.
        title: first line of the heading.
        change_at: a known time of change to mark.

    Raises:
        OSError: the file cannot be written.
    """
    figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    points = _thinned(found.points)
    _lengths(upper, points)
    _scores(lower, points)
    for axes in (upper, lower):
        _style(axes)
        _spans(axes, found.points)
        _marks(axes, found, change_at)
    _words(upper, found, change_at)
    _heading(upper, title, _subtitle(found))
    new = path.with_name(f".{path.name}.new")
    try:
        with warnings.catch_warnings():  # a sign that the font lacks is a box in the picture
            warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
            figure.savefig(new, format="png", metadata={"Software": None})
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _heading(axes: Axes, title: str, subtitle: str) -> None:
    """Title and a line below it; names are cut, for the axes make room for all that is written."""
    axes.set_title(
        _cut(title, _MOST_TITLE), loc="left", fontsize=13, fontweight="bold", color=INK, pad=24, parse_math=False
    )
    axes.text(
        0.0, 1.035, subtitle, transform=axes.transAxes, fontsize=9, color=GREY, parse_math=False, in_layout=False
    )


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _subtitle(found: Replayed) -> str:
    history = found.history
    alarms = len(found.alarms)
    span = f"{history.days * 24:.1f} h in intervals of {history.interval_s:g} s"
    counted = f"{found.drafts_words} drafts, {alarms} alarm{'' if alarms == 1 else 's'}"
    return f"{_cut(history.model, _MOST_NAME)}: {span}, {counted}"


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    """Every so many points, so that a week stays a picture."""
    return points[:: max(1, len(points) // _MAX_POINTS)]


def _when(at: float) -> float:
    """Days since 1970, matplotlib's unit of dates."""
    return at / 86_400.0


def _lengths(axes: Axes, points: Sequence[Point]) -> None:
    known = [point for point in points if point.length is not None]
    times = [_when(point.at) for point in known]
    lengths = [point.length or 0.0 for point in known]
    axes.plot(times, lengths, ".", color=BLUE, alpha=0.18, markersize=3, label="one interval")
    recent = [point.recent if point.recent is not None else math.nan for point in points]
    axes.plot([_when(point.at) for point in points], recent, color=BLUE, linewidth=1.4, label="last ten intervals")
    base = [point.baseline if point.baseline is not None else math.nan for point in points]
    axes.plot([_when(point.at) for point in points], base, "--", color=INK, linewidth=1.2, label="baseline")
    axes.set_ylabel("mean acceptance length\n(tokens per draft step)", color=INK)
    if lengths:
        ordered = sorted(lengths)
        low, high = ordered[len(ordered) // 500], ordered[-1 - len(ordered) // 500]
        axes.set_ylim(low - 0.12 * (high - low) - 0.01, high + 0.12 * (high - low) + 0.01)
    legend = axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False, fontsize=8)
    legend.set_in_layout(False)


def _scores(axes: Axes, points: Sequence[Point]) -> None:
    times = [_when(point.at) for point in points]
    scores = [math.nan if point.score is None else min(_TOP, point.score) for point in points]
    axes.plot(times, scores, color=VERMILION, linewidth=1.3)
    axes.fill_between(times, [0.0 if math.isnan(score) else score for score in scores], color=VERMILION, alpha=0.12)
    axes.axhline(1.0, color=INK, linewidth=1.2, linestyle="--")
    axes.text(0.004, 1.03, "alarm threshold", transform=axes.get_yaxis_transform(), fontsize=8, color=INK)
    axes.set_ylim(0.0, _TOP)
    axes.set_ylabel("evidence of drift\n(score / threshold)", color=INK)
    axes.set_xlabel("time (UTC)", color=INK)


def _style(axes: Axes) -> None:
    axes.grid(visible=True, color="#D1D5DB", linewidth=0.6, alpha=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#9CA3AF")
    axes.tick_params(colors=INK, labelsize=8.5)
    locator = AutoDateLocator(tz=UTC, minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
    axes.margins(x=0.01)


def _spans(axes: Axes, points: Sequence[Point]) -> None:
    """Shade the time in which the draft counts as drifted, hatch that of a shifted mix."""
    for kind, group in groupby(points, key=_kind):
        own = list(group)
        if kind == "drifted":
            axes.axvspan(_when(own[0].at), _when(own[-1].at), color=VERMILION, alpha=0.08, linewidth=0)
        elif kind == "mix":
            axes.axvspan(_when(own[0].at), _when(own[-1].at), facecolor=ORANGE, alpha=0.12, linewidth=0)


def _kind(point: Point) -> str:
    if point.state is DriftState.DRIFTED:
        return "drifted"
    return "mix" if point.mix_shift else ""


def _marks(axes: Axes, found: Replayed, change_at: float | None) -> None:
    for change in found.history.changes:
        axes.axvline(_when(change.at), color=GREY, linewidth=1.0, linestyle=":")
    if change_at is not None:
        axes.axvline(_when(change_at), color=GREY, linewidth=1.0, linestyle=":")
    for alarm in found.alarms:
        axes.axvline(_when(alarm.at), color=VERMILION, linewidth=1.4)


def _words(axes: Axes, found: Replayed, change_at: float | None) -> None:
    """What the lines are, once each, where there is room; the first of many alarms stands for all."""
    top = axes.get_xaxis_transform()
    notes = [(change.at, change.words, GREY) for change in found.history.changes[:3] if change.was]
    if change_at is not None and not notes:
        notes.append((change_at, "change", GREY))
    if found.mix_shifts:
        notes.append((found.mix_shifts[0].at, "change of mix, no alarm", "#8A5A00"))
    for number, (at, words, colour) in enumerate(notes):
        axes.text(
            _when(at),
            0.98 - 0.07 * number,
            f"{_cut(words, _MOST_NAME)} ",
            transform=top,
            color=colour,
            ha="right",
            va="top",
            fontsize=8,
            parse_math=False,
            in_layout=False,
        )
    if found.alarms:
        first = found.alarms[0]
        words = f" alarm {clock(first.at)[11:]}"
        axes.text(
            _when(first.at), 0.98, words, transform=top, color=VERMILION, va="top", fontsize=8.5, weight="bold"
        )
