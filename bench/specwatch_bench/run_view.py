"""What a run shows while it goes on: lines for what has happened, a bar for what is happening."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from specwatch_bench.cell import Cell, Start
from specwatch_bench.count_words import counted
from specwatch_bench.figures import Figures


class RunView(Protocol):
    """Is told what happens."""

    def note(self, text: str) -> None:
        """Something that a reader should know."""
        ...

    def starting(self, start: Start, cells: int) -> None:
        """An engine is being started for so many cells."""
        ...

    def ready(self, seconds: float) -> None:
        """It serves."""
        ...

    def failed(self, reason: str, last_lines: Sequence[str]) -> None:
        """It does not."""
        ...

    def measuring(self, cell: Cell, now: float, ended: int) -> None:
        """A cell goes on: measured seconds so far, negative in the warm-up, and requests ended."""
        ...

    def measured(self, cell: Cell, figures: Figures, length: float | None, notices: Sequence[str]) -> None:
        """A cell is done."""
        ...


class TerminalView:
    """Rich output; bars only on a terminal. A context manager that takes the bar away at its end."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(soft_wrap=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[ended]} requests"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bars.add_task("", total=None, ended=0)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def note(self, text: str) -> None:
        """See `RunView`."""
        self._console.print(escape(text))

    def starting(self, start: Start, cells: int) -> None:
        """See `RunView`."""
        name = start.engine.name
        self._console.print(f"[bold]{escape(name)}[/bold]: starting, {counted(cells, 'cell')} to measure")
        self._bars.reset(self._task, description=f"{escape(name)} starts", total=None, ended=0)

    def ready(self, seconds: float) -> None:
        """See `RunView`."""
        self._console.print(f"  ready after {seconds:.0f} s")

    def failed(self, reason: str, last_lines: Sequence[str]) -> None:
        """See `RunView`."""
        self._console.print(f"  [red]{escape(reason)}[/red]")
        for line in list(last_lines)[-8:]:
            self._console.print(f"    {escape(line[:300])}", style="dim", highlight=False)

    def measuring(self, cell: Cell, now: float, ended: int) -> None:
        """See `RunView`."""
        words = "warms up" if now < 0 else "drains" if now > cell.level.most_seconds else "measured"
        self._bars.update(
            self._task,
            description=f"{escape(cell.name)} {words}",
            total=cell.level.most_seconds,
            completed=max(now, 0.0),
            ended=ended,
        )

    def measured(self, cell: Cell, figures: Figures, length: float | None, notices: Sequence[str]) -> None:
        """See `RunView`."""
        tau = "" if length is None else f", τ {length:.2f}"
        self._console.print(
            f"  {escape(cell.name)}: {_number(figures.tok_s)} tok/s{tau}; "
            f"ttft {_pair(figures.ttft_p50, figures.ttft_p99)}, e2e {_pair(figures.e2e_p50, figures.e2e_p99)}, "
            f"per token {_pair(figures.token_p50, figures.token_p99)} ms; {counted(figures.requests, 'request')}"
            + (f", [red]{figures.failed} failed[/red]" if figures.failed else ""),
            highlight=False,
        )
        for notice in notices:
            self._console.print(f"    {escape(notice)}", style="yellow", highlight=False)


def _pair(median: float | None, tail: float | None) -> str:
    return f"{_number(median)}/{_number(tail)}"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"
