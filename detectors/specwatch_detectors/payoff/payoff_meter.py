"""Measures, interval by interval, whether speculation pays for one model, by batch bucket."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Final

from specwatch_detectors.design_effect import PRIOR, SAFETY
from specwatch_detectors.payoff.bucket_evidence import BucketEvidence, WeightedMean, draft_tokens_of, steps_of
from specwatch_detectors.payoff.depth_rule import best_depth
from specwatch_detectors.payoff.length_estimate import estimate_length
from specwatch_detectors.payoff.payoff import LEAST_EFFECTIVE, Verdict, judge, nothing_drafted, rejected_share
from specwatch_detectors.payoff.payoff_reading import PayoffReading, PayoffReport
from specwatch_detectors.payoff.payoff_sample import PayoffSample
from specwatch_detectors.payoff.rest import Rest
from specwatch_detectors.payoff.step_cost import INFERRED_DEPTH, Cost, Load, StepCost, Unknown
from specwatch_exporters.request_labels import BATCH_LABELS, batch_label

HALF_LIFE_S: Final = 300.0
DESIGN_PRIOR: Final = PRIOR * SAFETY
# Below this share of steps with a draft, the engine counts as one that drafts nothing.
_IDLE_COVERAGE: Final = 0.01
# Drafts longer or shorter by so many tokens come from another K.
_OTHER_DEPTH: Final = 0.5
# Evidence of less than a step is gone.
_LEAST_STEPS: Final = 1.0


class PayoffMeter:
    """Adds intervals up with a half-life of five minutes and judges each bucket that has traffic.

    What is judged is intervals that drafted. One without drafts is kept apart (`Rest`): while nothing is drafted
    the reading says so, and what was known of drafts before is not mixed with it. Another number of tokens per
    draft is another K, whatever the engine's setting says: evidence starts anew.

    GPU seconds lost to rejected tokens are a running total, added per interval and bucket:

        steps (T_spec - T_plain) rejected / drafted x GPUs per engine,   steps = requests times steps / batch

    that is: what speculation adds to the steps, drafting and verifying, in proportion to the draft tokens that were
    thrown away. Never more than the GPUs had in the interval.

    Args:
        model: served name.
        cost: step times; None if there are none, then nothing can be told.
        depth: K, at least 1.
        half_life_s: of the evidence.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: K below 1, or the state is not one of a payoff meter.
    """

    def __init__(
        self,
        model: str,
        cost: StepCost | None,
        *,
        depth: int,
        half_life_s: float = HALF_LIFE_S,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        if depth < 1 or half_life_s <= 0.0:
            raise ValueError("K must be 1 or more and the half-life positive")
        self.model = model
        self.cost = cost
        self._depth = depth
        self._half_life_s = half_life_s
        self._buckets: dict[str, BucketEvidence] = {}
        self._rest = Rest()
        self._rejected_seconds: float | None = None
        if state is not None:
            self._restore(state)

    def update(
        self,
        samples: Sequence[PayoffSample],
        seconds: float,
        *,
        design: float | None = None,
        engines: int = 1,
        off: bool = False,
    ) -> PayoffReport:
        """Take one interval in.

        Args:
            samples: one per batch bucket, or one for all; empty for an interval without traffic.
            seconds: length of the interval.
            design: design effect of accepted tokens, safety factor included; 45 (prior times safety) if None.
            engines: that the counts add up.
            off: the engine is known not to speculate now, and had no drafts in the interval.

        Raises:
            ValueError: the interval's length is no positive number.
        """
        if not 0.0 < seconds < math.inf:
            raise ValueError(f"an interval lasts a positive number of seconds, not {seconds}")
        self._fade(seconds)
        if off:
            samples = [
                replace(one, request_steps=one.batch) if one.request_steps is None else one for one in samples
            ]
        known = [sample for sample in samples if steps_of(sample) > 0.0]
        steps, drafts = sum(map(steps_of, known)), sum(sample.window.drafts for sample in known)
        if off or (known and drafts < _IDLE_COVERAGE * steps):
            self._take_rest(known, steps, seconds, off=off)
        elif known:
            self._take_drafts(known)
        for sample in known:
            self._add_rejected(sample, seconds * engines)
        return self._report(DESIGN_PRIOR if design is None else design)

    def _take_rest(self, samples: Sequence[PayoffSample], steps: float, seconds: float, *, off: bool) -> None:
        """An interval without drafts."""
        before = sum(evidence.request_steps for evidence in self._buckets.values())
        drafts = sum(evidence.window.drafts for evidence in self._buckets.values())
        for sample in samples:
            self._rest.add(batch_label(sample.batch), BucketEvidence().added(sample, self._depth))
        self._rest.ended(seconds, steps * drafts / before if before else None, off=off)
        if self._rest.forgets:
            self._buckets.clear()

    def _take_drafts(self, samples: Sequence[PayoffSample]) -> None:
        """An interval with drafts: chance misses before it count with it, those of a rest do not."""
        waiting, self._rest = self._rest, Rest()
        if self._other_depth(samples):
            self._buckets.clear()
        elif not waiting.resting:
            for label, evidence in waiting.buckets.items():
                self._buckets[label] = self._buckets.get(label, BucketEvidence()).merged(evidence)
        for sample in samples:
            label = batch_label(sample.batch)
            self._buckets[label] = self._buckets.get(label, BucketEvidence()).added(sample, self._depth)

    def _other_depth(self, samples: Sequence[PayoffSample]) -> bool:
        """Whether drafts have another length than in the evidence, by half a token or more."""
        drafts = sum(sample.window.drafts for sample in samples)
        before = sum(evidence.window.drafts for evidence in self._buckets.values())
        if drafts < LEAST_EFFECTIVE or before < LEAST_EFFECTIVE:
            return False
        now = sum(draft_tokens_of(sample, self._depth) for sample in samples) / drafts
        then = sum(evidence.draft_tokens for evidence in self._buckets.values()) / before
        return abs(now - then) >= _OTHER_DEPTH

    def changed(self, cost: StepCost | None, depth: int) -> None:
        """The engine has another method, K or profile: evidence starts anew, the seconds lost stay.

        Raises:
            ValueError: K below 1.
        """
        if depth < 1:
            raise ValueError("K must be 1 or more")
        self.cost, self._depth = cost, depth
        self._buckets.clear()
        self._rest = Rest()

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "depth": self._depth,
            "rejected_seconds": self._rejected_seconds,
            "buckets": {label: evidence.as_json() for label, evidence in self._buckets.items()},
            "rest": self._rest.state(),
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; evidence of another K is left out."""
        try:
            lost, depth, buckets = state["rejected_seconds"], int(state["depth"]), dict(state["buckets"])
            self._rejected_seconds = None if lost is None else float(lost)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not the state of a payoff meter: {error!r}") from error
        if lost is not None and not 0.0 <= float(lost) < math.inf:
            raise ValueError(f"not the state of a payoff meter: {lost!r} seconds lost")
        read = {label: BucketEvidence.from_json(body) for label, body in buckets.items() if label in BATCH_LABELS}
        self._buckets = read if depth == self._depth else {}
        if depth == self._depth and state.get("rest") is not None:
            self._rest = Rest(state["rest"])

    def _fade(self, seconds: float) -> None:
        """Old evidence counts less; a bucket without traffic for a half-life says nothing of now and goes."""
        self._buckets = self._faded(self._buckets, seconds)
        self._rest.buckets = self._faded(self._rest.buckets, seconds)

    def _faded(self, buckets: Mapping[str, BucketEvidence], seconds: float) -> dict[str, BucketEvidence]:
        share = 0.5 ** (seconds / self._half_life_s)
        faded = {label: evidence.faded(share, seconds) for label, evidence in buckets.items()}
        return {
            label: evidence
            for label, evidence in faded.items()
            if evidence.request_steps >= _LEAST_STEPS and evidence.quiet_s <= self._half_life_s
        }

    def _add_rejected(self, sample: PayoffSample, engine_seconds: float) -> None:
        found = self._cost_at(_load(BucketEvidence().added(sample, self._depth)))
        if isinstance(found, Unknown) or self.cost is None:
            return
        spec_seconds = sample.step_seconds if found.spec_seconds is None else found.spec_seconds
        if spec_seconds is None:
            return
        busy = min(steps_of(sample) / max(1.0, sample.batch) * spec_seconds, engine_seconds)
        added = busy * max(0.0, 1.0 - 1.0 / found.ratio)
        lost = rejected_share(draft_tokens_of(sample, self._depth), sample.window.accepted_tokens)
        self._rejected_seconds = (self._rejected_seconds or 0.0) + added * lost * self.cost.gpus

    def _cost_at(self, load: Load) -> Cost | Unknown:
        return Unknown("no step-time profile for this model") if self.cost is None else self.cost.at(load)

    def _report(self, design: float) -> PayoffReport:
        shown = self._rest.buckets if self._rest.resting or not self._buckets else self._buckets
        total = sum(evidence.request_steps for evidence in shown.values())
        readings = tuple(
            self._reading(label, shown[label], design, total) for label in BATCH_LABELS if label in shown
        )
        return PayoffReport(
            self.model,
            None if self.cost is None else self.cost.name,
            None if self.cost is None else self.cost.basis,
            readings,
            self._rejected_seconds,
            self._idle_tax(shown.values()),
        )

    def _reading(self, label: str, evidence: BucketEvidence, design: float, total: float) -> PayoffReading:
        share = evidence.request_steps / total
        length = estimate_length(
            evidence.window, depth=self._depth, design=design, request_steps=evidence.request_steps
        )
        value = None if length is None else length.value
        idle = length is None or length.coverage < _IDLE_COVERAGE
        load = replace(_load(evidence), drafted=float(self._depth)) if idle else _load(evidence)
        found = self._cost_at(load)
        if isinstance(found, Unknown) or self.cost is None:
            reason = found.reason if isinstance(found, Unknown) else "no step times"
            if idle:
                reason = "speculation is off" if self._rest.off else f"nothing is drafted, and {reason}"
            text = f"cannot tell: {reason}"
            return PayoffReading(self.model, label, Verdict.CANNOT_TELL, text, value, share=share)
        if length is None or idle:
            answer = nothing_drafted(found)
        else:
            answer = judge(length, found, self.cost.basis, evidence.prompt_per_output.value or 0.0)
        return PayoffReading(
            model=self.model,
            batch=label,
            verdict=answer.verdict,
            text=answer.text,
            length=value,
            speedup=answer.speedup,
            break_even=answer.break_even,
            best_depth=self._best_depth(evidence, load),
            caveats=answer.caveats,
            share=share,
        )

    def _best_depth(self, evidence: BucketEvidence, load: Load) -> int | None:
        """The best K up to the one in use, where every K has a price that was not inferred."""
        window, drafts = evidence.window, evidence.window.drafts
        if drafts <= 0.0 or window.censored or len(window.accepted) != self._depth:
            return None
        coverage = drafts / evidence.request_steps
        seconds: list[float] = []
        for depth in range(1, self._depth + 1):
            found = self._cost_at(Load(load.batch, depth * coverage, load.context))
            if isinstance(found, Unknown) or INFERRED_DEPTH in found.caveats:
                return None
            if found.spec_seconds is None or found.plain_seconds is None:
                return None
            seconds = [*(seconds or [found.plain_seconds]), found.spec_seconds]
        return best_depth([kept / evidence.request_steps for kept in window.accepted], seconds)

    def _idle_tax(self, shown: Iterable[BucketEvidence]) -> float | None:
        """Idle ratio at the mean batch of all buckets."""
        batch = reduce(WeightedMean.merged, (evidence.batch for evidence in shown), WeightedMean()).value
        if batch is None:
            return None
        found = self._cost_at(Load(batch, float(self._depth)))
        return None if isinstance(found, Unknown) else found.idle_ratio


def _load(evidence: BucketEvidence) -> Load:
    return Load(evidence.batch.value or 1.0, evidence.draft_tokens / evidence.request_steps, evidence.context.value)
