"""GenAI-Perf: `..._genai_perf.json` (statistics), and Perf Analyzer's `profile_export.json` (moments of requests).

Read in GenAI-Perf 0.0.16 (`profile_data_parser/llm_profile_data_parser.py`). Its summary has AIPerf's shape and
terms: inter-token latency is a request's time per token. Tokens are counted with a tokenizer of its own, and Perf
Analyzer's file has none: only moments can be taken from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from specwatch_bench.imported.chunks import record_of
from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_bench.imported.metric_blocks import moment
from specwatch_bench.request_record import RequestRecord
from specwatch_exporters.bench_run import BenchRun
from specwatch_exporters.bodies.fields import items, mapping, name, number

TOOL = "GenAI-Perf"
_NANO = 1e9


def is_perf_analyzer(body: Mapping[str, Any]) -> bool:
    """Whether an object is Perf Analyzer's."""
    return any("requests" in experiment for experiment in items(body.get("experiments")))


def read_perf_analyzer(body: Mapping[str, Any]) -> list[ImportedRun]:
    """One run for each experiment."""
    found = []
    for index, experiment in enumerate(items(body.get("experiments")), start=1):
        records = _records(experiment)
        if records:
            run = BenchRun(
                name=f"experiment {index}",
                concurrency=int(_level(experiment, "concurrency") or 0) or None,
                requests=len(records),
                duration_s=max(record.sent + record.ended for record in records) / 1e6,
            )
            rate = _level(experiment, "request_rate")
            found.append(ImportedRun(tool=TOOL, run=run, rate=rate, records=records, placed=True, remarks=_REMARKS))
    return found


_REMARKS = ("the file has no token counts: latencies per chunk and per request only",)


def _level(experiment: Mapping[str, Any], mode: str) -> float | None:
    """The level of the load, where it was made in this mode."""
    level = mapping(experiment.get("experiment"))
    return number(level.get("value")) if name(level.get("mode")) == mode else None


def _records(experiment: Mapping[str, Any]) -> tuple[RequestRecord, ...]:
    timed = []
    for request in items(experiment.get("requests")):
        sent = moment(request.get("timestamp"))
        given = request.get("response_timestamps")
        moments = [at for at in map(moment, given if isinstance(given, list) else ()) if at is not None]
        if sent is not None and moments:
            timed.append((sent, moments))
    timed.sort()
    zero = timed[0][0] if timed else 0
    return tuple(
        record_of(
            index,
            sent=(sent - zero) / _NANO,
            first=(moments[0] - sent) / _NANO,
            gaps=[(now - then) / _NANO for then, now in pairwise(moments)],
            ended=(moments[-1] - sent) / _NANO,
            prompt_tokens=None,
            tokens=None,
        )
        for index, (sent, moments) in enumerate(timed)
    )
