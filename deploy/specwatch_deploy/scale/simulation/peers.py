"""Ways to scale that others ship or advise, as their documentation states them, with one knob each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_deploy.scale.hpa import Hpa
from specwatch_deploy.scale.hpa_metric import PodUse, pods_proposal
from specwatch_deploy.scale.simulation.engine_counters import TPOT_EDGES, TTFT_EDGES, WAIT_EDGES
from specwatch_deploy.scale.simulation.hpa_contender import Signal
from specwatch_deploy.scale.simulation.samples import quantile, rate
from specwatch_deploy.scale.simulation.view import View

_LLM_D_WINDOW_S: Final = 45.0
_LLM_D_MOST: Final = 2.0
_SHORT_S: Final = 75.0
TPOT_SLO_S: Final = 0.05


def queue_time_p95(view: View) -> Sequence[float]:
    """p95 of vLLM's request_queue_time_seconds over 5 minutes, seconds; seen when requests finish."""
    found = quantile(0.95, view.samples.window(view.at, 300.0), lambda counters: counters.waits, WAIT_EDGES)
    return [] if found is None else [found]


def waiting_count(view: View) -> Sequence[float]:
    """Requests in all queues."""
    last = view.samples.last
    return [] if last is None else [float(last.all_waiting)]


def in_flight_count(view: View) -> Sequence[float]:
    """Requests in all batches and queues: what concurrency-based autoscalers count."""
    last = view.samples.last
    return [] if last is None else [float(last.all_running + last.all_waiting)]


def llm_d_law(slo_s: float, high: float = 0.55, low: float = 0.40) -> Signal:
    """llm-d's law in replicas: how much of its objectives the p90 of TTFT and TPOT take, between two marks.

    Above the high mark replicas rise in proportion, credited by ready over existing ones; below the low mark they
    fall in proportion; in between they stay.
    """

    def signal(view: View) -> Sequence[float]:
        window = view.samples.window(view.at, _SHORT_S)
        first = quantile(0.90, window, lambda counters: counters.ttfts, TTFT_EDGES)
        each = quantile(0.90, window, lambda counters: counters.tpots, TPOT_EDGES)
        if first is None or each is None:
            return []
        stress = min(max(first / slo_s, each / TPOT_SLO_S), _LLM_D_MOST)
        there, ready = view.replicas.status, view.replicas.ready
        if stress > high:
            return [max(there * stress / high * ready / there, float(there))]
        return [there * stress / low if stress < low else float(there)]

    return signal


@dataclass(slots=True)
class MeanWaitAndQueue:
    """keda-kaito's policy: one replica more when mean wait AND queue are high, one fewer when both are low.

    It reads the pods itself, and waits for new ones to be ready.

    Attributes:
        name: for tables.
        high_s: mean queue wait above which it is high, seconds.
        high_queue: waiting requests per pod above which the queue is high.
        hpa: that limits its moves.
    """

    name: str
    high_s: float
    high_queue: float
    hpa: Hpa

    def replicas(self, view: View) -> int:
        """One round."""
        now, last = view.replicas, view.samples.last
        window = view.samples.window(view.at, _SHORT_S)
        count, total = rate(window, lambda found: found.finished), rate(window, lambda found: found.wait_s)
        if last is None or not last.pods or count is None or total is None or now.ready < now.spec:
            return self.hpa.sync(view.at, now.spec, [now.spec])
        wait, queue = (total / count if count else 0.0), last.all_waiting / last.pods
        if wait > self.high_s and queue > self.high_queue:
            return self.hpa.sync(view.at, now.spec, [now.spec + 1])
        calm = wait < self.high_s / 2.0 and queue < self.high_queue / 2.0
        return self.hpa.sync(view.at, now.spec, [now.spec - 1 if calm else now.spec])


@dataclass(slots=True)
class Utilisation:
    """The HPA on a resource's use, with the engine's share of busy time as that use.

    An engine's process spins, and its GPU counts as used, while a single request runs.

    Attributes:
        name: for tables.
        target: percent.
        hpa: that decides.
    """

    name: str
    target: float
    hpa: Hpa

    def replicas(self, view: View) -> int:
        """One round."""
        now, last = view.replicas, view.samples.last
        busy = rate(view.samples.window(view.at, _SHORT_S), lambda found: found.busy_s)
        if last is None or busy is None or not now.ready:
            return self.hpa.sync(view.at, now.spec, [None])
        use = min(100.0, 100.0 * busy / max(1, last.pods))
        pods = [PodUse(use)] * now.ready + [PodUse(None, ready=False)] * (now.spec - now.ready)
        return self.hpa.sync(view.at, now.spec, [pods_proposal(pods, self.target, now.spec, self.hpa.tolerance)])
