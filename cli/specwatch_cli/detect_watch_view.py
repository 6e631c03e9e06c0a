"""Draw the verdicts on a fleet for a person: one row per model, one per traffic class below it."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.reading import DriftState, Reading

UNKNOWN = "unknown"
_STYLE = {
    DriftState.OK: "bold green",
    DriftState.WATCH: "bold yellow",
    DriftState.DRIFTED: "bold red",
    DriftState.CANNOT_TELL: "bold cyan",
}


def print_readings(readings: Mapping[str, ModelReading], console: Console | None = None) -> None:
    """Print what is known of each model."""
    console = console or Console()
    table = Table(pad_edge=False)
    table.add_column("model", overflow="fold")
    table.add_column("state")
    for name in ("score", "length", "baseline", "alarms"):
        table.add_column(name, justify="right")
    table.add_column("why", overflow="fold")
    for model, whole in sorted(readings.items()):
        table.add_row(Text(model, style="bold"), *_cells(whole.verdict), end_section=not whole.classes)
        for number, (own, reading) in enumerate(sorted(whole.classes.items()), start=1):
            table.add_row(Text(f"  {own}"), *_cells(reading), end_section=number == len(whole.classes))
    console.print(table)


def _cells(reading: Reading) -> tuple[Text, ...]:
    return (
        Text(reading.state.value.replace("_", " "), style=_STYLE[reading.state]),
        Text(_number(reading.score)),
        Text(_number(reading.length)),
        Text(_number(reading.baseline_length)),
        Text(str(reading.alarms)),
        Text(reading.reason + ("" if reading.over is None else f"; {reading.over:.0%} of the way to its end")),
    )


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"
