"""The picture of a drift alert: acceptance length before and after its start, against the baseline.

Needs matplotlib (`pip install '.[detect]'`). Colours are Okabe and Ito's, for colour-blind readers.
"""

from __future__ import annotations

import io
import warnings
from datetime import UTC
from typing import Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

_BLUE: Final = "#0072B2"
_VERMILION: Final = "#D55E00"
_INK: Final = "#1F2937"
_DAY_S: Final = 86_400.0


def draw_acceptance(model: str, points: list[tuple[float, float]], baseline: float | None, began: float) -> bytes:
    """PNG of 1000 x 450 pixels.

    Args:
        model: in the heading.
        points: epoch seconds and tokens per draft step, in order of time.
        baseline: tokens per draft step, or None.
        began: start of the alert, epoch seconds.
    """
    figure = Figure(figsize=(8.0, 3.6), dpi=125, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.plot([at / _DAY_S for at, _ in points], [value for _, value in points], color=_BLUE, linewidth=1.6)
    if baseline is not None:
        axes.axhline(baseline, color=_INK, linestyle="--", linewidth=1.1, label=f"baseline {baseline:.2f}")
    axes.axvline(began / _DAY_S, color=_VERMILION, linewidth=1.4, label="alert begins")
    axes.set_ylabel("tokens per draft step", color=_INK)
    axes.set_title(f"Acceptance length: {model[:80]}", loc="left", fontweight="bold", color=_INK, parse_math=False)
    locator = AutoDateLocator(tz=UTC)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
    axes.set_xlabel("time (UTC)", color=_INK)
    axes.grid(visible=True, color="#D1D5DB", linewidth=0.6)
    axes.legend(loc="best", frameon=False, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    picture = io.BytesIO()
    with warnings.catch_warnings():  # a sign that the font lacks is a box in the picture
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()
