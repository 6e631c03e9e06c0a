"""Draw a classifier's figures and a model's contents for a person."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from specwatch_cli.inspect_view import percent
from specwatch_exporters.classes.evaluation import Evaluation
from specwatch_exporters.classes.model import Model


def print_evaluation(result: Evaluation, title: str, console: Console | None = None) -> None:
    """Print accuracy, one row per class with what its prompts were taken for, and one per source."""
    console = console or Console()
    console.print(f"[bold]{escape(title)}[/]", highlight=False, soft_wrap=True)
    console.print(
        f"accuracy {percent(result.accuracy)} of {result.examples:,} prompts, "
        f"mean of the classes' recalls {percent(result.balanced_accuracy)}",
        highlight=False,
        soft_wrap=True,
    )
    console.print(_classes(result))
    if result.sources:
        console.print(_sources(result))


def print_model(model: Model, title: str, console: Console | None = None) -> None:
    """Print what a model file holds."""
    console = console or Console()
    console.print(
        f"[bold]{escape(title)}[/]  {len(model.classes)} classes, {model.buckets:,} buckets",
        highlight=False,
        soft_wrap=True,
    )
    examples, held_out = model.training.get("examples"), model.training.get("held_out")
    recalls = held_out.get("recall") if isinstance(held_out, dict) else None
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("class", "prompts", "held-out recall"):
        table.add_column(heading, justify="left" if heading == "class" else "right")
    for name in model.classes:
        table.add_row(name, _count(_entry(examples, name)), _share(_entry(recalls, name)))
    console.print(table)
    accuracy = _share(_entry(held_out, "accuracy"))
    console.print(
        f"held-out accuracy {accuracy}; a blank prompt is '{model.fallback}'", highlight=False, soft_wrap=True
    )


def _classes(result: Evaluation) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("class")
    for heading in ("prompts", "precision", "recall", *(f"→ {name}" for name in result.classes)):
        table.add_column(heading, justify="right")
    for row in result.per_class:
        given = (result.confusion.get((row.name, name), 0) for name in result.classes)
        cells = (
            f"[bold green]{count:,}[/]" if name == row.name else f"{count:,}" if count else "[dim]0[/]"
            for name, count in zip(result.classes, given, strict=True)
        )
        table.add_row(row.name, f"{row.examples:,}", percent(row.precision), percent(row.recall), *cells)
    return table


def _sources(result: Evaluation) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("source", "class", "prompts", "recall"):
        table.add_column(heading, justify="left" if heading in {"source", "class"} else "right")
    for row in result.sources:
        table.add_row(escape(row.source), row.name, f"{row.examples:,}", percent(row.recall))
    return table


def _entry(facts: object, name: str) -> object:
    """What a model file says about itself is for people and may be anything."""
    return facts.get(name) if isinstance(facts, dict) else None


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "unknown"


def _share(value: object) -> str:
    return percent(value) if isinstance(value, float) else "unknown"
