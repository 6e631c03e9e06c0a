"""How a token's price moves with what is uncertain: the GPU's price, its use, and the draft's acceptance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specwatch_bench.cost_of_cells import CellCost
from specwatch_bench.cost_settings import CostSettings

GPU_PRICES: Final = (2.0, 3.0, 4.0, 5.0, 8.0)
UTILISATIONS: Final = (0.1, 0.25, 0.5, 0.75, 1.0)
ACCEPTANCES: Final = (0.0, 0.5, 0.8, 0.9, 1.0, 1.1)


@dataclass(frozen=True, slots=True)
class AcceptedCost:
    """The price under another acceptance.

    Attributes:
        factor: on the accepted tokens per step.
        length: tokens per request and step then.
        usd: per million output tokens.
    """

    factor: float
    length: float
    usd: float


def price_grid(cost: CellCost, settings: CostSettings) -> tuple[tuple[float, ...], ...]:
    """Dollars per million output tokens: a row per GPU price, a column per utilisation."""
    at_one = float(cost.all_output[0]) * settings.utilisation / settings.gpu_hour_usd
    return tuple(tuple(at_one * price / use for use in UTILISATIONS) for price in GPU_PRICES)


def acceptance_row(cost: CellCost) -> tuple[AcceptedCost, ...]:
    """The price with fewer or more accepted tokens and the same step times; empty where those are not known.

    Factors that would accept more than every draft token are left out.
    """
    one, batch = cost.estimate, cost.cell.batch
    steps = cost.cell.steps
    if one is None or batch is None or steps is None or not steps.depth:
        return ()
    own = _rate(cost, one.length, batch)
    kept = one.length - 1.0
    most = 1.0 + steps.depth
    return tuple(
        AcceptedCost(
            factor, 1.0 + factor * kept, float(cost.all_output[0]) * own / _rate(cost, 1.0 + factor * kept, batch)
        )
        for factor in ACCEPTANCES
        if 1.0 + factor * kept <= most
    )


def _rate(cost: CellCost, length: float, batch: int) -> float:
    """Tokens per request and second, up to a factor."""
    one = cost.estimate
    if one is None:
        return 1.0
    prompts = cost.prompt_per_output * length * batch
    return length / float(one.seconds[0] + one.prefill[0] * prompts)
