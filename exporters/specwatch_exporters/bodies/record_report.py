"""Sums of request records, one report per model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from specwatch_exporters.acceptance import Tally, ratio
from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.bodies.sample_latency import summarise_samples
from specwatch_exporters.bodies.speculation import Speculation
from specwatch_exporters.bodies.tally_sum import TallySum
from specwatch_exporters.notices import Notice
from specwatch_exporters.page import UNKNOWN_MODEL
from specwatch_exporters.report import Fact, Latency, ModelReport, State


def model_reports(records: Sequence[RequestRecord], facts: Mapping[str, Fact]) -> tuple[ModelReport, ...]:
    """One report per model, in the models' order.

    Args:
        records: requests, any number of models.
        facts: further numbers that belong in every report.
    """
    groups: dict[str, list[RequestRecord]] = {}
    for record in records:
        groups.setdefault(record.model or UNKNOWN_MODEL, []).append(record)
    return tuple(_model(model, groups[model], facts) for model in sorted(groups))


def record_notices(records: Sequence[RequestRecord]) -> list[Notice]:
    """Notices of the records: one sentence per code, with how many more there are."""
    by_code: dict[str, list[str]] = {}
    for record in records:
        for notice in record.notices:
            by_code.setdefault(notice.code, []).append(notice.message)
    silent = [record for record in records if record.speculation is None]
    if silent:
        by_code.setdefault("no_speculative_record", []).insert(0, _silence(silent, len(records)))
    return [
        Notice(code, messages[0] if len(messages) == 1 else f"{messages[0]} ({len(messages) - 1} more like it.)")
        for code, messages in by_code.items()
    ]


def _silence(silent: Sequence[RequestRecord], total: int) -> str:
    ways = {
        "vllm": "start vLLM 0.29 or newer with --per-request-spec-decode-metrics",
        "sglang": "ask SGLang for it with return_meta_info, or return_spec_tokens_details from 0.5.19 on",
    }
    way = ways.get(silent[0].engine or "", "the engine needs a flag to send it")
    subject = "The response carries" if total == 1 else f"{len(silent)} of {total} responses carry"
    return f"{subject} no speculative record: {way}."


def _model(model: str, records: Sequence[RequestRecord], facts: Mapping[str, Fact]) -> ModelReport:
    known = [record.speculation for record in records if record.speculation is not None]
    tally, depth = _tally(known)
    return ModelReport(
        model=model,
        state=_state(known, generated=any(record.completion_tokens for record in records)),
        engines=1,
        tally=tally,
        definition=known[0].definition if known else "none",
        rate=_weighted(known, [part.rate for part in known]),
        length=_weighted(known, [part.length for part in known]),
        speculative_tokens=depth,
        latencies=_latencies(records),
        facts={
            "requests": len(records),
            "prompt_tokens": _sum(record.prompt_tokens for record in records),
            "completion_tokens": _sum(record.completion_tokens for record in records),
            **_shape(known),
            **({"finish_reason": records[0].finish_reason} if len(records) == 1 else {}),
            **facts,
        },
    )


def _tally(known: Sequence[Speculation]) -> tuple[Tally, int | None]:
    if len(known) == 1:
        return known[0].tally, known[0].speculative_tokens
    sums = TallySum()
    for part in known:
        sums.add(part.tally, part.speculative_tokens)
    depths = {part.speculative_tokens for part in known if part.speculative_tokens is not None}
    return sums.total(), sums.depth if sums.added else max(depths, default=None)


def _state(known: Sequence[Speculation], *, generated: bool) -> State:
    tallies = [part.tally for part in known]
    if any(tally.draft_tokens or tally.accepted_tokens or tally.drafts for tally in tallies):
        return State.ACTIVE
    if any(part.length is not None or part.rate is not None for part in known):
        return State.ACTIVE
    if any(tally.draft_tokens == 0 for tally in tallies):
        return State.OFF if generated else State.IDLE
    return State.UNKNOWN


def _weighted(known: Sequence[Speculation], values: Sequence[float | None]) -> float | None:
    """Mean over verify steps of what records without counts report; None unless every record has the value."""
    whole = [value for value in values if value is not None]
    if not whole or len(whole) != len(known):
        return None
    if len(whole) == 1:
        return whole[0]
    weights = [part.tally.drafts or 0.0 for part in known]
    return ratio(sum(weight * value for weight, value in zip(weights, whole, strict=True)), sum(weights))


def _shape(known: Sequence[Speculation]) -> dict[str, Fact]:
    """Histogram of accepted tokens per step, and true denominators per position, where every record has them."""
    shape: dict[str, Fact] = {}
    if known and all(part.histogram for part in known):
        shape["histogram"] = tuple(map(sum, zip_longest(*(part.histogram for part in known), fillvalue=0)))
    if known and all(part.per_step_drafted for part in known):
        drafted = zip_longest(*(part.drafted_per_position for part in known), fillvalue=0)
        shape["drafted_per_position"] = tuple(map(sum, drafted))
    return shape


def _latencies(records: Sequence[RequestRecord]) -> dict[str, Latency]:
    samples = {
        "queue_wait_seconds": summarise_samples(record.queue_wait_s for record in records),
        "time_to_first_token_seconds": summarise_samples(record.ttft_s for record in records),
        "e2e_latency_seconds": summarise_samples(record.e2e_s for record in records),
        "time_per_output_token_seconds": summarise_samples(record.token_latency_s for record in records),
    }
    return {name: latency for name, latency in samples.items() if latency is not None}


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
