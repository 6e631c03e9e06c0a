"""What SGLang's server says about itself: `/server_info` (`/get_server_info`) and `/v1/loads`.

Source: sglang wheels 0.5.6 to 0.5.23. Both have one entry per scheduler, that is per data-parallel rank, and no
counts. `avg_spec_accept_length` and `accept_length` are means since start, null or 0 on a rank that has verified
nothing; `accept_rate` is the last decode interval's, in the version's own formula. Only named fields are kept:
`/server_info` lists API keys, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from specwatch_exporters.acceptance import Tally, ratio
from specwatch_exporters.bodies.fields import count, items, mapping, name, number
from specwatch_exporters.notices import Notice
from specwatch_exporters.page import UNKNOWN_MODEL, Declared
from specwatch_exporters.report import NO_DEFINITION, ModelReport, Report, State
from specwatch_exporters.sglang_rate import interpret
from specwatch_exporters.sidecar.version_probe import EngineFacts, sglang_facts

DEFINITION: Final = "sglang-mean-since-start"
_STRICT_SINCE: Final = (0, 5, 11)
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_MOST_SHOWN: Final = 16


def read_server(body: object) -> Report | None:
    """Read one of the two answers.

    Args:
        body: the decoded JSON.

    Returns:
        A report, or None if it is neither.
    """
    if not isinstance(body, dict):
        return None
    if isinstance(body.get("internal_states"), list):
        return _server_info(body, body["internal_states"])
    loads = items(body.get("loads"))
    return _loads(body, loads) if any("num_running_reqs" in load for load in loads) else None


def _server_info(body: Mapping[str, Any], states: Sequence[Any]) -> Report:
    lengths = [number(mapping(state).get("avg_spec_accept_length", state)) for state in states]
    facts = sglang_facts(body)
    length, notices = _mean_length(lengths)
    rate, told = (None, []) if facts.adaptive else _rate(length, max(lengths, key=_or_zero, default=None), facts)
    model = replace(_model(facts, length, len(states)), rate=rate)
    if model.model == UNKNOWN_MODEL:
        model = replace(model, model=name(body.get("model_path")) or UNKNOWN_MODEL)
    return _report(model, [*notices, *told], "server-info")


def _or_zero(value: float | None) -> float:
    return value or 0.0


def _rate(length: float | None, longest: float | None, facts: EngineFacts) -> tuple[float | None, list[Notice]]:
    """Accepted / draft tokens = (length - 1) / K, unless a rank's length has no room in K."""
    depth = facts.speculative_tokens
    if length is None or longest is None or not depth:
        return None, []
    if longest > depth + 1.01:
        text = f"A mean length of {longest:.4g} is impossible with K = {depth} (at most {depth + 1}); rate unknown."
        return None, [Notice("inconsistent_counts", text)]
    return min(1.0, (length - 1.0) / depth), []


def _loads(body: Mapping[str, Any], loads: Sequence[Mapping[str, Any]]) -> Report:
    speculative = [mapping(load.get("speculative")) for load in loads]
    length, notices = _mean_length([number(one.get("accept_length")) for one in speculative])
    rate, told = _interval_rate(body, loads, speculative)
    usage = [share for share in (number(load.get("token_usage")) for load in loads) if share is not None]
    facts = EngineFacts(declared=Declared.CONFIGURED if any(speculative) else Declared.UNKNOWN)
    model = replace(
        _model(facts, length, len(loads)),
        rate=rate,
        running=_sum(loads, "num_running_reqs"),
        waiting=_sum(loads, "num_waiting_reqs"),
        kv_cache_usage=max(usage, default=None),
    )
    return _report(model, [*notices, *told], "loads")


def _interval_rate(
    body: Mapping[str, Any], loads: Sequence[Mapping[str, Any]], speculative: Sequence[Mapping[str, Any]]
) -> tuple[float | None, list[Notice]]:
    """The mean of the last interval's rates by running requests; the length is of another span, and no help."""
    pairs = [
        (rate, count(load.get("num_running_reqs")) or 0)
        for load, one in zip(loads, speculative, strict=True)
        if (rate := number(one.get("accept_rate"))) is not None
    ]
    busy = sum(running for _, running in pairs)
    if not busy:
        return None, []
    mean = ratio(sum(rate * running for rate, running in pairs), busy)
    reading = interpret(mean, None, 0.0, strict=_strict(body.get("version")))
    text = "accept_rate is of the last decode interval, accept_length since start: two spans, not one."
    return reading.rate, [Notice("gauge_only", text), *reading.notices]


def _strict(version: object) -> bool | None:
    found = _VERSION.match(version) if isinstance(version, str) else None
    return None if found is None else tuple(map(int, found.groups())) >= _STRICT_SINCE


def _mean_length(lengths: Sequence[float | None]) -> tuple[float | None, list[Notice]]:
    """The mean of the ranks that have verified anything; a rank without a length is no rank with length 0."""
    known = [length for length in lengths if length is not None and length >= 1.0]
    if not known:
        return None, []
    text = "The accept length is a mean since start: it has no counts, and cannot be taken over a span."
    if len(lengths) > 1:
        shown = ", ".join("none" if length is None else f"{length:.4g}" for length in lengths[:_MOST_SHOWN])
        text += f" Ranks: {shown}; shown is the plain mean of those {len(known)} of {len(lengths)} that have one."
    return sum(known) / len(known), [Notice("gauge_only", text)]


def _model(facts: EngineFacts, length: float | None, ranks: int) -> ModelReport:
    state = State.UNKNOWN
    if facts.declared is Declared.OFF:
        state = State.OFF
    elif length is not None:
        state = State.ACTIVE
    elif facts.declared is Declared.CONFIGURED:
        state = State.IDLE
    return ModelReport(
        model=facts.served_model or UNKNOWN_MODEL,
        state=state,
        engines=ranks,
        tally=Tally(),
        definition=DEFINITION if state is State.ACTIVE else NO_DEFINITION,
        length=length if state is State.ACTIVE else None,
        speculative_tokens=facts.speculative_tokens,
        method=facts.method,
        facts={} if facts.version is None else {"engine_version": facts.version},
    )


def _sum(loads: Sequence[Mapping[str, Any]], field: str) -> float | None:
    known = [value for value in (count(load.get(field)) for load in loads) if value is not None]
    return float(sum(known)) if known else None


def _report(model: ModelReport, notices: Sequence[Notice], dialect: str) -> Report:
    return Report("sglang", "server", (model,), tuple(sorted({*notices})), dialect=dialect)
