"""A section that sets targets beside each other, without speculation: what a quantisation is worth, say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specwatch_bench.cost_of_cells import CellCost, costs_of
from specwatch_bench.cost_settings import CostSettings
from specwatch_bench.cost_tables import assumption
from specwatch_bench.report_blocks import Bullets, Section, Table, Text, Words
from specwatch_bench.report_cell import FEW
from specwatch_bench.report_draws import interval
from specwatch_bench.report_settings import BesideSettings
from specwatch_bench.report_tables import limited
from specwatch_bench.report_target import Target
from specwatch_bench.report_words import dollar_range, drawn


def beside_section(asked: BesideSettings, targets: Sequence[Target], settings: CostSettings) -> Section:
    """Throughput, times and dollars without speculation, batch by batch; a target without cells is left out."""
    by_name = {target.name: target for target in targets if target.published}
    known = [(by_name[name], costs_of(by_name[name], settings)) for name in asked.targets if name in by_name]
    rows = [row for batch in asked.batches for target, own in known for row in _rows(target, own, batch)]
    columns = (
        "target", "batch", "output tok/s", "request p50, ms", "request p99", "per token p50, ms", "per token p99",
        "$ per 1M output, prompts in it",
    )  # fmt: skip
    lead = Text(f"Without speculation. {assumption(settings)}")
    return Section(
        "beside-" + "-".join(asked.targets), asked.title, (lead, Bullets(asked.notes), Table(columns, rows))
    )


def _rows(target: Target, costs: Sequence[CellCost], batch: int) -> Iterator[list[Words]]:
    for one in costs:
        cell = one.cell
        if one.plain and cell.batch == batch:
            yield [
                target.title,
                str(batch),
                drawn(cell.tok_s),
                limited(cell.e2e.p50, short=cell.requests < FEW[0.5]),
                limited(cell.e2e.p99, short=cell.requests < FEW[0.99]),
                drawn(cell.token.p50),
                drawn(cell.token.p99),
                dollar_range(interval(one.all_output)),
            ]
