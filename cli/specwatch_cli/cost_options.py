"""Options of the commands that put a price on tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Results = Annotated[
    Path, typer.Argument(metavar="RESULTS_DIR", help="Folder that `run` wrote, or a folder of such folders.")
]
GpuHour = Annotated[
    float | None, typer.Option(metavar="USD", help="Price of a GPU hour. Default: that of the alerts' values.")
]
Utilisation = Annotated[
    float | None, typer.Option(metavar="SHARE", help="Share of the paid time with this load. Default: 0.5.")
]
Prices = Annotated[
    Path | None, typer.Option(metavar="FILE", help="List prices instead of the shipped ones (docs/bench-cost.md).")
]
