"""The demand in replica units, computed from samples as the recording rules compute it (`demand_rules`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specwatch_deploy.scale.demand_rules import LEAST_RATE
from specwatch_deploy.scale.scale_settings import DemandSettings
from specwatch_deploy.scale.simulation.samples import Sample, Samples, rate, slope
from specwatch_deploy.scale.simulation.view import View


@dataclass(frozen=True, slots=True)
class DemandParts:
    """The parts whose maximum is the demand, in replicas.

    Attributes:
        arrivals: offered load and backlog; None while no request has finished.
        running: what is in the batches; while no request has finished, what is in the queues too.
        wait: pods times what the queue wait asks for.
        kv: filled KV caches.
    """

    arrivals: float | None
    running: float
    wait: float
    kv: float

    @property
    def demand(self) -> float:
        """The greatest."""
        return max(self.arrivals or 0.0, self.running, self.wait, self.kv)


@dataclass(frozen=True, slots=True)
class DemandSignal:
    """The demand of a model.

    Attributes:
        settings: numbers behind it.
    """

    settings: DemandSettings

    def __call__(self, view: View) -> Sequence[float]:
        """The query's answer: one element, or none without a sample of a pod."""
        last = view.samples.last
        return [self.parts(view.samples, last).demand] if last is not None and last.pods else []

    def parts(self, samples: Samples, last: Sample) -> DemandParts:
        """The parts at the newest scrape."""
        per_replica = self.settings.slots * self.settings.target_use
        arrivals = self._arrivals(samples, last)
        held = last.all_running + (last.all_waiting if arrivals is None else 0)
        return DemandParts(
            None if arrivals is None else arrivals / per_replica,
            held / per_replica,
            self._wait(samples, samples.window(last.at, self.settings.now_s)),
            last.kv / self.settings.kv_limit,
        )

    def _arrivals(self, samples: Samples, last: Sample) -> float | None:
        """Offered load of now and the backlog, in slots."""
        recent = samples.window(last.at, self.settings.rate_s)
        finished = rate(recent, lambda counters: counters.finished)
        change = slope(recent, lambda sample: sample.all_running + sample.all_waiting)
        took = self.service_seconds(samples, last.at)
        if finished is None or change is None or took is None:
            return None
        pace = max(0.0, finished + change) + last.all_waiting / self.settings.drain_s
        return pace * took * self.feed_forward(samples, last.at)

    def service_seconds(self, samples: Samples, at: float) -> float | None:
        """Mean time from first scheduled to last token; None if nothing finished."""
        window = samples.window(at, self.settings.service_s)
        count, total = rate(window, lambda found: found.finished), rate(window, lambda found: found.inference_s)
        return total / count if count and total is not None else None

    def feed_forward(self, samples: Samples, at: float) -> float:
        """Acceptance length over the window of the service time, over the one now: 1 to a limit."""
        before = _length(samples.window(at, self.settings.service_s), 0.0)
        now = _length(samples.window(at, self.settings.now_s), self.settings.drafts_least)
        return (
            1.0 if before is None or now is None else min(max(before / now, 1.0), self.settings.feed_forward_most)
        )

    def _wait(self, samples: Samples, window: Sequence[Sample]) -> float:
        """Slots for everything in flight, up to some times the pods that were there all the while.

        So many times: 1 and the wait over its objective, up to a limit.
        """
        settings, last = self.settings, window[-1]
        held = (last.all_running + last.all_waiting) / (settings.slots * settings.target_use)
        times = min(1.0 + self._wait_seconds(samples, last) / settings.wait_slo_s, settings.wait_most)
        return min(held, times * min(sample.pods for sample in window))

    def _wait_seconds(self, samples: Samples, sample: Sample) -> float:
        """How long a request would wait that comes at a scrape: queue over pace, or the oldest one's age."""
        pace = rate(samples.window(sample.at, self.settings.rate_s), lambda counters: counters.finished) or 0.0
        return max(sample.all_waiting / max(pace, LEAST_RATE), sample.oldest)


def _length(window: Sequence[Sample], least: float) -> float | None:
    steps, tokens = rate(window, lambda found: found.steps), rate(window, lambda found: found.tokens)
    if not steps or tokens is None or steps * (window[-1].at - window[0].at) < least:
        return None
    return tokens / steps
