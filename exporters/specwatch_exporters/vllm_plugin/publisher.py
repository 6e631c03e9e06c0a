"""From the tallies to the metric families."""

from __future__ import annotations

from collections.abc import Mapping

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.request_labels import BATCH_LABELS, UNKNOWN
from specwatch_exporters.request_metrics import DraftCounts, RequestSeries
from specwatch_exporters.vllm_plugin.batch_tally import BatchTally
from specwatch_exporters.vllm_plugin.draft_tally import DraftTally
from specwatch_exporters.vllm_plugin.engine_facts import EngineFacts
from specwatch_exporters.vllm_plugin.engine_series import EngineSeries
from specwatch_exporters.vllm_plugin.failures import Failures
from specwatch_exporters.vllm_plugin.families import PluginFamilies
from specwatch_exporters.vllm_plugin.finish_reasons import OUTCOMES
from specwatch_exporters.vllm_plugin.recorder import Place


class Publisher:
    """Adds tallies to prometheus_client's values.

    vLLM does not hand a request's text or headers to a stat logger, so the traffic class is always `unknown`.

    Args:
        families: where the values go.
        facts: the engine's names.
        failures: takes what goes wrong.
        engines: data-parallel indexes whose series exist from the start.
    """

    def __init__(
        self, families: PluginFamilies, facts: EngineFacts, failures: Failures, engines: tuple[int, ...]
    ) -> None:
        self._families = families
        self._requests = families.requests
        self._failures = failures
        self._model = facts.model
        self._method = facts.method
        self._positions = (facts.speculative_tokens or 0) if facts.drafting else 0
        self._class = families.requests.traffic_class(UNKNOWN)
        self._engines: dict[int, EngineSeries] = {}
        for engine in engines:
            self._engine(engine)

    def publish(self, counted: Mapping[Place, BatchTally]) -> None:
        """Add everything that was counted; what fails is lost and counted as an error."""
        drafts = DraftTally()
        for place, tally in counted.items():
            try:
                self._add_steps(self._engine(place.engine), tally)
                self._add_requests(BATCH_LABELS[place.bucket], tally)
                drafts.add_tally(tally.drafts)
            except Exception as error:  # noqa: BLE001 - nothing of ours may reach the engine
                self._failures.note("publish", error)
        if drafts.drafts:
            self._requests.drafts(self._model, self._class, self._method, _as_counts(drafts))
        for part, count in self._failures.take().items():
            self._families.errors.labels(part).inc(count)

    def _engine(self, engine: int) -> EngineSeries:
        series = self._engines.get(engine)
        if series is None:
            series = EngineSeries(self._families, self._model, str(engine), self._positions)
            self._engines[engine] = series
        return series

    def _add_steps(self, engine: EngineSeries, tally: BatchTally) -> None:
        engine.add_sizes(tally.sizes)
        if tally.drafts.drafts:
            engine.add_drafts(tally.drafts)

    def _add_requests(self, batch: str, tally: BatchTally) -> None:
        series = self._requests.series(self._model, self._class, batch, self._method)
        if tally.drafts.drafts:
            series.draft_steps(tally.drafts.lengths())
        _add_latencies(series, tally)
        if tally.outcomes:
            self._requests.token_counts(self._model, self._class, tally.prompt_tokens, tally.output_tokens)
        for reason, count in tally.outcomes.items():
            self._add_outcome(reason, count)

    def _add_outcome(self, reason: str, count: int) -> None:
        outcome = OUTCOMES.get(reason)
        if outcome is None:
            self._failures.unfit("outcome", lambda: f"the finish reason {reason!r} is unknown")
            return
        for _ in range(count):
            self._requests.finished(self._model, self._class, outcome)


def _add_latencies(series: RequestSeries, tally: BatchTally) -> None:
    """Pour the latencies; an empty one must not make its series."""
    if not tally.queue_wait.empty:
        series.queue_wait.add_counts(tally.queue_wait.counts, tally.queue_wait.total)
    if not tally.ttft.empty:
        series.time_to_first_token.add_counts(tally.ttft.counts, tally.ttft.total)
    if not tally.gap.empty:
        series.inter_chunk.add_counts(tally.gap.counts, tally.gap.total)
    if not tally.token.empty:
        series.inter_token.add_counts(tally.token.counts, tally.token.total)
    if not tally.e2e.empty:
        series.e2e.add_counts(tally.e2e.counts, tally.e2e.total)


def _as_counts(drafts: DraftTally) -> DraftCounts:
    tally = Tally(
        drafts=drafts.drafts,
        draft_tokens=drafts.draft_tokens,
        accepted_tokens=drafts.accepted_tokens,
        accepted_per_position=tuple(drafts.accepted),
    )
    return DraftCounts(tally, drafted_per_position=drafts.drafted)
