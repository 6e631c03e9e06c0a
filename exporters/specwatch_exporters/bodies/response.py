"""From the JSON of one response to a `RequestRecord`: engines are told apart by their own fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specwatch_exporters.bodies import response_totals, sglang_record, trtllm_choice, trtllm_record, vllm_record
from specwatch_exporters.bodies.fields import count, first_count, items, mapping, name, number
from specwatch_exporters.bodies.record import RequestRecord, Times
from specwatch_exporters.bodies.speculation import Speculation

_VLLM_TIMES = frozenset({"time_to_first_token_ms", "queue_time_ms", "generation_time_ms", "mean_itl_ms"})


def record_from_json(body: object) -> RequestRecord | None:
    """Read one response: OpenAI or native, or a bare `metrics`, `meta_info` or `/perf_metrics` object.

    Works on stream chunks too; what a chunk does not carry is None. Never raises.

    Returns:
        The record, or None if the object looks like none of these.
    """
    if not isinstance(body, dict):
        return None
    performance = trtllm_record.find(body)
    if performance is not None:
        spent = trtllm_record.times(performance)
        return RequestRecord("trtllm", speculation=trtllm_record.read(performance), times=spent)
    usage = _usage(body)
    engine, speculation = _speculation(body, usage.completion)
    if speculation is None and not _is_response(body):
        return None
    meta = mapping(body.get("meta_info")) or (body if engine == "sglang" else {})
    return RequestRecord(
        engine=engine,
        model=name(body.get("model")),
        speculation=speculation,
        prompt_tokens=usage.prompt,
        completion_tokens=usage.completion,
        finish_reason=_finish_reason(body, meta),
        times=_sglang_times(meta) if engine == "sglang" else _vllm_times(body),
    )


@dataclass(frozen=True, slots=True)
class _Usage:
    prompt: int | None
    completion: int | None


def _usage(body: Mapping[str, Any]) -> _Usage:
    spots = (mapping(body.get("usage")), mapping(body.get("meta_info")), body)
    prompt = map(_prompt, spots)
    completion = (first_count(spot, "completion_tokens", "output_tokens") for spot in spots)
    return _Usage(
        next((whole for whole in prompt if whole is not None), None),
        next((whole for whole in completion if whole is not None), None),
    )


def _prompt(spot: Mapping[str, Any]) -> int | None:
    """Tokens of the prompt; Anthropic's `input_tokens` leave out those of the cache (vLLM 0.32 follows)."""
    whole = first_count(spot, "prompt_tokens", "input_tokens")
    cached = (count(spot.get(f"cache_{which}_input_tokens")) or 0 for which in ("read", "creation"))
    return None if whole is None else whole + sum(cached)


def _speculation(body: Mapping[str, Any], completion: int | None) -> tuple[str | None, Speculation | None]:
    vllm = vllm_record.find(body)
    if vllm:
        return "vllm", vllm_record.read(vllm)
    sglang = sglang_record.find(body)
    if sglang:
        return "sglang", sglang_record.read(sglang, completion)
    choice = trtllm_choice.read(body)
    return ("trtllm", choice) if choice is not None else (_engine(body), response_totals.read(body))


def _engine(body: Mapping[str, Any]) -> str | None:
    """The engine of a response without a record."""
    if isinstance(body.get("meta_info"), dict) or "weight_version" in mapping(body.get("metadata")):
        return "sglang"
    fingerprint = name(body.get("system_fingerprint")) or ""
    if fingerprint.startswith("vllm") or not _VLLM_TIMES.isdisjoint({*body, *mapping(body.get("metrics"))}):
        return "vllm"
    return None


def _is_response(body: Mapping[str, Any]) -> bool:
    if isinstance(body.get("choices"), list) or isinstance(body.get("meta_info"), dict):
        return True
    return not _VLLM_TIMES.isdisjoint(body) or (isinstance(body.get("usage"), dict) and "model" in body)


def _finish_reason(body: Mapping[str, Any], meta: Mapping[str, Any]) -> str | None:
    spots = [*(choice.get("finish_reason") for choice in items(body.get("choices"))), meta.get("finish_reason")]
    spots.append(body.get("stop_reason"))  # Anthropic's
    reasons = (name(spot) or name(mapping(spot).get("type")) for spot in spots)
    return next((reason for reason in reasons if reason), None)


def _vllm_times(body: Mapping[str, Any]) -> Times:
    """Times of `--enable-per-request-metrics`.

    Source: vLLM 0.33.0 `generate/base/serving.py`: the first token counts from the schedule, the generation time
    from the first token to the last.
    """
    metrics = mapping(body.get("metrics")) or body
    queue, first = _seconds(metrics.get("queue_time_ms")), _seconds(metrics.get("time_to_first_token_ms"))
    rest = _seconds(metrics.get("generation_time_ms"))
    ttft = None if queue is None or first is None else queue + first
    return Times(
        queue_wait_s=queue,
        ttft_s=ttft,
        e2e_s=None if ttft is None or rest is None else ttft + rest,
        token_latency_s=_seconds(metrics.get("mean_itl_ms")),
    )


def _seconds(milliseconds: object) -> float | None:
    value = number(milliseconds)
    return None if value is None else value / 1000.0


def _sglang_times(meta: Mapping[str, Any]) -> Times:
    return Times(queue_wait_s=number(meta.get("queue_time")), e2e_s=number(meta.get("e2e_latency")))
