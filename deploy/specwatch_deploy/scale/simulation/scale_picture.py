"""A picture of a comparison: replicas over time, requests waiting, and who paid what for which service."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from specwatch_deploy.scale.simulation.comparison import Comparison, Result
from specwatch_deploy.scale.simulation.score import WARM_UP_S

mpl.use("Agg")
_OURS, _GREY = "#c2410c", "#9ca3af"
_SHOWN = ("#2563eb", "#7c3aed", "#059669", "#b45309", "#db2777", "#64748b")


def draw(found: Comparison, path: Path) -> None:
    """Draw it into a file; its ending says the kind.

    Raises:
        OSError: the file cannot be written.
        ValueError: matplotlib does not know the ending.
    """
    figure = Figure(figsize=(11.0, 6.5), layout="constrained")
    axes = figure.subplot_mosaic([["replicas", "cost"], ["waiting", "cost"]], width_ratios=[2.0, 1.0])
    above, below, right = axes["replicas"], axes["waiting"], axes["cost"]
    lines = [(found.ours, _OURS), *zip(found.peers, _SHOWN, strict=False)]
    for result, colour in reversed(lines):
        wide = 2.2 if result is found.ours else 1.0
        minutes = [at / 60.0 for at, *_ in result.rounds]
        above.step(minutes, [row[1] for row in result.rounds], where="post", color=colour, linewidth=wide)
        below.plot(minutes, [max(0.5, row[3]) for row in result.rounds], color=colour, linewidth=wide)
    above.set_ylabel("replicas asked for")
    below.set_ylabel("requests waiting")
    below.set_yscale("log")
    below.set_xlabel("minutes")
    above.set_title(f"{found.trace.name}: {found.trace.text} (simulated)", loc="left")
    for plan in found.plans:
        right.plot(100.0 * plan.score.attained, plan.score.pod_seconds / 3600.0, "x", color=_GREY)
    for result, colour in lines:
        _point(right, result, colour)
    right.set_xlabel("% of requests within the objective")
    right.set_ylabel("pod hours")
    right.set_title("x: plans that know every arrival", loc="left", fontsize=9)
    for each in (above, below):
        each.set_xlim(left=WARM_UP_S / 60.0)
    for each in axes.values():
        each.grid(alpha=0.3)
    figure.legend(
        *right.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9, frameon=False
    )
    figure.savefig(path, dpi=110)


def _point(axes: Axes, result: Result, colour: str) -> None:
    score = result.score
    size = 90 if colour == _OURS else 40
    axes.scatter(
        100.0 * score.attained, score.pod_seconds / 3600.0, s=size, color=colour, label=result.name, zorder=3
    )
