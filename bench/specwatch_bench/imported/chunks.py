"""Chunks of a stream from what a benchmark's client kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from specwatch_bench.figures import quantile_ms
from specwatch_bench.request_record import ERROR, OK, RequestRecord
from specwatch_exporters.bench_run import Times

_MICRO = 1e6
_MOST_AT_ONCE = 16  # tokens that a first chunk may hold


def chunks_of(
    first: float, gaps: Sequence[float], tokens: int | None, *, shared: bool
) -> tuple[list[float], list[int] | None]:
    """Gaps before each chunk, seconds, and tokens of each.

    A client that shares a chunk's gap among its tokens (SGLang's `bench_serving` with its own API, 0.5.17) writes
    the same number once for each of them: runs of equal numbers, as many as there are tokens after the first chunk.
    Any other list has one gap for each chunk, and what came in one read (a gap of 0) is one chunk; sizes are then
    unknown.

    Args:
        first: to the first chunk, seconds.
        gaps: between what the client counted after it, seconds.
        tokens: of the whole answer, or None.
        shared: whether the client may have shared them; two equal gaps of another client are chance.
    """
    runs = [(gap, len(list(same))) for gap, same in groupby(gaps)]
    begun = 0 if tokens is None else tokens - len(gaps)
    if shared and 1 <= begun <= _MOST_AT_ONCE and any(count > 1 and gap > 0.0 for gap, count in runs):
        return [first, *(gap * count for gap, count in runs)], [begun, *(count for _, count in runs)]
    return [first, *(gap for gap in gaps if gap > 0.0)], None


def record_of(
    number: int,
    *,
    sent: float,
    first: float | None,
    gaps: Sequence[float],
    ended: float | None,
    prompt_tokens: int | None,
    tokens: int | None,
    error: str = "",
    shared: bool = False,
) -> RequestRecord:
    """A request's record.

    Args:
        number: of the request.
        sent: seconds since the first one.
        first: to its first chunk, seconds; None when there was none. Without tokens none counts.
        gaps: see `chunks_of`.
        ended: to its end, seconds; None for the sum of the gaps.
        prompt_tokens: of the request.
        tokens: of the answer.
        error: empty when all was well.
        shared: see `chunks_of`.
    """
    before, sizes = ([], None) if first is None or tokens == 0 else chunks_of(first, gaps, tokens, shared=shared)
    whole = sum(before) if ended is None else ended
    return RequestRecord(
        number=number,
        traffic_class="imported",
        sent=round(sent * _MICRO),
        late=None,
        chunks=tuple(round(gap * _MICRO) for gap in before),
        sizes=None if sizes is None else tuple(sizes),
        ended=round(whole * _MICRO),
        prompt_tokens=prompt_tokens,
        tokens=tokens,
        asked=tokens or 0,
        outcome=ERROR if error else OK,
        error=error,
    )


def per_request(records: Sequence[RequestRecord]) -> Times:
    """Time per token after the first, milliseconds, of each request that has two; unknown where none has."""
    values = [
        (record.ended - record.chunks[0]) / (record.tokens - 1)
        for record in records
        if record.chunks and record.tokens is not None and record.tokens > 1
    ]
    if not values:
        return Times()
    p50, p99 = (quantile_ms([(value, 1.0) for value in values], share) for share in (0.5, 0.99))
    return Times(sum(values) / len(values) / 1e3, p50, p99)
