"""The tables of docs/traffic-classes.md: sources and their licences, and every figure of the shipped model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from classes_corpus.packages import PACKAGES
from classes_corpus.sources import Source
from specwatch_exporters.classes.evaluation import Evaluation, SourceResult

PAGE = Path(__file__).parents[2] / "docs" / "traffic-classes.md"


def sources_table(sources: Iterable[Source]) -> str:
    rows = []
    for source in sorted(sources, key=lambda source: source.class_name):
        text = (source.make.__doc__ or "").strip().removesuffix(".")
        origin = "; ".join(
            f"{name} {PACKAGES[name].version} ({PACKAGES[name].licence})" for name in source.packages
        )
        rows.append((source.class_name, source.name, text, origin or "written for this project (Apache-2.0)"))
    return table(("class", "source", "what it is", "package, version, licence"), rows)


def evaluation_tables(result: Evaluation) -> str:
    head = ("class", "prompts", "precision", "recall", *(f"given {name}" for name in result.classes))
    rows = [
        (
            row.name,
            f"{row.examples:,}",
            share(row.precision),
            share(row.recall),
            *(f"{result.confusion.get((row.name, name), 0):,}" for name in result.classes),
        )
        for row in result.per_class
    ]
    summary = f"Accuracy {share(result.accuracy)} of {result.examples:,} prompts"
    mean = f"mean recall of the classes {share(result.balanced_accuracy)}"
    return f"{summary}; {mean}.\n\n{table(head, rows)}\n\n{recall_table(result.sources)}"


def recall_table(rows: Sequence[SourceResult]) -> str:
    return table(
        ("class", "source", "prompts", "recall"),
        [
            (row.name, row.source, f"{row.examples:,}", share(row.recall))
            for row in sorted(rows, key=lambda row: (row.name, row.source))
        ],
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(cells) for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(f"| {line} |" for line in lines)


def share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def put(name: str, content: str) -> None:
    """Replace what stands between a pair of marks on the page."""
    page = PAGE.read_text()
    pattern = re.compile(rf"(<!-- begin: {name} -->\n).*?(<!-- end: {name} -->)", re.DOTALL)
    changed, count = pattern.subn(lambda found: f"{found[1]}{content}\n{found[2]}", page)
    if count != 1:
        raise ValueError(f"{PAGE.name} has {count} places for {name}; it must have one")
    PAGE.write_text(changed)
