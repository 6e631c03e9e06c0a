"""The section of one target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specwatch_bench.profile_table import UNKNOWN, gpus_of
from specwatch_bench.report_blocks import Block, Bullets, Figures, Section, Text
from specwatch_bench.report_classes import acceptance_of, class_speedups
from specwatch_bench.report_labels import own_labels
from specwatch_bench.report_pictures import Pictures
from specwatch_bench.report_section_plugin import plugin_blocks
from specwatch_bench.report_tables import (
    MODELLED,
    acceptance_table,
    class_table,
    crossover_table,
    gpu_table,
    latency_table,
    refused_table,
    verdict_table,
)
from specwatch_bench.report_target import Target
from specwatch_bench.report_verdict import crossovers_of, speedups_of, verdicts_of


def target_section(target: Target, all_targets: Sequence[Target]) -> Section:
    """All that one folder of results says; the others are asked for other starts of the same engine."""
    return Section(target.name, target.title, tuple(_blocks(target, all_targets)))


def _blocks(target: Target, all_targets: Sequence[Target]) -> Iterator[Block]:
    speedups = speedups_of(target)
    verdicts = verdicts_of(speedups)
    acceptance = tuple(acceptance_of(target))
    classes = tuple(class_speedups(target))
    pictures = Pictures(target, speedups, verdicts)
    head = target.table.head
    card = "no GPU seen" if target.table.gpu == UNKNOWN else f"{gpus_of(head)} x {target.table.gpu}"
    yield Text(f"{target.engine_words}, {card}; {own_labels(target)}.")
    if target.settings.notes:
        yield Bullets(target.settings.notes)
    if verdicts:
        yield verdict_table(target, verdicts)
        if any(one.modelled for one in speedups):
            yield Text(
                f"{MODELLED} from step times of other classes at that batch, because the cell is not published."
            )
        crossovers = crossovers_of(speedups)
        if crossovers:
            yield crossover_table(crossovers)
    elif not target.drafters:
        yield Text("Nothing ran beside the engine without speculation, so there is no speed-up.")
    elif len(target.drafters) == len(target.engines):
        yield Text("Nothing ran without speculation, so there is no speed-up.")
    yield from plugin_blocks(target, all_targets)
    if any(cell.batch is not None for cell in target.published):
        yield Figures(tuple(pictures.speed()))
    if acceptance:
        yield Figures((*pictures.acceptance(acceptance), *pictures.classes(classes)))
        yield from _sources(tuple(dict.fromkeys(one.source for one in acceptance if one.source)))
        yield acceptance_table(acceptance)
    if classes:
        yield class_table(classes)
    yield from _cells(target)


def _sources(sources: tuple[str, ...]) -> Iterator[Block]:
    if sources:
        yield Text("Acceptance was set, not found. Whose values:")
        yield Bullets(sources)


def _cells(target: Target) -> Iterator[Block]:
    if target.published:
        yield latency_table(target)
        doubts = [f"{cell.name}: {'; '.join(cell.doubts)}" for cell in target.published if cell.doubts]
        if doubts:
            yield Text("What to know of the cells with a star:")
            yield Bullets(doubts)
    gpus = gpu_table(target)
    if gpus is not None:
        yield gpus
    refused = refused_table(target)
    if refused is not None:
        yield Text("Not published, because the engine stood still for much of the measured time, or failed:")
        yield refused
