"""What a step with speculation costs beside one without: the interface that profiles and estimates share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

EXTRAPOLATED: Final = "extrapolated"
INFERRED_DEPTH: Final = "inferred from another K"
ASSUMED_CONTEXT: Final = "context assumed"


class Basis(StrEnum):
    """Where a cost comes from."""

    MEASURED = "measured"
    ESTIMATED = "estimated"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Load:
    """What a step of the engine carries.

    Attributes:
        batch: requests in the running batch of one engine; less than 1 counts as 1.
        drafted: draft tokens per request and step, steps without a draft included, so 0 to K and seldom whole.
        context: mean tokens in the KV cache per request; None if nobody knows.
    """

    batch: float
    drafted: float
    context: float | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Price of speculation under one load.

    Attributes:
        ratio: rho = step time with speculation over step time without, prefill left out; also the break-even tau*.
        relative_error: standard error of rho over rho; None where nobody measured it.
        spec_seconds: step with speculation; None if only the ratio is known.
        plain_seconds: step without.
        prefill_share: time that one prompt token per request adds to a step without speculation, over
            `plain_seconds`.
        spec_prefill_share: what it adds to a step with speculation, over `plain_seconds`; None for the same.
        idle_ratio: step of a speculating engine that drafts nothing over `plain_seconds`; None if not measured.
        caveats: what weakens the number, in words, such as `extrapolated`.
    """

    ratio: float
    relative_error: float | None = None
    spec_seconds: float | None = None
    plain_seconds: float | None = None
    prefill_share: float = 0.0
    spec_prefill_share: float | None = None
    idle_ratio: float | None = None
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unknown:
    """There is no cost for this load.

    Attributes:
        reason: why, as the end of a sentence that starts with "cannot tell: ".
    """

    reason: str


class StepCost(Protocol):
    """A source of costs for one model and one method."""

    @property
    def name(self) -> str:
        """What to show as the source."""

    @property
    def basis(self) -> Basis:
        """Measured or estimated; none if there is nothing for the method."""

    @property
    def gpus(self) -> int:
        """GPUs of one engine."""

    def at(self, load: Load) -> Cost | Unknown:
        """The cost under a load."""
