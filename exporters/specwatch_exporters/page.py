"""What a reader makes of one metrics page: canonical series, before any summing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from specwatch_exporters.notices import Notice

UNKNOWN_MODEL = "unknown"


class SeriesId(NamedTuple):
    """Identity of one raw counter series.

    `metric` is a catalogue name (histograms: with `_bucket`, `_sum` or `_count`), `extra` the value of the
    metric's own label (position, outcome, reason, le) or empty, and `source` the engine's own further labels, so
    that increases are taken per series and only then summed. `engine` is the data-parallel rank, after
    `instance/` when labels that no engine writes (pod, replica, worker) tell instances apart.
    """

    metric: str
    model: str
    engine: str
    extra: str
    source: str


class Key(NamedTuple):
    """Identity of a canonical series: a `SeriesId` without its source."""

    metric: str
    model: str
    engine: str
    extra: str


class Declared(StrEnum):
    """What a page says about speculation, apart from how much of it happened."""

    CONFIGURED = "configured"
    OFF = "off"
    UNKNOWN = "unknown"


def instance_of(engine: str) -> str:
    """The instance in an engine's name: what shares a process and so restarts together; empty for a plain rank."""
    return engine.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Reported:
    """Acceptance that an engine reports as a gauge, already in specwatch's definition.

    Attributes:
        rate: accepted / draft tokens, 0 to 1, or None.
        length: mean acceptance length, bonus included, or None.
    """

    rate: float | None = None
    length: float | None = None


@dataclass(slots=True)
class Page:
    """One reading of one metrics page.

    Attributes:
        engine: `vllm`, `sglang`, `trtllm`, `dynamo-frontend`, or None when nothing was recognised.
        dialect: which form of the engine's page this is, such as `v1` or `v0`.
        definition: tag of the acceptance counts' definition.
        counters: cumulative values per raw series.
        gauges: current values per canonical series; copies are already reduced.
        declared: per model, what the page says about speculation.
        reported: per model, gauge-only acceptance.
        speculative: models with any speculative series, whatever it says.
        speculative_tokens: per model, K as the page shows it.
        methods: per model, the speculation method if the page names it.
        facts: numbers of a model that have no metric of their own, such as `max_num_seqs`.
        derive: turns increases into further increases that only this engine's rules can give (SGLang), or None. Its
            second argument is K per model on the page before, or None for the first page.
        starts: per instance, process start in epoch seconds, if the page tells; a later one is a restart.
        lifetime_notices: true of the engine's whole life only, not of a span between two pages.
        drained: True when values are increments because reading empties the engine's buffer.
        notices: what the user must know.
    """

    engine: str | None
    dialect: str = ""
    definition: str = ""
    counters: dict[SeriesId, float] = field(default_factory=dict)
    gauges: dict[Key, float] = field(default_factory=dict)
    declared: dict[str, Declared] = field(default_factory=dict)
    reported: dict[str, Reported] = field(default_factory=dict)
    speculative: set[str] = field(default_factory=set)
    speculative_tokens: dict[str, int] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    facts: dict[str, dict[str, float | None]] = field(default_factory=dict)
    derive: Callable[[dict[Key, float], Mapping[str, int] | None], dict[Key, float]] | None = None
    starts: dict[str, float] = field(default_factory=dict)
    drained: bool = False
    notices: list[Notice] = field(default_factory=list)
    lifetime_notices: list[Notice] = field(default_factory=list)

    def note(self, code: str, message: str) -> None:
        """Add a notice once."""
        notice = Notice(code, message)
        if notice not in self.notices:
            self.notices.append(notice)

    def models(self) -> list[str]:
        """Models named anywhere on the page, sorted."""
        names = {series.model for series in self.counters} | {key.model for key in self.gauges}
        return sorted(names | set(self.declared) | set(self.reported) | set(self.facts))
