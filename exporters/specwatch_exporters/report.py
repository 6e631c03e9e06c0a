"""The result of an inspection: one report for pages, logs, responses and benchmark runs alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.notices import Notice

Fact = bool | float | str | tuple[int, ...] | None

if TYPE_CHECKING:
    from specwatch_exporters.bench_run import BenchRun  # a sidecar reads no benchmark's result


class State(StrEnum):
    """Speculation of one model: four ways not to speculate are four different things."""

    ACTIVE = "active"
    OFF = "off"
    UNKNOWN = "unknown"
    IDLE = "idle"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Latency:
    """Summary of one latency histogram, seconds.

    Quantiles interpolate linearly inside a bucket, as PromQL's histogram_quantile does. In the first bucket and
    beyond the last finite edge a quantile is None, and its limits say all that is known.

    Attributes:
        p50_limits: lower and upper edge of the bucket that holds the median; upper None is unbounded.
        p99_limits: likewise.
    """

    count: float
    mean: float | None
    p50: float | None
    p99: float | None
    p50_limits: tuple[float, float | None] | None = None
    p99_limits: tuple[float, float | None] | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "count": self.count,
            "mean": self.mean,
            "p50": self.p50,
            "p99": self.p99,
            "p50_limits": self.p50_limits,
            "p99_limits": self.p99_limits,
        }


@dataclass(frozen=True, slots=True)
class Window:
    """One line of an engine log: counts over the engine's logging interval.

    Attributes:
        engine: engine id in force for the line, or None.
        seconds: length of the interval, or None when the line does not tell.
        partial: True when the line was cut.
        rate: acceptance rate where the line has no counts (SGLang), in specwatch's definition.
        length: mean acceptance length, likewise, or as printed where the number of draft steps is not certain.
        line: 1-based number of the line.
    """

    tally: Tally
    engine: str | None = None
    speculative_tokens: int | None = None
    seconds: float | None = None
    partial: bool = False
    rate: float | None = None
    length: float | None = None
    line: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON form; ratios are recomputed from counts, and as printed only where there are none."""
        own = tally_json(self.tally)
        if own["acceptance_rate"] is None:
            own["acceptance_rate"] = self.rate
        if own["mean_acceptance_length"] is None:
            own["mean_acceptance_length"] = self.length
        return {
            **own,
            "line": self.line,
            "k": self.speculative_tokens,
            "window_s": self.seconds,
            "engine": self.engine,
            "partial": self.partial,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure of a benchmark run against another's at the same load.

    Attributes:
        level: what says how much load: `concurrency`, `qps` or the like; empty if the rows do not tell.
        at: its value, likewise None.
        change_pct: lowest and highest change in percent; equal unless a run gives a range.
        factor: the same as a quotient.
        worse: True if even the best end of the range is worse than the baseline.
    """

    baseline: str
    config: str
    level: str
    at: float | None
    measure: str
    change_pct: tuple[float, float]
    factor: tuple[float, float]
    worse: bool

    def to_json(self) -> dict[str, Any]:
        """The JSON form; a range that is one number is given as that number."""
        return {
            "baseline": self.baseline,
            "config": self.config,
            "concurrency": self.at if self.level == "concurrency" else None,
            "level": self.level,
            "at": self.at,
            "measure": self.measure,
            "change_pct": _one_or_both(self.change_pct),
            "factor": _one_or_both(self.factor),
            "worse": self.worse,
        }


NO_DEFINITION: Final = "none"
"""Definition of a model whose page does not tell, or not yet, what it counts as a draft."""


@dataclass(frozen=True, slots=True)
class ModelReport:
    """Everything known about one model.

    Attributes:
        tally: counts; may be all None for engines that only have gauges.
        rate: acceptance rate where it does not follow from `tally` (gauge-only engines).
        length: mean acceptance length, likewise.
        facts: further values by name; they appear as they are in the JSON.
    """

    model: str
    state: State
    engines: int
    tally: Tally
    definition: str
    rate: float | None = None
    length: float | None = None
    running: float | None = None
    waiting: float | None = None
    kv_cache_usage: float | None = None
    speculative_tokens: int | None = None
    method: str | None = None
    latencies: dict[str, Latency] = field(default_factory=dict)
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def acceptance_rate(self) -> float | None:
        """From counts where they exist, else as reported."""
        return self.rate if self.tally.acceptance_rate is None else self.tally.acceptance_rate

    @property
    def mean_acceptance_length(self) -> float | None:
        """From counts where they exist, else as reported."""
        own = self.tally.mean_acceptance_length
        return self.length if own is None else own

    def to_json(self) -> dict[str, Any]:
        """The JSON form: every documented key is there, unknown numbers are null."""
        return {
            "model": self.model,
            "state": self.state.value,
            "engines": self.engines,
            **tally_json(self.tally),
            "acceptance_rate": self.acceptance_rate,
            "mean_acceptance_length": self.mean_acceptance_length,
            "running": self.running,
            "waiting": self.waiting,
            "kv_cache_usage": self.kv_cache_usage,
            "definition": self.definition,
            "k": self.speculative_tokens,
            "method": self.method,
            "latency": {name: latency.to_json() for name, latency in self.latencies.items()},
            **self.facts,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """What `specwatch inspect` prints.

    Attributes:
        engine: engine kind, or None when it was not recognised.
        source: what was read: `page`, `iterations`, `log`, `response`, `stream` or `runs`.
        resets: engines whose counters started again between two pages.
        windows: the lines of a log, in order.
        comparisons: benchmark runs side by side.
        runs: benchmark runs, each on its own.
    """

    engine: str | None
    source: str
    models: tuple[ModelReport, ...] = ()
    notices: tuple[Notice, ...] = ()
    resets: int = 0
    dialect: str = ""
    windows: tuple[Window, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    runs: tuple[BenchRun, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        body: dict[str, Any] = {
            "engine": self.engine,
            "dialect": self.dialect,
            "source": self.source,
            "models": [model.to_json() for model in self.models],
            "warnings": [{"code": notice.code, "message": notice.message} for notice in self.notices],
            "resets": self.resets,
        }
        if self.windows:
            body["windows"] = [window.to_json() for window in self.windows]
        if self.comparisons:
            body["comparisons"] = [comparison.to_json() for comparison in self.comparisons]
        if self.runs:
            body["runs"] = [run.to_json() for run in self.runs]
        return body


def tally_json(tally: Tally) -> dict[str, Any]:
    """Counts and the ratios that follow from them."""
    return {
        "drafts": tally.drafts,
        "draft_tokens": tally.draft_tokens,
        "accepted_tokens": tally.accepted_tokens,
        "acceptance_rate": tally.acceptance_rate,
        "mean_acceptance_length": tally.mean_acceptance_length,
        "per_position": list(tally.per_position),
        "conditional": list(tally.conditional),
        "per_drafted": list(tally.per_drafted),
    }


def _one_or_both(span: tuple[float, float]) -> float | list[float]:
    return span[0] if span[0] == span[1] else list(span)
