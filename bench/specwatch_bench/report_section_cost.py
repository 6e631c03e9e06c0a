"""The section about money."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specwatch_bench.cost_of_cells import CellCost, costs_of
from specwatch_bench.cost_prices import PriceList
from specwatch_bench.cost_settings import CostSettings
from specwatch_bench.cost_tables import assumption, cost_blocks, source_list
from specwatch_bench.report_blocks import Block, Bullets, Figure, Figures, Section, Text
from specwatch_bench.report_chart import OFF_COLOR, Axes, Curve, curve_chart
from specwatch_bench.report_draws import interval
from specwatch_bench.report_pictures import BATCH
from specwatch_bench.report_prose import sentences
from specwatch_bench.report_target import Target


def cost_sections(targets: Sequence[Target], prices: PriceList, settings: CostSettings) -> Iterator[Section]:
    """What a million tokens costs, target by target; empty where nothing is published."""
    asked = [target for target in targets if target.published and target.settings.cost]
    known = [(target, costs) for target in asked if (costs := costs_of(target, settings))]
    if not known:
        return
    figures = [_figure(target, costs) for target, costs in known]
    lead: list[Block] = [Text(assumption(settings)), Bullets(sentences("cost")), Figures(figures)]
    lead += [Text("Where the list prices come from:"), source_list(prices)]
    yield Section("cost", "What a million tokens costs", lead)
    for target, costs in known:
        yield Section(f"cost-{target.name}", target.title, tuple(cost_blocks(costs, prices, settings)), level=3)


def _figure(target: Target, costs: Sequence[CellCost]) -> Figure:
    drafters = target.drafters
    curves = []
    for name in target.engines:
        points = [(one.cell.batch, interval(one.all_output)) for one in costs if one.cell.engine == name]
        at = drafters.index(name) + 1 if name in drafters else 0
        color = f"var(--s{(at - 1) % 6 + 1})" if at else OFF_COLOR
        known = [(batch, found) for batch, found in points if batch is not None]
        curves.append(Curve(target.label(name), color, at, known, dashed=not at))
    axes = Axes(
        places=target.batches,
        below=BATCH,
        before="$",
        log=True,
        words=f"Dollars per million output tokens of {target.title}, by batch",
    )
    chart = curve_chart([curve for curve in curves if curve.points], axes)
    return Figure(f"{target.name}-cost", f"$ per 1M output tokens: {target.title}", chart, "The prompts are in it.")
