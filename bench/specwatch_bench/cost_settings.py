"""What a token's price depends on besides the measurement: the price of a GPU hour, and how much of it is used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from specwatch_alerts.values import load_values
from specwatch_bench.bench_error import BenchError

UTILISATION: Final = 0.5


@dataclass(frozen=True, slots=True)
class CostSettings:
    """What a token's price depends on besides the measurement.

    Attributes:
        gpu_hour_usd: price of one GPU for one hour.
        utilisation: share of the paid time in which the engine has the measured load; the rest it stands idle.
    """

    gpu_hour_usd: float
    utilisation: float = UTILISATION

    def __post_init__(self) -> None:
        """Refuse what no price can be made of.

        Raises:
            BenchError: a price that is no number above 0, or a utilisation outside 0 to 1.
        """
        if not 0 < self.gpu_hour_usd < math.inf:
            raise BenchError(f"the price of a GPU hour must be a number above 0, not {self.gpu_hour_usd:g}")
        if not 0 < self.utilisation <= 1:
            raise BenchError(f"utilisation is a share above 0 and up to 1, not {self.utilisation:g}")


def default_gpu_hour_usd() -> float:
    """The price that the alerts take when nobody says another: `cost.gpu_hour_usd`."""
    return load_values().number("cost.gpu_hour_usd")


def cost_settings(gpu_hour_usd: float | None = None, utilisation: float | None = None) -> CostSettings:
    """What a user said, and defaults for the rest.

    Raises:
        BenchError: see `CostSettings`.
    """
    price = default_gpu_hour_usd() if gpu_hour_usd is None else gpu_hour_usd
    return CostSettings(price, UTILISATION if utilisation is None else utilisation)
