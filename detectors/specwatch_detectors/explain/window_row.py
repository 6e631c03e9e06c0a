"""One row of a file of windows: a part of the traffic of one interval.

Columns (CSV) or keys (JSON); those of a history (`history_csv.py`) are among them:

    time               end of the interval: seconds since 1970, or ISO 8601                      required
    drafts             draft steps                                                               required
    accepted_1 ...     accepted tokens by position; in JSON also a list `accepted`               or accepted_tokens
    accepted_tokens    accepted tokens in total; in CSV also `accepted`
    draft_tokens       proposed tokens;  k: draft tokens per draft, where all drafts are alike
    drafted_1 ...      proposed tokens by position; in JSON also a list `drafted`
    model              where there are several
    class              traffic class; a row without one beside rows with one, same time and pod, is all of them
    pod, version, role, prompt_length, output_length, temperature, adapter, route, language, format
                       what kind of traffic, and which engine; a column that is missing is not known
    version, method, target, draft, k
                       whatever of these is given is watched for changes
    running            running requests;  step_seconds: mean time of a step;  uptime_s: of the pod
    spec_num_steps     SGLang: steps that it drafts at present, 0 while drafting is off
    canary             1 for a fixed set of prompts, which is compared by itself
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from specwatch_detectors.explain.evidence import Dimension
from specwatch_detectors.window import Window, window

WATCHED: Final = ("version", "method", "target", "draft", "k")
_MAX_DEPTH: Final = 64
_MEASURES: Final = ("draft_tokens", "running", "step_seconds", "uptime_s", "spec_num_steps")


class LogError(ValueError):
    """The file cannot be used; the message is one line that names the row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One part of the traffic in one interval.

    Attributes:
        time: end of the interval, seconds.
        window: counts.
        groups: name of the group it belongs to, by dimension.
        measures: `draft_tokens`, `running`, `step_seconds`, `uptime_s`, `spec_num_steps`, where given.
        facts: `version`, `method`, `target`, `draft`, `k`, where given.
        model: or empty.
        canary: it is the fixed set of prompts, and no part of the traffic.
        counted: it is part of the total; False for a class beside a row of all classes.
    """

    time: float
    window: Window
    groups: Mapping[Dimension, str]
    measures: Mapping[str, float]
    facts: Mapping[str, str]
    model: str = ""
    canary: bool = False
    counted: bool = True


def read_row(raw: Mapping[str, Any]) -> Row:
    """Read one row.

    Raises:
        ValueError: a count is missing, negative or no number; the message is one line.
    """
    drafts = number(raw, "drafts")
    if drafts is None:
        raise LogError("drafts is missing (increases of an interval; `detect replay` reads counters)")
    accepted, tokens = _by_position(raw, "accepted"), _accepted_tokens(raw)
    if not accepted and tokens is None:
        raise LogError("accepted tokens are missing: accepted_1, accepted_2, ... or accepted_tokens")
    measures = {name: value for name in _MEASURES if (value := number(raw, name)) is not None}
    depth = number(raw, "k")
    if depth is not None:
        measures.setdefault("draft_tokens", depth * drafts)
    counts = window(
        drafts,
        accepted,
        accepted_tokens=tokens,
        draft_tokens=number(raw, "draft_tokens"),
        drafted=_by_position(raw, "drafted"),
    )
    model, facts = str(raw.get("model") or "").strip(), _facts(raw)
    return Row(moment(raw.get("time")), counts, _groups(raw), measures, facts, model, canary=_canary(raw))


def _canary(raw: Mapping[str, Any]) -> bool:
    return str(raw.get("canary") or "").strip().lower() in {"1", "1.0", "true", "yes"}


def _facts(raw: Mapping[str, Any]) -> dict[str, str]:
    given = {name: str(raw[name]).strip() for name in WATCHED if raw.get(name) not in {None, ""}}
    depth = number(raw, "k")
    return given if depth is None else {**given, "k": f"{depth:g}"}


def _accepted_tokens(raw: Mapping[str, Any]) -> float | None:
    tokens = number(raw, "accepted_tokens")
    return number(raw, "accepted") if tokens is None and not isinstance(raw.get("accepted"), list) else tokens


def _by_position(raw: Mapping[str, Any], name: str) -> tuple[float, ...]:
    value = raw.get(name)
    if isinstance(value, list):
        if len(value) > _MAX_DEPTH:
            raise LogError(f"{name} has more than {_MAX_DEPTH} positions")
        return tuple(_finite(count, name) for count in value)
    found: list[float] = []
    for position in range(1, _MAX_DEPTH + 1):
        count = number(raw, f"{name}_{position}")
        if count is None:
            break
        found.append(count)
    return tuple(found)


def _groups(raw: Mapping[str, Any]) -> dict[Dimension, str]:
    found = {}
    for dimension in Dimension:
        if dimension.value not in raw or raw[dimension.value] is None:
            continue
        name = str(raw[dimension.value]).strip()
        if name or dimension is Dimension.ADAPTER:
            found[dimension] = name or "none"
    return found


def number(raw: Mapping[str, Any], key: str) -> float | None:
    """A number of a row; None if there is none.

    Raises:
        LogError: there is something else.
    """
    value = raw.get(key)
    return None if value is None or value == "" else _finite(value, key)


def _finite(value: object, name: str) -> float:
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise LogError(f"{name} is no number: {value!r}") from error
    if not math.isfinite(found):
        raise LogError(f"{name} is not finite")
    return found


def moment(value: object) -> float:
    """A time as seconds since 1970: a number, or ISO 8601 (UTC if it names no zone).

    Raises:
        LogError: it is neither.
    """
    if value is None or value == "":
        raise LogError("time is missing")
    try:
        return _finite(value, "time")
    except LogError:
        pass
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise LogError(f"time is neither seconds nor ISO 8601: {value!r}") from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
