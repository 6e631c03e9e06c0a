"""The words of the latency monitor: from what it knows to a state with its reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from specwatch_detectors.latency_cusum import TimeBaseline, Times, log_ratio
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import DriftState, Reading
from specwatch_exporters.request_labels import BATCH_EDGES


@dataclass(frozen=True, slots=True)
class LatencyReading:
    """State of the per-token latency of one stream, with its reason.

    Attributes:
        state: ok, watch, drifted (slower) or cannot_tell.
        reason: why, in one sentence with numbers.
        score: evidence for slower over threshold, 1 or more is an alarm; None while nothing can be judged.
        alarms: alarms so far.
        since: time at which the evidence began; None when ok.
        direction: `slower`, `faster`, or empty where neither is established.
        change: latency over the baseline minus 1, over the last intervals and all batch buckets; None if unknown.
        buckets: the same by batch bucket.
    """

    state: DriftState
    reason: str
    score: float | None = None
    alarms: int = 0
    since: float | None = None
    direction: str = ""
    change: float | None = None
    buckets: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """What a latency monitor knows at a moment.

    Attributes:
        sampled: end of the last interval with samples, seconds; None before any.
        settled: time up to which the engine warms up.
        recent: the last intervals by batch bucket, the newest weighing most.
        baselines: by batch bucket.
        score: evidence over threshold for slower.
        faster: evidence over threshold for faster.
        drifted: slower, and not over.
    """

    sampled: float | None
    settled: float
    recent: Mapping[str, Times]
    baselines: Mapping[str, TimeBaseline]
    score: float
    faster: float
    drifted: bool


def judgement(known: Observed, now: float, settings: MonitorSettings, acceptance: Reading | None) -> LatencyReading:
    """State with its reason."""
    unknown = _unknown(known, now, settings)
    if unknown:
        return LatencyReading(DriftState.CANNOT_TELL, unknown)
    pooled = log_ratio(known.recent, known.baselines)
    change = None if pooled is None else math.expm1(pooled[0])
    buckets = _by_bucket(known)
    if known.drifted:
        words = f"{_longer(buckets, known)}, {_acceptance(acceptance)}"
        state, score, direction = DriftState.DRIFTED, max(1.0, known.score), "slower"
    elif known.score >= settings.watch_at:
        words = f"evidence that tokens take longer is growing: {_longer(buckets, known)}"
        state, score, direction = DriftState.WATCH, known.score, ""
    elif known.faster >= 1.0:
        words = f"{_longer(buckets, known)}; accept it as the new normal, so that its end is noticed"
        state, score, direction = DriftState.OK, known.score, "faster"
    else:
        words = f"tokens take as long as before ({0.0 if change is None else change:+.0%}) at equal batch"
        state, score, direction = DriftState.OK, known.score, ""
    return LatencyReading(state, words, score, direction=direction, change=change, buckets=buckets)


def _unknown(known: Observed, now: float, settings: MonitorSettings) -> str:
    """Why nothing can be said; empty if something can."""
    before = "; before that tokens took longer than the baseline" if known.drifted else ""
    if now < known.settled:
        return f"the engine has changed and warms up for {known.settled - now:.0f} s more{before}"
    if known.sampled is None:
        return "no latency samples yet"
    if now - known.sampled > settings.stale_after_s:
        return f"no latency samples for {now - known.sampled:.0f} s{before}"
    if not known.baselines:
        return "learning what tokens take at each batch size"
    return ""


def _by_bucket(known: Observed) -> dict[str, float]:
    found = {}
    for bucket, times in known.recent.items():
        pooled = log_ratio({bucket: times}, known.baselines)
        if pooled is not None and times.samples >= 1.0:
            found[bucket] = math.expm1(pooled[0])
    return found


def _longer(buckets: Mapping[str, float], known: Observed) -> str:
    """The bucket with the most evidence, in words."""
    if not buckets:
        return "tokens took longer, and no batch size of the baseline has samples now"

    def weight(bucket: str) -> float:
        pooled = log_ratio({bucket: known.recent[bucket]}, known.baselines)
        return 0.0 if pooled is None else abs(pooled[0]) * math.sqrt(pooled[1])

    most = max(sorted(buckets), key=weight)
    change = buckets[most]
    less = change < 0.0
    words = f"tokens take {abs(change):.0%} {'less time' if less else 'longer'} at {batch_words(most)} than before"
    others = sum(
        1 for name, value in buckets.items() if name != most and (value < 0.0) is less and abs(value) > 0.05
    )
    return f"{words} (and at {others} other sizes)" if others else words


def batch_words(bucket: str) -> str:
    """A value of the label `batch` in words: `16` is "batch 9 to 16"."""
    if bucket == "+":
        return f"batch over {BATCH_EDGES[-1]}"
    if not bucket.isdecimal() or int(bucket) not in BATCH_EDGES:
        return f"batch {bucket}" if bucket else "any batch"
    upper = int(bucket)
    lower = max((edge for edge in BATCH_EDGES if edge < upper), default=0) + 1
    return f"batch {upper}" if lower >= upper else f"batch {lower} to {upper}"


def _acceptance(reading: Reading | None) -> str:
    if reading is None:
        return "acceptance not known"
    if reading.state is DriftState.DRIFTED:
        return "and acceptance has dropped too: see the draft first"
    if reading.state is DriftState.CANNOT_TELL:
        return f"acceptance cannot be judged ({reading.reason})"
    return "acceptance as before: not the draft"
