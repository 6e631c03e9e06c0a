"""From vLLM's statistics of one step to the tallies, part by part."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from specwatch_exporters.vllm_plugin import stats_forms
from specwatch_exporters.vllm_plugin.batch_tally import BatchTally, Edges
from specwatch_exporters.vllm_plugin.failures import Failures
from specwatch_exporters.vllm_plugin.stats_forms import PartReader, missing_fields

_NOTHING_DRAFTED: Final = (0, 0, 0, (), ())


class Place(NamedTuple):
    """Where a tally belongs.

    Attributes:
        engine: data-parallel index.
        bucket: index of the batch bucket; the number of edges is the last, open one.
    """

    engine: int
    bucket: int


class StepRecorder:
    """Adds up steps by engine and batch bucket; no method raises.

    Args:
        edges: of the latency histograms.
        batch_edges: upper edges of the batch buckets, in requests.
        failures: takes what goes wrong.
        drafting: False where speculative counts are not acceptance (diffusion models).
    """

    def __init__(self, edges: Edges, batch_edges: Sequence[int], failures: Failures, *, drafting: bool) -> None:
        self._edges = edges
        self._batch_edges = tuple(batch_edges)
        self._failures = failures
        self._drafting = drafting
        self._tallies: dict[Place, BatchTally] = {}
        self._running: dict[int, int] = {}
        self._scheduler = PartReader("batch", stats_forms.SCHEDULER, failures)
        self._speculation = PartReader("speculation", stats_forms.SPECULATION, failures)
        self._latency = PartReader("latency", stats_forms.LATENCY, failures)
        self._request = PartReader("requests", stats_forms.REQUEST, failures)

    def record(self, scheduler_stats: Any, iteration_stats: Any, engine: int) -> None:
        """Count one step of one engine.

        Args:
            scheduler_stats: vLLM's `SchedulerStats`, or None: of several API servers one gets a step's.
            iteration_stats: vLLM's `IterationStats`, or None when the step had no output for this process.
            engine: data-parallel index.
        """
        run = self._run
        step = run("batch", self._add_step, scheduler_stats, iteration_stats, engine)
        if step is None:
            return
        tally, speculation, finished = step
        drafted = _NOTHING_DRAFTED
        if speculation is not None and self._drafting:
            drafted = run("speculation", self._add_drafts, tally, speculation) or drafted
        if iteration_stats is not None:
            run("latency", self._add_latency, tally, iteration_stats, drafted)
        if finished:
            run("requests", self._add_requests, tally, finished)

    def take(self) -> dict[Place, BatchTally]:
        """What was counted since the last call."""
        taken, self._tallies = self._tallies, {}
        return taken

    def _run(self, part: str, add: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return add(*arguments)
        except Exception as error:  # noqa: BLE001 - nothing of ours may reach the engine
            self._failures.note(part, error)
            return None

    def _add_step(
        self, scheduler_stats: Any, iteration_stats: Any, engine: int
    ) -> tuple[BatchTally, Any, Sequence[Any]]:
        """Find the step's batch size: requests left in the running batch plus those that finished in the step."""
        finished = () if iteration_stats is None else self._finished(iteration_stats)
        values = None if scheduler_stats is None else self._scheduler.read(scheduler_stats)
        if values is None:
            return self._tally(engine, self._running.get(engine, 0) + len(finished)), None, finished
        running, speculation = values
        self._running[engine] = running
        batch = running + len(finished)
        tally = self._tally(engine, batch)
        if batch:
            tally.sizes[batch] = tally.sizes.get(batch, 0) + 1
        return tally, speculation, finished

    def _finished(self, iteration_stats: Any) -> Sequence[Any]:
        try:
            finished: Sequence[Any] = iteration_stats.finished_requests
        except AttributeError:
            self._failures.unfit("requests", lambda: missing_fields(iteration_stats, ("finished_requests",)))
            return ()
        return finished

    def _tally(self, engine: int, batch: int) -> BatchTally:
        place = Place(engine, bisect_left(self._batch_edges, batch))
        tally = self._tallies.get(place)
        if tally is None:
            tally = self._tallies[place] = BatchTally(self._edges)
        return tally

    def _add_drafts(self, tally: BatchTally, speculation: Any) -> tuple[Any, ...] | None:
        values = self._speculation.read(speculation)
        if values is not None:
            tally.drafts.add(*values)
        return values

    def _add_latency(self, tally: BatchTally, iteration_stats: Any, drafted: tuple[Any, ...]) -> None:
        values = self._latency.read(iteration_stats)
        if values is None:
            return
        tokens, firsts, gaps = values
        if firsts:
            tally.ttft.add_all(firsts)
        if gaps:
            total = tally.gap.add_all(gaps)
            tally.add_tokens(total, len(gaps), tokens - len(firsts), drafted[0], drafted[3])

    def _add_requests(self, tally: BatchTally, finished: Sequence[Any]) -> None:
        for request in finished:
            values = self._request.read(request)
            if values is None:
                return
            outcome, prompt, output, queued_s, e2e_s = values
            tally.add_request(str(outcome), prompt, output, queued_s, e2e_s)
