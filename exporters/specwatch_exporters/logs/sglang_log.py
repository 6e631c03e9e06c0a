"""Collects the scheduler lines of an SGLang log: acceptance per interval, load, one copy per data-parallel rank.

SGLang prints ratios without counts. Every decode line covers the same number of forwards (`--decode-log-interval`),
each over the running requests, so means over lines are weighted by running requests.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from specwatch_exporters.acceptance import Tally, ratio
from specwatch_exporters.logs.line_notes import LineNotes
from specwatch_exporters.logs.sglang_line import SglangLine
from specwatch_exporters.logs.startup_line import StartUp
from specwatch_exporters.notices import Notice
from specwatch_exporters.page import UNKNOWN_MODEL
from specwatch_exporters.report import ModelReport, Report, State, Window
from specwatch_exporters.sglang_rate import ROOTED, STRICT, UNKNOWN, Evidence, Interpretation, interpret

DEFINITION = "sglang-log"
MAX_WINDOWS = 20_000
ROUNDING = 0.005
_TEXTS = {
    "duplicate_series": "repeat another rank of the same data-parallel group; they were left out.",
    "not_drafting": "accept length exactly 1 of an engine that adapts its steps: it has switched drafting off by "
    "itself, and every forward still counts as a verify; no collapse, and left out of the means.",
    "line_partial": "cut; numbers that are whole were used, the rest was left out.",
    "rate_over_one": "an acceptance rate over 1 is impossible (old SGLang); it was refused.",
}


@dataclass(slots=True)
class _Rank:
    """One data-parallel rank's last known load."""

    ranks: str
    running: int | None = None
    queued: int | None = None
    usage: float | None = None


@dataclass(frozen=True, slots=True)
class _Interval:
    """One decode line with acceptance, not interpreted yet."""

    rank: str | None
    rate: float | None
    length: float | None
    cut: bool
    number: int
    off: bool = False


@dataclass(slots=True)
class SglangLog:
    """Takes lines in order; memory is bounded, whatever the length of the log.

    Attributes:
        lines: lines of the engine seen.
        batches: those of its scheduler.
    """

    lines: int = 0
    batches: int = 0
    _intervals: deque[_Interval] = field(default_factory=lambda: deque(maxlen=MAX_WINDOWS))
    _ranks: dict[tuple[str, str | None], _Rank] = field(default_factory=dict)
    _evidence: Evidence = field(default_factory=lambda: Evidence(ROUNDING))
    _startup: StartUp = field(default_factory=StartUp)
    _notes: LineNotes = field(default_factory=LineNotes)
    _adaptive: bool = False
    _decodes: int = 0
    _drafting: int = 0
    _total_intervals: int = 0
    _weight: float = 0.0
    _length: float = 0.0
    _rate_weight: float = 0.0
    _rate: float = 0.0

    def take_startup(self, startup: StartUp) -> None:
        """Take the line that the server prints when it starts."""
        self.lines += 1
        self._startup = startup
        self._adaptive = startup.adaptive
        self._ranks.clear()

    def take_adaptive(self) -> None:
        """Take the line that an engine prints when it has chosen another number of steps by itself."""
        self._adaptive = True

    def take(self, line: SglangLine, source: str, number: int) -> None:
        """Take a scheduler line.

        Args:
            line: its numbers.
            source: who wrote it.
            number: 1-based line number.
        """
        self.lines += 1
        self.batches += 1
        rank = self._ranks.setdefault((source, line.data_rank), _Rank(line.ranks))
        if rank.ranks != line.ranks:
            self._notes.add("duplicate_series", number)
            return
        if line.cut:
            self._notes.add("line_partial", number)
        rank.running = line.running if line.running is not None else rank.running
        rank.queued = line.queued if line.queued is not None else rank.queued
        rank.usage = line.usage if line.usage is not None else rank.usage
        self._decodes += line.decode
        if line.decode and (line.length is not None or line.rate is not None):
            self._take_interval(line, number)

    def _take_interval(self, line: SglangLine, number: int) -> None:
        rate = line.rate
        if rate is not None and rate > 1.0 + ROUNDING:
            self._notes.add("rate_over_one", number)
            rate = None
        self._total_intervals += 1
        off = self._adaptive and line.length == 1.0 and not rate
        self._intervals.append(_Interval(line.data_rank, rate, line.length, line.cut, number, off))
        if off:
            self._notes.add("not_drafting", number)
            return
        self._drafting += 1
        weight = float(max(1, line.running or 1))
        if line.length is None or line.length < 1.0:
            return
        self._weight += weight
        self._length += weight * line.length
        if rate is not None:
            self._evidence.add(rate, line.length)
            self._rate_weight += weight
            self._rate += weight * rate

    def report(self) -> Report:
        """Sum up what was taken."""
        strict, slots = self._formula()
        overall = self._overall(strict, slots)
        windows = tuple(self._window(interval, strict, slots) for interval in self._intervals)
        notices = [*self._notes.notices(_TEXTS), *overall.notices, *self._summary_notices()]
        return Report(
            "sglang", "log", (self._model(overall),), tuple(sorted(set(notices))), dialect="log", windows=windows
        )

    def _formula(self) -> tuple[bool | None, int | None]:
        """The rate's formula and its slots, from all lines together and from the server's arguments."""
        declared = None if self._startup.depth is None else self._startup.depth + 1
        slots = self._evidence.slots() or declared
        return self._evidence.formula(), slots

    def _overall(self, strict: bool | None, slots: int | None) -> Interpretation:
        length, rate = ratio(self._length, self._weight), ratio(self._rate, self._rate_weight)
        if rate is None or self._drafting == 1 or strict or (slots and strict is not None):
            return interpret(rate, length, ROUNDING, slots, strict)
        return self._overall_of_unclear(rate, length, slots)

    def _overall_of_unclear(self, rate: float, length: float | None, slots: int | None) -> Interpretation:
        """Means of many lines fit no formula of one line; each line must have a meaning of its own."""
        rated = [one for one in self._intervals if one.rate is not None and not one.off]
        readings = [interpret(one.rate, one.length, ROUNDING, slots) for one in rated]
        formulas = {reading.formula if reading.rate is not None else UNKNOWN for reading in readings}
        if formulas == {STRICT} or (formulas == {ROOTED} and slots):
            return interpret(rate, length, ROUNDING, slots, strict=formulas == {STRICT})
        text = "The lines' acceptance rates fit no single formula of SGLang's versions; the mean is unknown."
        return Interpretation(None, length, notices=(Notice("rate_formula_unknown", text),))

    def _window(self, interval: _Interval, strict: bool | None, slots: int | None) -> Window:
        if interval.off:
            nothing = Tally(0.0, 0.0, 0.0)
            return Window(nothing, interval.rank, partial=interval.cut, line=interval.number)
        reading = interpret(interval.rate, interval.length, ROUNDING, slots, strict)
        return Window(
            Tally(),
            interval.rank,
            reading.speculative_tokens,
            partial=interval.cut,
            rate=reading.rate,
            length=reading.length,
            line=interval.number,
        )

    def _summary_notices(self) -> list[Notice]:
        notices: list[Notice] = []
        if self._total_intervals:
            text = "SGLang's log has ratios per interval and no counts; means are weighted by running requests."
            notices.append(Notice("gauge_only", text))
        if self._total_intervals > len(self._intervals):
            seen, listed = self._total_intervals, len(self._intervals)
            text = f"{seen} decode lines; the last {listed} are listed, means cover all."
            notices.append(Notice("lines_not_listed", text))
        return notices

    def _model(self, overall: Interpretation) -> ModelReport:
        ranks = self._ranks.values()
        usage = [rank.usage for rank in ranks if rank.usage is not None]
        state = self._state()
        return ModelReport(
            model=self._startup.model or UNKNOWN_MODEL,
            state=state,
            engines=max(1, len(self._ranks)),
            tally=Tally(),
            definition=DEFINITION if state is State.ACTIVE else "none",
            rate=overall.rate,
            length=overall.length,
            running=_sum([rank.running for rank in ranks]),
            waiting=_sum([rank.queued for rank in ranks]),
            kv_cache_usage=max(usage, default=None),
            speculative_tokens=overall.speculative_tokens or self._startup.depth,
            method=self._startup.method,
        )

    def _state(self) -> State:
        """Decode lines name an accept length whenever a speculative algorithm is set."""
        if self._drafting:
            return State.ACTIVE
        return State.OFF if self._decodes or self._startup.speculating is False else State.UNKNOWN


def _sum(values: list[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(sum(known)) if known else None
