"""How a matrix is run here: folders, limits, which part of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Settings of one run.

    Attributes:
        out: folder of the results.
        python: interpreter that has the engines installed.
        environment: variables that engines inherit.
        shapes: folder of the model shapes' configurations.
        models: folder in which they are made.
        stop_after: seconds after which nothing new is begun; None for no limit.
        seconds_per_level: replaces the measured time of every level, and so its longest; None leaves them.
        engines: names of the engines to run; empty for all.
        retry_failed: run cells again that ended without figures.
    """

    out: Path
    python: str
    environment: Mapping[str, str] = field(default_factory=dict)
    shapes: Path
    models: Path
    stop_after: float | None = None
    seconds_per_level: float | None = None
    engines: tuple[str, ...] = ()
    retry_failed: bool = False
