"""Observations of one request, kept back until its traffic class is known."""

from __future__ import annotations

from collections.abc import Callable

from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.proxy.observer import Observer
from specwatch_exporters.proxy.token_gaps import TokenSample
from specwatch_exporters.request_labels import BATCH_LABELS
from specwatch_exporters.request_metrics import DraftCounts, Outcome, RequestSeries

_NOT_YET = ""


class Recording:
    """Turns what happened to a request into samples; the order of the calls is the order of the events.

    Args:
        observer: see `Observer`.

    Attributes:
        model: label of the model, as far as it is known.
        speculation: method of the engine that it goes to.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._class = _NOT_YET
        self._pending: list[Callable[[], None]] = []
        self._under_way = False
        self.model = observer.model
        self.speculation = observer.speculation

    def classed(self, name: str) -> None:
        """The class is known: catch up."""
        self._class = self._observer.metrics.traffic_class(name)
        pending, self._pending = self._pending, []
        for step in pending:
            step()

    def _run(self, step: Callable[[], None]) -> None:
        if self._class == _NOT_YET:
            self._pending.append(step)
        else:
            step()

    def _series(self, batch: str) -> RequestSeries:
        return self._observer.metrics.series(self.model, self._class, batch, self.speculation)

    def arrived(self, since: float, *, waits: bool) -> None:
        """It is under way; `waits` if its first token will be seen."""

        def step() -> None:
            self._under_way = True
            self._observer.in_flight.arrive(self, self._class, since, waits=waits)

        self._run(step)

    def first_text(self, batch: str, seconds: float) -> None:
        """Its first text came."""

        def step() -> None:
            self._observer.in_flight.first_token(self, self._class)
            self._series(batch).time_to_first_token.observe(seconds)

        self._run(step)

    def shows_no_text(self) -> None:
        """Its first text will not be seen, so nobody waits for it."""
        self._run(lambda: self._observer.in_flight.first_token(self, self._class))

    def with_first(self, batch: str, tokens: int) -> None:
        """So many tokens came together with the first one."""
        if tokens:
            self._run(lambda: self._series(batch).tokens(tokens, 0.0))

    def chunk(self, batch: str, gap: float, tokens: int | None) -> None:
        """More text came; `tokens` None if their number is not known yet."""
        if self._class == _NOT_YET:
            self._pending.append(lambda: self.chunk(batch, gap, tokens))
            return
        series = self._series(batch)
        series.chunk(gap)
        if tokens is not None:
            series.tokens(tokens, gap)

    def tokens(self, samples: list[TokenSample]) -> None:
        """The number of tokens of earlier chunks is known now."""

        def step() -> None:
            for batch, tokens, gap, value in samples:
                self._series(BATCH_LABELS[batch]).inter_token.observe_many(value, tokens, gap)

        self._run(step)

    def record(self, record: RequestRecord, batch: str, waiting_batch: str) -> None:
        """What the answer says about itself.

        Args:
            record: the answer's record.
            batch: over the whole request.
            waiting_batch: until its first token.
        """
        self._run(lambda: self._record(record, batch, waiting_batch))

    def _record(self, record: RequestRecord, batch: str, waiting_batch: str) -> None:
        metrics, tally = self._observer.metrics, record.tally
        metrics.token_counts(self.model, self._class, record.prompt_tokens, record.completion_tokens)
        if record.queue_wait_s is not None:
            self._series(waiting_batch).queue_wait.observe(record.queue_wait_s)
        if record.speculation is None:
            return
        rate = record.speculation.rate if tally.acceptance_rate is None else tally.acceptance_rate
        if rate is not None:
            self._series(batch).acceptance_ratio.observe(rate)
        lengths = record.histogram if tally.drafts == sum(record.histogram) else ()
        self._series(batch).draft_steps(lengths)
        counts = DraftCounts(tally, record.speculation.drafted_per_position)
        metrics.drafts(self.model, self._class, self.speculation, counts)

    def engine_first_token(self, batch: str, seconds: float) -> None:
        """The engine says when the first token of an answer that is not streamed was made."""
        self._run(lambda: self._series(batch).time_to_first_token.observe(seconds))

    def abandon(self) -> None:
        """It is not under way any more; nothing else is recorded."""
        self._pending.clear()
        if self._under_way:
            self._under_way = False
            self._observer.in_flight.leave(self, self._class)

    def left(self, outcome: Outcome, batch: str, seconds: float, *, speculation_told: bool) -> None:
        """It has ended; counted last, so that who sees it counted sees all of it."""

        def step() -> None:
            metrics = self._observer.metrics
            if outcome is Outcome.SUCCESS:
                self._series(batch).e2e.observe(seconds)
                if not speculation_told:
                    metrics.without_record(self.model, self._class)
            self.abandon()
            metrics.finished(self.model, self._class, outcome)

        self._run(step)
