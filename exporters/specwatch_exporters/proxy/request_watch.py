"""One request, watched: what the client and the engine sent becomes observations."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.bodies.response_totals import PREDICTION
from specwatch_exporters.proxy.api_paths import Api
from specwatch_exporters.proxy.batch_meter import Mark
from specwatch_exporters.proxy.http_head import RequestHead, ResponseHead
from specwatch_exporters.proxy.lane import Lane
from specwatch_exporters.proxy.observer import Observer
from specwatch_exporters.proxy.parties import Ending
from specwatch_exporters.proxy.recording import Recording
from specwatch_exporters.proxy.request_reading import RequestFacts, StreamSearch, read_request
from specwatch_exporters.proxy.response_reading import Chunk, Reading, Unread, read_response
from specwatch_exporters.proxy.token_tally import TokenTally
from specwatch_exporters.request_labels import batch_label
from specwatch_exporters.request_metrics import Outcome

_MAX_CHOICES: Final = 128


class RequestWatch:
    """Watches one request to a path that is read.

    Times count from the moment that the request was complete here, so a slow upload is nobody's latency. The
    batch of a chunk is the one at its moment; that of a request is the time-weighted mean over what is measured.

    Args:
        api: form of the request.
        head: of the request.
        observer: see `Observer`.
    """

    def __init__(self, api: Api, head: RequestHead, observer: Observer) -> None:
        self._api = api
        self._head = head
        self._observer = observer
        self._recording = Recording(observer)
        self._body: list[bytes] = []
        self._body_size = 0
        self._search: StreamSearch | None = None
        self._facts = RequestFacts()
        self._lane: Lane | None = None
        self._mark: Mark | None = None
        self._joined = False
        self._status = 0
        self._reading: Reading = Unread("", streamed=False)
        self._last: dict[int, float] = {}
        self._tally = TokenTally()
        self._waiting_batch: str | None = None

    # From the exchange, in order.

    def request_body(self, data: bytes) -> None:
        """Keep a copy; beyond the limit only look for what the batch depends on."""
        self._body_size += len(data)
        if self._search is not None:
            self._search.feed(data)
            return
        self._body.append(data)
        if self._body_size > self._observer.read_limit:
            self._search = StreamSearch()
            self._search.feed(b"".join(self._body))
            self._body = []

    def request_end(self) -> None:
        """The request is complete: time starts here."""
        self._begin()

    def goes_to(self, lane: Lane) -> None:
        """It is sent to one of several pools."""
        self._lane = lane
        self._recording.speculation = lane.method

    def response_head(self, head: ResponseHead) -> None:
        """The answer begins."""
        self._begin()
        self._status = head.status
        if 200 <= head.status < 300:
            self._reading = read_response(self._api, head.headers, self._observer.read_limit)
            if not self._reading.streamed or self._reading.problem:
                self._stop_waiting()

    @property
    def has_text(self) -> bool:
        """Whether the first text has come; until then it is waited for, and reading must not be put off."""
        return bool(self._last)

    def response_body(self, data: bytes, now: float, batch: int) -> None:
        """Text may have come.

        Args:
            data: bytes of the body, in order.
            now: when they came.
            batch: how many requests were generating then.
        """
        for choice, chunk in self._reading.feed(data).items():
            self._chunk(choice, chunk, now, batch)
        if not self._joined and self._reading.problem == "stream":
            self._stop_waiting()

    def ended(self, ending: Ending) -> None:
        """It is over."""
        mark = self._begin()
        now = self._observer.clock()
        if ending is Ending.COMPLETE:
            self._reading.close()
        batch = batch_label(self._observer.batch.mean_since(mark, now))
        if self._joined:
            self._observer.batch.leave(self._facts.choices, now)
        self._name_model()
        outcome, record = self._outcome(ending), self._record()
        self._note_unread(outcome, record)
        if record is not None:
            self._take_record(record, batch)
        told = record is not None and record.speculation is not None
        self._recording.left(outcome, batch, now - mark.time, speculation_told=told)
        if self._lane is not None:
            tokens = None if record is None else record.completion_tokens
            self._lane.ledger.finished(outcome, now - mark.time, tokens)

    def abandon(self) -> None:
        """Reading has failed: give back what others count on."""
        if self._joined:
            self._joined = False
            self._observer.batch.leave(self._facts.choices, self._observer.clock())
        self._recording.abandon()

    # The beginning.

    def _begin(self) -> Mark:
        """Once: read the request, start the time, choose the class."""
        if self._mark is not None:
            return self._mark
        observer = self._observer
        now = observer.clock()
        mark = self._mark = observer.batch.mark(now)
        facts = self._read_request()
        self._facts = facts or RequestFacts()
        if not self._facts.stream:
            self._join(now)
        self._recording.arrived(now, waits=self._facts.stream)
        observer.classes.choose(self._head, facts, self._recording.classed)
        return mark

    def _read_request(self) -> RequestFacts | None:
        """What the body says; None, and counted, if it cannot be read."""
        whole = b"".join(self._body)
        self._body = []
        facts: RequestFacts | None = None
        if self._search is not None:
            problem, facts = "request_too_large", RequestFacts(stream=self._search.found, predicts=True)
        elif self._head.headers.get(b"content-encoding") is not None:
            problem, facts = "request_encoding", RequestFacts(stream=True, predicts=True)
        else:
            facts = read_request(self._api, whole)
            problem = "request_damaged" if facts is None and whole else ""
        if problem:
            self._observer.metrics.unread(problem)
        return facts

    def _join(self, now: float) -> None:
        if not self._joined:
            self._joined = True
            self._observer.batch.join(self._facts.choices, now)

    def _stop_waiting(self) -> None:
        """Its first text will not be seen: it counts as generating from now on."""
        if not self._joined:
            self._recording.shows_no_text()
            self._join(self._observer.clock())

    # The answer.

    def _chunk(self, choice: int, chunk: Chunk, now: float, batch: int) -> None:
        last = self._last.get(choice)
        if last is None:
            if not self._last:
                self._first_text(now)
                batch = max(batch, self._facts.choices)
            if len(self._last) < _MAX_CHOICES:
                self._last[choice] = now
                label = batch_label(batch)
                self._recording.with_first(label, self._tally.first(chunk, label))
            return
        self._last[choice] = now
        label = batch_label(batch)
        self._tally.more(chunk, now - last, label)
        self._recording.chunk(label, now - last, chunk.tokens)

    def _first_text(self, now: float) -> None:
        self._name_model()
        mark = self._begin()
        self._waiting_batch = batch_label(self._observer.batch.mean_since(mark, now))
        self._recording.first_text(self._waiting_batch, now - mark.time)
        self._join(now)

    def _name_model(self) -> None:
        """The answer's own name for the model; what was merely asked for only if some answer has named it."""
        named, observer = self._reading.model, self._observer
        self._recording.model = observer.asked(self._facts.model) if named is None else observer.answered(named)

    # The end.

    def _outcome(self, ending: Ending) -> Outcome:
        if ending is Ending.COMPLETE:
            return self._complete_outcome()
        if ending is Ending.CLIENT_GONE:
            whole = self._reading.streamed and not self._reading.problem and self._reading.complete
            return Outcome.SUCCESS if whole else Outcome.ABORTED
        if ending is Ending.ENGINE_GONE:  # before its head the client got a 502
            return Outcome.CUT if self._status else Outcome.ERROR
        return Outcome.UNREACHABLE if ending is Ending.UNREACHABLE else Outcome.REJECTED

    def _complete_outcome(self) -> Outcome:
        if self._status >= 500 or self._reading.failed:
            return Outcome.ERROR
        if self._status >= 300:
            return Outcome.REJECTED
        return Outcome.SUCCESS if self._reading.complete else Outcome.CUT

    def _note_unread(self, outcome: Outcome, record: RequestRecord | None) -> None:
        problem = self._reading.problem and f"response_{self._reading.problem}"
        if not problem and outcome is Outcome.SUCCESS and (record is None or record.completion_tokens is None):
            problem = "response_no_usage"
        if problem:
            self._observer.metrics.unread(problem)

    def _record(self) -> RequestRecord | None:
        """What the answer tells; prediction tokens are no drafter's if the request may have brought its guess."""
        record = self._reading.record()
        if record is None or record.speculation is None or record.speculation.definition != PREDICTION:
            return record
        return replace(record, speculation=None) if self._facts.predicts else record

    def _take_record(self, record: RequestRecord, batch: str) -> None:
        waiting = self._waiting_batch or batch
        if record.completion_tokens is not None:
            samples = self._tally.samples(record.completion_tokens, record.per_step_accepted)
            self._recording.tokens(samples)
        self._recording.record(record, batch, waiting)
        if record.ttft_s is not None and not self._reading.streamed:
            self._recording.engine_first_token(waiting, record.ttft_s)
