"""A report from a folder of results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.cost_prices import PriceList
from specwatch_bench.cost_settings import CostSettings
from specwatch_bench.count_words import counted
from specwatch_bench.enough import requests_for
from specwatch_bench.profile_estimate import DRAWS
from specwatch_bench.published_engines import load_published
from specwatch_bench.report_blocks import Block, Bullets, Figure, Figures, Report, Section, Table, Text, Words
from specwatch_bench.report_html import html_of, svg_files
from specwatch_bench.report_labels import common_labels
from specwatch_bench.report_markdown import markdown_of
from specwatch_bench.report_missing import missing_of
from specwatch_bench.report_pictures import Pictures
from specwatch_bench.report_prose import sentence, sentences
from specwatch_bench.report_section_beside import beside_section
from specwatch_bench.report_section_capacity import capacity_section
from specwatch_bench.report_section_cost import cost_sections
from specwatch_bench.report_section_missing import missing_section
from specwatch_bench.report_section_published import published_section
from specwatch_bench.report_section_target import target_section
from specwatch_bench.report_tables import speedup_cell
from specwatch_bench.report_target import Results, Target
from specwatch_bench.report_verdict import speedups_of, verdicts_of
from specwatch_bench.report_words import drawn

HTML: Final = "index.html"
MARKDOWN: Final = "report.md"


def report_of(results: Results, prices: PriceList, settings: CostSettings) -> Report:
    """Everything that a folder of results says.

    Raises:
        BenchError: a planned matrix cannot be read.
    """
    missing = tuple(missing_of(results))
    sections = [
        *(target_section(target, results.targets) for target in results.targets),
        *(beside_section(one, results.targets, settings) for one in results.settings.beside),
        *cost_sections(results.targets, prices, settings),
        *([capacity_section()] if results.settings.capacity else []),
        *([published_section(load_published())] if results.settings.published else []),
        missing_section(missing, results.torn, results.settings.missing),
        _method_section(results),
    ]
    return Report(results.settings.title, common_labels(results.targets), tuple(_lead(results)), sections)


def _lead(results: Results) -> Iterator[Block]:
    cells = sum(len(target.cells) for target in results.targets)
    shown = sum(len(target.published) for target in results.targets)
    yield Text(sentence("lead", cells=counted(cells, "cell"), shown=shown, refused=cells - shown))
    if results.settings.notes:
        yield Bullets(results.settings.notes)
    rows = [row for target in results.targets for row in _summary_rows(target)]
    if rows:
        columns = ("target", "batch", "best S", "tok/s without", "verdict")
        yield Table(columns, rows, "Verdict per batch size", words=1, prose=True)
        if any(str(row[1]).endswith("*") for row in rows):
            yield Text(sentence("starred"))
        if len({target.table.head["engine"]["kind"] for target in results.targets}) > 1:
            yield Text(sentence("engines"))
        yield Figures(tuple(_speedup_figures(results)))


def _speedup_figures(results: Results) -> Iterator[Figure]:
    """The speed-up of every target that has one at several batch sizes."""
    for target in results.targets:
        speedups = speedups_of(target)
        verdicts = verdicts_of(speedups)
        if len(verdicts) > 1:
            yield Pictures(target, speedups, verdicts).speedup(f"Speed-up: {target.title.replace(' shape', '')}")


def _summary_rows(target: Target) -> Iterator[list[Words]]:
    for verdict in verdicts_of(speedups_of(target)):
        best = verdict.speedups[0]
        plain = next(
            (c for c in target.published if c.batch == verdict.batch and c.engine not in target.drafters), None
        )
        doubts = any(cell.doubts for cell in (plain, target.cell(best.engine, verdict.batch)) if cell is not None)
        yield [
            target.title.replace(" shape", ""),
            f"{verdict.batch} *" if doubts else str(verdict.batch),
            speedup_cell(best, best=True),
            "-" if plain is None else drawn(plain.tok_s),
            verdict.words,
        ]


def _method_section(results: Results) -> Section:
    machines = [one for target in results.targets for one in target.manifest.get("machines", ())]
    words = list(dict.fromkeys(_machine(one) for one in machines))
    said = sentences("method", draws=DRAWS, few99=requests_for(0.99), few95=requests_for(0.95))
    kinds = {cell.head["engine"].get("kind") for target in results.targets for cell in target.cells}
    other = [sentence("imported")] if "imported" in kinds else []
    blocks: list[Block] = [
        Bullets([*said, *other, *words]),
        Text("Every figure is computed from the records beside this report: `specwatch bench report RESULTS`."),
    ]
    return Section("method", "How it was measured", blocks)


def _machine(body: dict[str, object]) -> str:
    packages = body.get("packages")
    versions = (
        ", ".join(f"{name} {version}" for name, version in packages.items()) if isinstance(packages, dict) else ""
    )
    gpus = body.get("gpus")
    cards = ", ".join(map(str, gpus)) if isinstance(gpus, list) else ""
    return (
        f"Host: {body.get('processors')} processors, {cards or 'no GPU'}, Python {body.get('python')}, {versions}."
    )


@dataclass(frozen=True, slots=True)
class Written:
    """Where a report lies.

    Attributes:
        html: the page.
        markdown: the same as Markdown.
        pictures: number of its pictures.
    """

    html: Path
    markdown: Path
    pictures: int


def files_of(report: Report) -> dict[str, str]:
    """Name and text of every file of a report."""
    return {HTML: html_of(report), MARKDOWN: markdown_of(report), **dict(svg_files(report))}


def write_report(report: Report, out: Path) -> Written:
    """Write the page, the Markdown and its pictures; pictures of an earlier report are removed.

    Raises:
        BenchError: the folder cannot be written.
    """
    files = files_of(report)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (out / name).write_text(text, encoding="utf-8")
        for path in out.glob("*.svg"):
            if path.name not in files:
                path.unlink()
    except OSError as error:
        raise BenchError(f"{out}: {error.strerror}") from error
    return Written(out / HTML, out / MARKDOWN, len(files) - 2)
