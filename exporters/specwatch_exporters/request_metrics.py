"""Metrics of requests, one object for the request sidecar and the vLLM plugin, so that both use the same names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from specwatch_exporters import request_catalog
from specwatch_exporters.acceptance import Tally
from specwatch_exporters.classes.class_name import OTHER
from specwatch_exporters.metric import Metric
from specwatch_exporters.request_histogram import WeightedHistogram
from specwatch_exporters.request_labels import (
    BATCH_LABELS,
    UNKNOWN,
    GroupLabels,
    LabelBook,
    PairLabels,
    RequestLimits,
    SetLabels,
)

_Labels = SetLabels | GroupLabels | PairLabels
MAX_POSITIONS: Final = 16
UNREAD_REASONS: Final = frozenset(
    {
        "classifier_busy",
        "internal",
        "request_damaged",
        "request_encoding",
        "request_too_large",
        "response_damaged",
        "response_encoding",
        "response_event",
        "response_media_type",
        "response_no_usage",
        "response_stream",
        "response_too_large",
    }
)


class Outcome(StrEnum):
    """How a request ended; `request_catalog.FINISHED` defines each."""

    SUCCESS = "success"
    ABORTED = "aborted"
    REJECTED = "rejected"
    ERROR = "error"
    CUT = "cut"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class DraftCounts:
    """Speculative counts of one request, or of an engine's steps.

    Attributes:
        tally: drafts, draft tokens, accepted tokens, accepted per position; what is unknown is None or empty.
        drafted_per_position: draft tokens proposed at position j, index j; empty if not told.
    """

    tally: Tally
    drafted_per_position: Sequence[int] = ()


def series_bound(limits: RequestLimits) -> int:
    """Most series that request metrics can have with these limits, creation times not counted.

    Each combination of labels can have every histogram (its buckets, +Inf, count and sum) and each group every
    counter; what stands in for a combination too many comes on top: one per batch bucket, and one group, for every
    model that is promised its name and for the model `other`.
    """
    per_set = sum(len(metric.buckets) + 3 for metric in request_catalog.REQUEST_CATALOG if metric.buckets)
    per_group = 6 + len(Outcome) + 2 * MAX_POSITIONS
    other = 2 * limits.classes + 3 + 2 + len(UNREAD_REASONS)
    models = limits.models + 1
    return (limits.sets + models * len(BATCH_LABELS)) * per_set + (limits.groups + models) * per_group + other


class RequestSeries:
    """Histograms of one combination of labels; one comes to exist with its first sample.

    All values are in seconds, tokens or shares, as the catalogue says.
    """

    def __init__(self, parents: dict[Metric, WeightedHistogram], labels: SetLabels) -> None:
        self._parents = parents
        self.labels = labels

    @cached_property
    def acceptance_length(self) -> WeightedHistogram:
        """Tokens per draft step, bonus included."""
        return self._child(request_catalog.ACCEPTANCE_LENGTH)

    @cached_property
    def acceptance_ratio(self) -> WeightedHistogram:
        """Accepted / draft tokens of a request."""
        return self._child(request_catalog.ACCEPTANCE_RATIO)

    @cached_property
    def queue_wait(self) -> WeightedHistogram:
        """Queued to first scheduled."""
        return self._child(request_catalog.QUEUE_WAIT)

    @cached_property
    def time_to_first_token(self) -> WeightedHistogram:
        """Request to first generated text."""
        return self._child(request_catalog.TTFT)

    @cached_property
    def inter_token(self) -> WeightedHistogram:
        """Time per token, corrected for steps of several tokens: n samples of g / n."""
        return self._child(request_catalog.INTER_TOKEN)

    @cached_property
    def inter_chunk(self) -> WeightedHistogram:
        """Gap between pieces of text."""
        return self._child(request_catalog.INTER_CHUNK)

    @cached_property
    def e2e(self) -> WeightedHistogram:
        """Request to the end of its answer."""
        return self._child(request_catalog.E2E)

    def chunk(self, gap: float) -> None:
        """A piece of text came this long after the one before it."""
        self.inter_chunk.observe_many(gap, 1)

    def tokens(self, count: int, gap: float) -> None:
        """So many tokens came together this long after the ones before them; zero tokens leave only their time."""
        self.inter_token.observe_many(gap / count if count else 0.0, count, gap)

    def draft_steps(self, lengths: Sequence[int]) -> None:
        """Draft steps by the number of tokens that they accepted, index 0 first."""
        for accepted, steps in enumerate(lengths):
            if steps:
                self.acceptance_length.observe_many(accepted + 1, steps)

    def _child(self, metric: Metric) -> WeightedHistogram:
        return self._parents[metric].labels(*self.labels)


class RequestMetrics:
    """Histograms and counters of requests in one registry.

    Args:
        registry: where they are registered.
        limits: how many label combinations there may be.
        reserved: classes that have a place from the start.

    Raises:
        ValueError: there are more reserved classes than places.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        limits: RequestLimits = RequestLimits(),  # noqa: B008 - immutable
        reserved: Iterable[str] = (),
    ) -> None:
        self._book = LabelBook(limits, reserved)
        self._histograms = {
            metric: WeightedHistogram(
                metric.name, metric.help, metric.labels, buckets=metric.buckets, registry=registry
            )
            for metric in request_catalog.REQUEST_CATALOG
            if metric.buckets
        }
        self._counters = {
            metric: Counter(metric.family, metric.help, metric.labels, registry=registry)
            for metric in request_catalog.REQUEST_CATALOG
            if metric.kind == "counter"
        }
        self._series: dict[SetLabels, RequestSeries] = {}
        self._children: dict[tuple[str, ...], Counter] = {}

    def _counter(self, metric: Metric, *labels: str) -> Counter:
        """One series of a counter; remembered, because prometheus_client's look-up costs several times more."""
        key = (metric.name, *labels)
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = self._counters[metric].labels(*labels)
        return found

    def traffic_class(self, name: str) -> str:
        """The label of a request's class: as it is, or `other`, and counted, when there are too many classes.

        Call it once per request.
        """
        label = self._book.admit_class(name)
        if label is None:
            self._counter(request_catalog.FOLDED, "class").inc()
            return OTHER
        return label

    def series(self, model: str, traffic_class: str, batch: str, speculation: str = UNKNOWN) -> RequestSeries:
        """The histograms for these labels; cheap enough to call for every chunk.

        Args:
            model: as `model_label` gives it.
            traffic_class: as `traffic_class` gives it.
            batch: as `batch_label` gives it.
            speculation: method in use, `off` or `unknown`.
        """
        wanted = SetLabels(model, traffic_class, batch, speculation)
        found = self._series.get(wanted)
        if found is None:
            admitted = self._book.admit_set(wanted)
            self._note_folded(wanted, admitted)
            found = self._series.get(admitted)
            if found is None:
                found = self._series[admitted] = RequestSeries(self._histograms, admitted)
        return found

    def drafts(self, model: str, traffic_class: str, speculation: str, counts: DraftCounts) -> None:
        """Add speculative counts; none without draft or accepted tokens: half a ratio is in no total."""
        tally = counts.tally
        if tally.draft_tokens is None or tally.accepted_tokens is None:
            return
        wanted = GroupLabels(model, traffic_class, speculation)
        labels = self._book.admit_group(wanted)
        self._note_folded(wanted, labels)
        for metric, value in (
            (request_catalog.DRAFTS, tally.drafts),
            (request_catalog.DRAFT_TOKENS, tally.draft_tokens),
            (request_catalog.ACCEPTED_TOKENS, tally.accepted_tokens),
        ):
            if value is not None:
                self._counter(metric, *labels).inc(value)
        self._add_positions(request_catalog.ACCEPTED_PER_POSITION, labels, tally.accepted_per_position)
        self._add_positions(request_catalog.DRAFTED_PER_POSITION, labels, counts.drafted_per_position)

    def _add_positions(self, metric: Metric, labels: GroupLabels, values: Sequence[float | None]) -> None:
        for position, value in enumerate(values[:MAX_POSITIONS]):
            if value is None:
                continue
            self._counter(metric, *labels, str(position)).inc(value)

    def token_counts(self, model: str, traffic_class: str, prompt: int | None, output: int | None) -> None:
        """Add a finished request's tokens; None is unknown."""
        labels = self._pair(model, traffic_class)
        if prompt is not None:
            self._counter(request_catalog.PROMPT_TOKENS, *labels).inc(prompt)
        if output is not None:
            self._counter(request_catalog.OUTPUT_TOKENS, *labels).inc(output)

    def finished(self, model: str, traffic_class: str, outcome: Outcome, count: int = 1) -> None:
        """A request, or several, have ended.

        All outcomes of a model and class begin at 0 together: a counter that is born at 300 has no increase.
        """
        labels = self._pair(model, traffic_class)
        for one in Outcome:
            self._counter(request_catalog.FINISHED, *labels, one.value).inc(count if one is outcome else 0)

    def without_record(self, model: str, traffic_class: str) -> None:
        """A request was answered in full, and the answer says nothing about speculation."""
        self._counter(request_catalog.WITHOUT_RECORD, *self._pair(model, traffic_class)).inc()

    def unread(self, reason: str) -> None:
        """A body could not be read, or not whole; the reason is one of `UNREAD_REASONS`."""
        self._counter(request_catalog.UNREAD, reason).inc()

    def body_bytes(self, direction: str, count: int) -> None:
        """Bytes of bodies were passed on: `request` or `response`."""
        self._counter(request_catalog.BODY_BYTES, direction).inc(count)

    def _pair(self, model: str, traffic_class: str) -> PairLabels:
        wanted = PairLabels(model, traffic_class)
        labels = self._book.admit_pair(wanted)
        self._note_folded(wanted, labels)
        return labels

    def _note_folded(self, wanted: _Labels, admitted: _Labels) -> None:
        if admitted != wanted:
            limit = "series" if admitted.model == wanted.model else "model"
            self._counter(request_catalog.FOLDED, limit).inc()
