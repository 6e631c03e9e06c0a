"""Whether speculation pays for one model, from what a scrape sidecar reads."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from specwatch_detectors.kept_part import left_out, restored
from specwatch_detectors.payoff.estimate import IDLE, OFF, StepTimesBook, WithSeenIdle
from specwatch_detectors.payoff.payoff_meter import PayoffMeter
from specwatch_detectors.payoff.payoff_reading import PayoffReport
from specwatch_detectors.payoff.payoff_sample import PayoffSample, split_by_steps
from specwatch_detectors.payoff.plugin_steps import PluginSteps, plugin_steps
from specwatch_detectors.payoff.recent_spread import RecentSpread
from specwatch_detectors.payoff.step_cost import Basis, StepCost
from specwatch_detectors.payoff.step_profile import StepProfile
from specwatch_detectors.window import Window
from specwatch_exporters import catalog
from specwatch_exporters.counts import Counts
from specwatch_exporters.report import ModelReport, State
from specwatch_exporters.request_labels import UNKNOWN, batch_label
from specwatch_exporters.sidecar.watcher import Interval

LOG = logging.getLogger("specwatch.payoff")
_MOSTLY: Final = 0.9
"""Share of steps with a draft from which an interval counts as one with speculation."""


class SidecarPayoff:
    """The payoff meter of one model.

    Args:
        report: the model as first read.
        profile: measured step times; None estimates them from what the engine takes with and without speculation,
            as far as it was seen both ways in the last days. The tax of drafting nothing is seen in the same way
            where the profile has none.
        half_life_s: of its evidence.
        stale_after_s: seconds after which an answer that nothing renewed is withdrawn.
        state: what `state` of a predecessor gave; a part that cannot be read is left out.
    """

    def __init__(
        self,
        report: ModelReport,
        profile: StepProfile | None,
        *,
        half_life_s: float,
        stale_after_s: float = 300.0,
        state: object = None,
    ) -> None:
        self._half_life_s = half_life_s
        self._stale_after_s = stale_after_s
        self._profile = profile
        self._missed: set[str] = set()
        self._setting = self._present(report)
        kept = _kept(report, state)
        self._meter = self._new_meter(report, kept)
        self._spread = _kept_spread(report, kept)
        self._book = _kept_book(report, kept)
        self._last: tuple[float, float | None] | None = None
        self._told = 0.0
        self.report: PayoffReport | None = None
        """The last answer, however old; `known` tells what still holds."""

    def known(self, now: float) -> PayoffReport | None:
        """What holds at a monotonic time: of an answer that is too old only the seconds lost so far."""
        report = self.report
        if report is None or now - self._told <= self._stale_after_s:
            return report
        return replace(report, profile=None, basis=None, readings=(), idle_tax=None)

    def _new_meter(self, report: ModelReport, kept: Mapping[str, Any] | None) -> PayoffMeter:
        def meter(state: Mapping[str, Any] | None) -> PayoffMeter:
            depth, cost = report.speculative_tokens or 1, self._profile_cost(report)
            return PayoffMeter(report.model, cost, depth=depth, half_life_s=self._half_life_s, state=state)

        return restored(f"{report.model}, payoff", kept, meter) or meter(None)

    def _profile_cost(self, report: ModelReport) -> StepCost | None:
        """Costs by the profile; that it has none of the engine's method is logged once a method."""
        if self._profile is None:
            return None
        method = report.method or UNKNOWN
        cost = self._profile.cost_of(method)
        if cost.basis is Basis.NONE and method not in self._missed | {UNKNOWN, OFF}:
            self._missed.add(method)
            text = "%s: the step-time profile %s has no step times for %s (it has %s), so it cannot say what pays"
            LOG.warning(text, report.model, cost.name, method, ", ".join(self._profile.methods) or "none")
        return cost

    def take(
        self, report: ModelReport, interval: Interval, window: Window, design: float | None, *, changed: bool
    ) -> None:
        """One scrape: counts of its interval, at the mean of the batches at its two ends.

        Args:
            report: the model as known now.
            interval: the scrape.
            window: the model's drafts in it.
            design: long-run design effect, safety factor included; it counts until the recent one is known.
            changed: the engine restarted or changed: what was seen before says nothing of now.
        """
        self._follow(report, changed=changed)
        now, running = interval.now, _per_engine(report)
        last, self._last = self._last, (now, running)
        if last is None or now <= last[0]:
            return
        before = running if last[1] is None else last[1]
        if running is None or before is None:
            return
        counts = Counts(interval.increases, report.model)
        whole = _sample(counts, window, (before + running) / 2.0)
        told = plugin_steps(counts)
        samples = () if told is None else split_by_steps(whole, told.sizes, told.batch_total)
        self._observe(report, whole, samples, told, interval.wall)
        seconds = now - last[0]
        self._spread.update(window, seconds)
        self.report = self._meter.update(
            samples or (whole,),
            seconds,
            design=self._spread.design(design),
            engines=max(1, report.engines),
            off=report.state is State.OFF and window.drafts <= 0.0,
        )
        self._told = now

    def _observe(
        self,
        report: ModelReport,
        whole: PayoffSample,
        samples: Sequence[PayoffSample],
        told: PluginSteps | None,
        wall: float,
    ) -> None:
        """What a step took, with drafts or without, and the cost that follows from both."""
        side = _side(report, whole)
        if side:
            for batch, count, seconds in _times(whole, samples, told):
                self._book.observe(side, batch, count, seconds, wall)
        if report.method is not None:
            seen, measured = self._book.cost(report.method, wall), self._profile_cost(report)
            self._meter.cost = seen if measured is None else WithSeenIdle(measured, seen)

    def _follow(self, report: ModelReport, *, changed: bool) -> None:
        present = self._present(report)
        if changed or present != self._setting:
            self._setting = present
            depth = report.speculative_tokens or 1
            self._meter.changed(self._profile_cost(report), depth)
            self._spread.changed(depth)

    @staticmethod
    def _present(report: ModelReport) -> tuple[str | None, int | None]:
        return report.method, report.speculative_tokens

    def state(self) -> dict[str, Any]:
        """The meter's evidence and the spread of acceptance, as JSON."""
        return {**self._meter.state(), "spread": self._spread.state(), "steps": self._book.state()}


def _kept(report: ModelReport, state: object) -> Mapping[str, Any] | None:
    if state is not None and not isinstance(state, Mapping):
        left_out(f"{report.model}, payoff", "it is no JSON object")
        return None
    return state


def _kept_book(report: ModelReport, kept: Mapping[str, Any] | None) -> StepTimesBook:
    own = None if kept is None else kept.get("steps")
    found = restored(f"{report.model}, step times", own, lambda state: StepTimesBook(state=state))
    return found or StepTimesBook()


def _side(report: ModelReport, sample: PayoffSample) -> str:
    """Which side of the comparison the interval belongs to; empty for a mixture or an unknown method."""
    steps, drafts = sample.request_steps, sample.window.drafts
    if report.state is State.OFF and not drafts:
        return OFF if report.method in {None, OFF} else IDLE
    if not steps or report.method is None:
        return ""
    return report.method if drafts >= _MOSTLY * steps else ""


def _times(
    whole: PayoffSample, samples: Sequence[PayoffSample], told: PluginSteps | None
) -> Iterator[tuple[float, float, float]]:
    """Batch, number and seconds of the gaps between outputs: by batch bucket where the plugin tells."""
    if told is not None and told.gaps:
        batches = {batch_label(sample.batch): sample.batch for sample in samples}
        for label, (count, seconds) in told.gaps.items():
            if label in batches:
                yield batches[label], count, seconds
    elif whole.request_steps and whole.step_seconds:
        yield whole.batch, whole.request_steps, whole.step_seconds * whole.request_steps


def _kept_spread(report: ModelReport, kept: Mapping[str, Any] | None) -> RecentSpread:
    depth = report.speculative_tokens or 1
    own = None if kept is None else kept.get("spread")
    found = restored(f"{report.model}, spread of acceptance", own, lambda state: RecentSpread(depth, state))
    return found or RecentSpread(depth)


def _per_engine(report: ModelReport) -> float | None:
    return None if report.running is None else report.running / max(1, report.engines)


def _sample(counts: Counts, window: Window, batch: float) -> PayoffSample:
    steps = counts.total(f"{catalog.ITL_STEP.name}_count")
    seconds = counts.histogram_sum(catalog.ITL_STEP.name)
    output, prompt = counts.total(catalog.GENERATION_TOKENS.name), counts.total(catalog.PROMPT_TOKENS.name)
    return PayoffSample(
        window,
        batch=max(1.0, batch),
        request_steps=None if steps is None else max(steps, window.drafts),
        draft_tokens=counts.total(catalog.DRAFT_TOKENS.name),
        prompt_per_output=prompt / output if prompt is not None and output else None,
        step_seconds=max(0.0, seconds) / steps if seconds is not None and steps else None,
    )
