"""Draw a comparison of scalers for a person."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from specwatch_deploy.scale.simulation.comparison import Comparison
from specwatch_deploy.scale.simulation.comparison_words import HEAD, row, told, verdicts
from specwatch_deploy.scale.simulation.contenders import SimulationSettings


def print_comparison(found: Comparison, settings: SimulationSettings, console: Console | None = None) -> None:
    """Print the table and what it says."""
    console = console or Console()
    table = Table(box=None, pad_edge=False)
    for index, name in enumerate(HEAD):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    table.add_row(*row(found.ours), style="bold")
    for peer in found.peers:
        table.add_row(*row(peer))
    console.print(told(found, settings), highlight=False)
    console.print()
    console.print(table)
    console.print()
    for text in verdicts(found):
        console.print(text, highlight=False)
