"""What the request sidecar is held to, and whether it got there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench_proxy.entry import Entry
from bench_proxy.measures import ADDED_DELAY_P99, THROUGHPUT, Measure, median

ADDED_MS: Final = 1.0
TIMES_LITELLM: Final = 5.0
TIMES_NGINX: Final = 3.0


@dataclass(frozen=True)
class Verdict:
    """One aim for one entry.

    Attributes:
        aim: what was wanted.
        measured: what was found.
        reached: whether that is enough; None where it could not be measured.
    """

    aim: str
    measured: str
    reached: bool | None


def judge(ours: Entry, direct: Entry, others: dict[str, Entry]) -> list[Verdict]:
    """Hold one entry against direct, LiteLLM and nginx."""
    delay = median(ADDED_DELAY_P99, ours, direct)
    aim = f"added to a chunk p99 at most {ADDED_MS:g} ms"
    verdicts = [_verdict(aim, delay, f"{delay:.2f} ms", delay <= ADDED_MS)]
    for measure in THROUGHPUT:
        ratio = _ratio(measure, ours, others.get("LiteLLM"), direct)
        aim = f"{measure.title}: at least {TIMES_LITELLM:g} times LiteLLM"
        verdicts.append(_verdict(aim, ratio, f"{ratio:.1f} times", ratio >= TIMES_LITELLM))
    for measure in THROUGHPUT:
        ratio = _ratio(measure, others.get("nginx"), ours, direct)
        aim = f"{measure.title}: nginx at most {TIMES_NGINX:g} times as many"
        verdicts.append(_verdict(aim, ratio, f"{ratio:.1f} times", ratio <= TIMES_NGINX))
    return verdicts


def _ratio(measure: Measure, above: Entry | None, below: Entry | None, direct: Entry) -> float:
    """How many times the second's figure the first's is; NaN where one is missing."""
    if above is None or below is None:
        return math.nan
    divisor = median(measure, below, direct)
    return median(measure, above, direct) / divisor if divisor else math.inf


def _verdict(aim: str, value: float, measured: str, reached: bool) -> Verdict:
    unknown = math.isnan(value)
    return Verdict(aim, "not measured" if unknown else measured, None if unknown else reached)


def reached_word(verdict: Verdict) -> str:
    """`reached`, `missed` or `unknown`."""
    return {True: "reached", False: "missed", None: "unknown"}[verdict.reached]


def aims_table(columns: Sequence[tuple[str, Sequence[Verdict]]]) -> list[str]:
    """The lines of a Markdown table with a column for each entry that was judged; none where none was."""
    if not columns:
        return []
    lines = [f"| aim | {' | '.join(name for name, _ in columns)} |", "|---" * (len(columns) + 1) + "|"]
    for verdicts in zip(*(verdicts for _, verdicts in columns), strict=True):
        cells = [f"{verdict.measured}: {reached_word(verdict)}" for verdict in verdicts]
        lines.append(f"| {verdicts[0].aim} | {' | '.join(cells)} |")
    return lines
