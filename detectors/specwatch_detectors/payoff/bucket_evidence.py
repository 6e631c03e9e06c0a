"""What is remembered of one batch bucket: counts that fade, and their means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specwatch_detectors.payoff.payoff_sample import PayoffSample
from specwatch_detectors.window import NOTHING, Window


@dataclass(frozen=True, slots=True)
class WeightedMean:
    """A mean weighted by requests times steps, over the samples that knew the value."""

    weight: float = 0.0
    total: float = 0.0

    def added(self, weight: float, value: float | None) -> WeightedMean:
        """With one more value; None adds nothing."""
        return self if value is None else WeightedMean(self.weight + weight, self.total + weight * value)

    def merged(self, other: WeightedMean) -> WeightedMean:
        """With the values of another mean."""
        return WeightedMean(self.weight + other.weight, self.total + other.total)

    def faded(self, share: float) -> WeightedMean:
        """With a share of its weight."""
        return WeightedMean(self.weight * share, self.total * share)

    @property
    def value(self) -> float | None:
        """The mean, or None if no sample knew it."""
        return self.total / self.weight if self.weight > 0.0 else None


@dataclass(frozen=True, slots=True)
class BucketEvidence:
    """Faded sums of samples of one bucket.

    Attributes:
        window: drafts and acceptance.
        request_steps: steps times requests; drafts where a sample did not tell.
        draft_tokens: proposed.
        batch: mean running batch.
        context: mean tokens of context.
        prompt_per_output: prompt tokens per output token.
        quiet_s: seconds since the last sample.
    """

    window: Window = NOTHING
    request_steps: float = 0.0
    draft_tokens: float = 0.0
    batch: WeightedMean = WeightedMean()
    context: WeightedMean = WeightedMean()
    prompt_per_output: WeightedMean = WeightedMean()
    quiet_s: float = 0.0

    def added(self, sample: PayoffSample, depth: int) -> BucketEvidence:
        """With one more sample; K draft tokens per draft where it does not tell."""
        steps = steps_of(sample)
        return BucketEvidence(
            self.window + sample.window,
            self.request_steps + steps,
            self.draft_tokens + draft_tokens_of(sample, depth),
            self.batch.added(steps, sample.batch),
            self.context.added(steps, sample.context),
            self.prompt_per_output.added(steps, sample.prompt_per_output),
        )

    def merged(self, other: BucketEvidence) -> BucketEvidence:
        """With the evidence of other intervals of the same bucket."""
        return BucketEvidence(
            self.window + other.window,
            self.request_steps + other.request_steps,
            self.draft_tokens + other.draft_tokens,
            self.batch.merged(other.batch),
            self.context.merged(other.context),
            self.prompt_per_output.merged(other.prompt_per_output),
            min(self.quiet_s, other.quiet_s),
        )

    def faded(self, share: float, seconds: float) -> BucketEvidence:
        """With a share of its weight, so many seconds later."""
        return BucketEvidence(
            self.window.scaled(share),
            self.request_steps * share,
            self.draft_tokens * share,
            self.batch.faded(share),
            self.context.faded(share),
            self.prompt_per_output.faded(share),
            self.quiet_s + seconds,
        )

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "window": {
                "drafts": self.window.drafts,
                "accepted": list(self.window.accepted),
                "trials": list(self.window.trials),
                "accepted_tokens": self.window.accepted_tokens,
                "censored": self.window.censored,
            },
            "quiet_s": self.quiet_s,
            "request_steps": self.request_steps,
            "draft_tokens": self.draft_tokens,
            "batch": [self.batch.weight, self.batch.total],
            "context": [self.context.weight, self.context.total],
            "prompt_per_output": [self.prompt_per_output.weight, self.prompt_per_output.total],
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> BucketEvidence:
        """Read what `as_json` wrote.

        Raises:
            ValueError: a part is missing, negative or no number.
        """
        try:
            counts = body["window"]
            window = Window(
                _number(counts["drafts"]),
                tuple(_number(value) for value in counts["accepted"]),
                tuple(_number(value) for value in counts["trials"]),
                _number(counts["accepted_tokens"]),
                bool(counts["censored"]),
            )
            batch, context, prompts = (
                WeightedMean(*map(_number, body[key])) for key in ("batch", "context", "prompt_per_output")
            )
            steps, tokens, quiet_s = (_number(body[key]) for key in ("request_steps", "draft_tokens", "quiet_s"))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not the state of a batch bucket: {error!r}") from error
        if len(window.accepted) != len(window.trials):
            raise ValueError("not the state of a batch bucket: accepted and trials must be of one length")
        return cls(window, steps, tokens, batch, context, prompts, quiet_s)


def steps_of(sample: PayoffSample) -> float:
    """Requests times steps of a sample: what it says, at least its drafts."""
    return max(sample.window.drafts, sample.request_steps or 0.0)


def draft_tokens_of(sample: PayoffSample, depth: int) -> float:
    """Draft tokens of a sample: what it says, else K per draft; never fewer than were accepted."""
    told = sample.window.drafts * depth if sample.draft_tokens is None else sample.draft_tokens
    return max(told, sample.window.accepted_tokens)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < math.inf:
        raise ValueError(f"not the state of a batch bucket: {value!r} is no count")
    return float(value)
