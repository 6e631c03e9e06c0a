"""Benchmark runs as JSON: rows in a list, one object, or JSON lines.

Read are the result objects of `vllm bench serve --save-result` and `--append-result` (0.32), those of SGLang's
`bench_serving` and `bench_one_batch_server`, of TensorRT-LLM's `benchmark_serving`, and plain rows with the same
figures under short names (`tok_s`, `duration_s`, `output_tokens`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bench_run import BenchRun, Times
from specwatch_exporters.bodies.fields import count, first_count, name, number
from specwatch_exporters.json_text import decode

_NAMES = ("config", "source", "name", "tag", "model_id", "model")
_THROUGHPUT = ("output_throughput", "output_tok_s", "tok_s")
_DURATION = ("duration", "duration_s")
_TOKENS = ("total_output_tokens", "output_tokens")
_LENGTH = ("spec_decode_acceptance_length", "accept_length", "acc_length", "mean_avg_decoded_tokens_per_iter")


def read_bench_rows(body: Any, *, bare: bool = False) -> tuple[BenchRun, ...]:
    """Runs in decoded JSON: an object or a list of objects.

    Args:
        body: an object or a list of them.
        bare: whether a throughput alone makes a run.

    Returns:
        One run for each object; empty unless every object holds a run's figures.
    """
    entries = body if isinstance(body, list) else [body]
    return _all_or_none(entries, bare=bare)


def read_bench_lines(text: str) -> tuple[BenchRun, ...]:
    """Runs in JSON lines, as both clients append them to one file; empty unless every line holds one."""
    return _all_or_none(decode(line) for line in text.splitlines() if line.strip())


def run_of(entry: Any, fallback: str, *, bare: bool = False) -> BenchRun | None:
    """One run from its fields.

    Args:
        bare: see `read_bench_rows`.
        entry: decoded JSON; fields of the wrong type, and zeros where something was not measured, are unknown.
        fallback: name of a run that has none.

    Returns:
        None if these are no figures of a run: tokens with a duration, a latency beside a throughput or a
        concurrency, or counts of drafts.
    """
    if not isinstance(entry, Mapping):
        return None
    entry = _one_batch(entry)
    percent = number(entry.get("spec_decode_acceptance_rate"))
    run = BenchRun(
        name=_name(entry) or fallback,
        concurrency=_concurrency(entry),
        requests=first_count(entry, "completed", "requests"),
        failed=count(entry.get("failed")),
        duration_s=_first(entry, _DURATION),
        output_tokens=first_count(entry, *_TOKENS),
        retokenized=first_count(entry, "total_output_tokens_retokenized"),
        output_tok_s=_first(entry, _THROUGHPUT),
        peak=_first(entry, ("max_output_tokens_per_s",)),
        ttft=_times(entry, "ttft"),
        tpot=_times(entry, "tpot"),
        itl=_times(entry, "itl"),
        tally=_tally(entry),
        rate=number(entry.get("acceptance_rate")) if percent is None else percent / 100,
        length=_first(entry, _LENGTH),
    )
    return run if _is_run(run) or run.tally.drafts is not None or (bare and run.output_tok_s is not None) else None


def _all_or_none(entries: Iterable[Any], *, bare: bool = False) -> tuple[BenchRun, ...]:
    runs: list[BenchRun] = []
    names: set[str] = set()
    for index, entry in enumerate(entries, start=1):
        run = run_of(entry, f"run {index}", bare=bare)
        if run is None:
            return ()
        if run.name in names:
            run = replace(run, name=f"{run.name} ({index})")
        names.add(run.name)
        runs.append(run)
    return tuple(runs)


def _name(entry: Mapping[str, Any]) -> str | None:
    """What tells the run from others; vLLM writes the backend for a label that was not given."""
    label = name(entry.get("label"))
    if label is not None and label != entry.get("backend"):
        return label
    return next((text for text in (name(entry.get(key)) for key in _NAMES) if text), None)


def _is_run(run: BenchRun) -> bool:
    latency = any(times != Times() for times in (run.ttft, run.tpot, run.itl))
    volume = run.duration_s is not None and run.output_tokens is not None
    place = run.output_tok_s is not None or run.concurrency is not None
    return volume or (latency and place)


def _one_batch(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row of SGLang's `bench_one_batch_server` in the others' terms.

    Its output throughput leaves out the prefill in newer releases, so that tokens and duration decide.
    """
    batch, length, latency = (number(entry.get(name)) for name in ("batch_size", "output_len", "latency"))
    if not batch or not length or not latency:
        return entry
    first = number(entry.get("last_ttft"))
    return {
        **entry,
        "concurrency": batch,
        "requests": batch,
        "duration_s": latency,
        "output_tokens": batch * length,
        "median_ttft_ms": None if first is None else first * 1e3,
    }


def _concurrency(entry: Mapping[str, Any]) -> int | None:
    """The limit; beside one, SGLang's `concurrency` is the mean that came about, and no whole number."""
    key = "max_concurrency" if "max_concurrency" in entry else "concurrency"
    return count(entry.get(key)) or None


def _times(entry: Mapping[str, Any], what: str) -> Times:
    return Times(
        mean=_first(entry, (f"mean_{what}_ms",)),
        p50=_first(entry, (f"median_{what}_ms", f"p50_{what}_ms")),
        p99=_first(entry, (f"p99_{what}_ms",)),
    )


def _first(entry: Mapping[str, Any], keys: Iterable[str]) -> float | None:
    """The first of several fields that holds a number over 0; a client writes 0 for what it has not measured."""
    return next((value for value in (number(entry.get(key)) for key in keys) if value), None)


def _tally(entry: Mapping[str, Any]) -> Tally:
    """Draft counts over the run; none if more was accepted than drafted."""
    drafts = number(entry.get("spec_decode_num_drafts"))
    drafted = number(entry.get("spec_decode_draft_tokens"))
    accepted = number(entry.get("spec_decode_accepted_tokens"))
    if drafted is not None and accepted is not None and accepted > drafted:
        return Tally()
    rates = entry.get("spec_decode_per_position_acceptance_rates")
    return Tally(drafts, drafted, accepted, _accepted_at(rates, drafts))


def _accepted_at(rates: Any, drafts: float | None) -> tuple[float | None, ...]:
    """Counts behind the rates per position, so that they go the way of all counts."""
    known = [number(rate) for rate in rates] if isinstance(rates, list) and drafts else []
    return tuple(None if rate is None or rate > 1 else rate * (drafts or 0.0) for rate in known)
