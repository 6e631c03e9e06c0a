"""What the payoff meter says after an interval."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_detectors.payoff.payoff import Bounds, Verdict
from specwatch_detectors.payoff.step_cost import Basis


@dataclass(frozen=True, slots=True)
class PayoffReading:
    """The answer for one model in one batch bucket; what is unknown is None and has no sample.

    Attributes:
        model: served name.
        batch: upper edge of the bucket, as `request_labels.BATCH_LABELS`.
        verdict: pays, does not pay, cannot tell.
        text: the same with numbers or the reason.
        length: tau over the last minutes, steps without a draft included.
        speedup: S with 95 % bounds.
        break_even: tau* at the bucket's mean batch.
        best_depth: the K with most tokens per second at this acceptance, 0 for none; None where the profile does
            not know the price of other K.
        caveats: what weakens the answer.
        share: of the model's requests times steps of the last minutes, 0 to 1.
    """

    model: str
    batch: str
    verdict: Verdict
    text: str
    length: float | None = None
    speedup: Bounds | None = None
    break_even: float | None = None
    best_depth: int | None = None
    caveats: tuple[str, ...] = ()
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class PayoffReport:
    """All buckets of one model.

    Attributes:
        model: served name.
        profile: name of the profile, `none` for an estimate; None if there is no source of step times at all.
        basis: measured or estimated, or None.
        readings: one per batch bucket with traffic in the last minutes, in order of batch size.
        rejected_seconds: GPU seconds lost to rejected draft tokens since the start; None until one could be priced.
        idle_tax: step of a speculating engine that drafts nothing over a plain step, at the present batch; or None.
    """

    model: str
    profile: str | None
    basis: Basis | None
    readings: tuple[PayoffReading, ...] = ()
    rejected_seconds: float | None = None
    idle_tax: float | None = None

    @property
    def main(self) -> PayoffReading | None:
        """The reading of the bucket with most of the traffic, or None without any."""
        return max(self.readings, key=lambda reading: reading.share, default=None)

    @property
    def sentence(self) -> str:
        """The answer where most of the traffic is, for a line on a page; empty without traffic."""
        reading = self.main
        if reading is None:
            return ""
        size = "above 128" if reading.batch == "+" else f"up to {reading.batch}"
        needed = "" if reading.break_even is None else f", break-even {reading.break_even:.2f} tokens per step"
        return f"Speculation: {reading.text} (batch {size}{needed})."
