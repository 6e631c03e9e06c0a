"""A cell's figures at a glance, for the terminal and the file's last line; the records say everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from specwatch_bench.request_record import OK, RequestRecord

_MILLI = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures of one cell; milliseconds, None where there is nothing to compute it from.

    Attributes:
        requests: ended well, sent within the measured time.
        failed: sent within it, with an error.
        tokens: that arrived within the measured time, whoever asked for them.
        tok_s: those tokens per second.
        token_p50: time per token within chunks after the first: each token has its share of its chunk's gap.
        chunk_p99: time between chunks, which is what a reader of the stream waits.
    """

    requests: int
    failed: int
    tokens: float
    tok_s: float | None
    ttft_p50: float | None
    ttft_p99: float | None
    e2e_p50: float | None
    e2e_p99: float | None
    token_p50: float | None
    token_p99: float | None
    chunk_p99: float | None
    tokens_per_chunk: float | None

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


def figures(records: Sequence[RequestRecord], seconds: float) -> Figures:
    """Compute them.

    Args:
        records: of one cell, warm-up included.
        seconds: measured time.
    """
    counted = [record for record in records if record.sent >= 0]
    ended = [record for record in counted if record.outcome == OK]
    end = seconds * 1e6
    within = [(gap, size) for record in records for gap, size in _gaps_within(record, end)]
    arrived = sum(size for record in records for at, size in _arrivals(record) if 0 <= at < end)
    ttft = [record.chunks[0] for record in ended if record.chunks]
    e2e = [record.ended for record in ended]
    tokens = sum(size for _, size in within)
    return Figures(
        requests=len(ended),
        failed=sum(record.outcome == "error" for record in counted),
        tokens=arrived,
        tok_s=arrived / seconds if seconds > 0 else None,
        ttft_p50=quantile_ms(((value, 1) for value in ttft), 0.5),
        ttft_p99=quantile_ms(((value, 1) for value in ttft), 0.99),
        e2e_p50=quantile_ms(((value, 1) for value in e2e), 0.5),
        e2e_p99=quantile_ms(((value, 1) for value in e2e), 0.99),
        token_p50=quantile_ms(((gap / size, size) for gap, size in within), 0.5),
        token_p99=quantile_ms(((gap / size, size) for gap, size in within), 0.99),
        chunk_p99=quantile_ms(((gap, 1) for gap, _ in within), 0.99),
        tokens_per_chunk=tokens / len(within) if within else None,
    )


def _sizes(record: RequestRecord) -> list[float]:
    """Tokens of each chunk; shared evenly where the engine does not say."""
    if record.sizes is not None:
        return list(map(float, record.sizes))
    count = len(record.chunks)
    return [(count if record.tokens is None else record.tokens) / count] * count if count else []


def _arrivals(record: RequestRecord) -> Iterator[tuple[int, float]]:
    """Moment, in microseconds of measured time, and tokens of each chunk."""
    moment = record.sent
    for gap, size in zip(record.chunks, _sizes(record), strict=True):
        moment += gap
        yield moment, size


def _gaps_within(record: RequestRecord, end: float) -> Iterator[tuple[int, float]]:
    """Gap before, and tokens of, each chunk after the first that arrived within the measured time."""
    chunks = zip(_arrivals(record), record.chunks, strict=True)
    for index, ((moment, size), gap) in enumerate(chunks):
        if index and 0 <= moment < end:
            yield gap, size


def quantile_ms(values: Iterable[tuple[float, float]], quantile: float) -> float | None:
    """Weighted quantile of microseconds, in ms: the smallest value with that share of the weight at or below it."""
    ordered = sorted(values)
    total = sum(weight for _, weight in ordered)
    reached = 0.0
    for value, weight in ordered:
        reached += weight
        if reached >= quantile * total:
            return value / _MILLI
    return None
