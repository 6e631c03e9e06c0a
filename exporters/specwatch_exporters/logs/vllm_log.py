"""Collects the lines of a vLLM log and sums them up: windows, totals, load."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bodies.tally_sum import TallySum
from specwatch_exporters.logs.draft_steps import DraftSteps, Printed, solve
from specwatch_exporters.logs.engine_line import EngineLine
from specwatch_exporters.logs.line_notes import LineNotes
from specwatch_exporters.logs.spec_line import SpecLine
from specwatch_exporters.logs.startup_line import StartUp
from specwatch_exporters.ngram_counts import ngram_notice
from specwatch_exporters.notices import Notice
from specwatch_exporters.page import UNKNOWN_MODEL
from specwatch_exporters.report import ModelReport, Report, State, Window

DEFINITION = "vllm-v1-log"
V0_DEFINITION = "vllm-v0-any-position"
MAX_WINDOWS = 20_000
_SHARE_ERROR = 0.0005 + 1e-9
_TEXTS = {
    "inconsistent_counts": "counts and printed ratios disagree beyond rounding (K varies, drafts are trimmed, or "
    "the line is damaged); draft steps that are not certain were left unknown.",
    "length_without_bonus": "the mean length lacks the bonus token, as vLLM 0.8.5 prints it; 1 was added.",
    "line_partial": "cut; counts that are whole were used, the rest was left out.",
    "v0_definition": "vLLM V0 counts accepted tokens behind a rejection; the rate is an upper bound.",
}


@dataclass(slots=True)
class _Engine:
    """Last known load of one engine."""

    engines: int = 1
    running: int | None = None
    waiting: int | None = None
    kv_cache_usage: float | None = None
    silent: int = 0
    spoke: bool = False


@dataclass(slots=True)
class VllmLog:
    """Takes lines in order; memory is bounded, whatever the length of the log.

    Attributes:
        lines: engine lines seen.
    """

    lines: int = 0
    _windows: deque[Window] = field(default_factory=lambda: deque(maxlen=MAX_WINDOWS))
    _sums: TallySum = field(default_factory=TallySum)
    _estimate: float | None = 0.0
    _engines: dict[tuple[str, str | None], _Engine] = field(default_factory=dict)
    _current: dict[str, str | None] = field(default_factory=dict)
    _depths: dict[str, int] = field(default_factory=dict)
    _counted: dict[str, SpecLine] = field(default_factory=dict)
    _startup: StartUp = field(default_factory=StartUp)
    _notes: LineNotes = field(default_factory=LineNotes)
    _resets: int = 0
    _cumulative: bool = False
    _total_windows: int = 0

    def take_startup(self, startup: StartUp) -> None:
        """Take the line that an engine prints when it starts."""
        self.lines += 1
        self._startup = startup

    def take_engine(self, line: EngineLine, source: str) -> None:
        """Take a line of load; the speculative line that follows from the same source belongs to its engine."""
        self.lines += 1
        self._current[source] = line.engine
        engine = self._engine(source)
        engine.engines = line.engines
        engine.running, engine.waiting, engine.kv_cache_usage = line.running, line.waiting, line.kv_cache_usage
        engine.silent = engine.silent + 1 if line.generating else 0

    def take_spec(self, line: SpecLine, source: str, number: int) -> None:
        """Take a line of speculative counts.

        Args:
            line: its numbers.
            source: who wrote it.
            number: 1-based line number.
        """
        self.lines += 1
        engine = self._engine(source)
        engine.silent, engine.spoke = 0, True
        if line.cumulative:
            line = self._increase(line, source, number)
        window, whole = self._window(line, source, number)
        self._windows.append(window)
        self._total_windows += 1
        self._sums.add(window.tally, window.speculative_tokens, positions=whole)

    def report(self) -> Report:
        """Sum up what was taken."""
        notices = self._notes.notices(_TEXTS) + self._summary_notices()
        return Report(
            "vllm",
            "log",
            (self._model(),),
            tuple(sorted(notices)),
            self._resets,
            "v0" if self._cumulative else "v1",
            tuple(self._windows),
        )

    def _engine(self, source: str) -> _Engine:
        return self._engines.setdefault((source, self._current.get(source)), _Engine())

    def _increase(self, line: SpecLine, source: str, number: int) -> SpecLine:
        """V0 counts since start-up: the window is what was added since the line before."""
        self._cumulative = True
        self._notes.add("v0_definition", number)
        if line.accepted is None or line.drafted is None:
            return line
        before = self._counted.get(source, SpecLine(accepted=0, drafted=0))
        self._counted[source] = line
        drafted, accepted = line.drafted - (before.drafted or 0), line.accepted - (before.accepted or 0)
        if drafted < 0 or accepted < 0:
            self._resets += 1
            drafted, accepted = line.drafted, line.accepted
        return SpecLine(accepted, drafted, depth=line.depth, cut=line.cut, cumulative=True)

    def _window(self, line: SpecLine, source: str, number: int) -> tuple[Window, bool]:
        """One window, and whether its positions are whole."""
        tally, steps = self._tally(line, source, number)
        cut = line.cut or (line.length is not None and bool(line.positions) and not steps.whole and steps.agrees)
        if cut:
            self._notes.add("line_partial", number)
        length = None if line.length is None else line.length + (1.0 if steps.bare else 0.0)
        window = Window(
            tally,
            self._current.get(source),
            steps.depth if steps.depth is not None else line.depth,
            line.seconds,
            cut,
            length=length,
            line=number,
        )
        return window, steps.whole

    def _tally(self, line: SpecLine, source: str, number: int) -> tuple[Tally, DraftSteps]:
        hint = line.depth or self._depths.get(source) or self._startup.depth
        if line.accepted is None or line.drafted is None:
            return Tally(), DraftSteps(depth=hint)
        accepted, drafted = line.accepted, line.drafted
        if accepted > drafted:
            self._notes.add("inconsistent_counts", number)
            return Tally(draft_tokens=float(drafted)), DraftSteps(depth=hint, agrees=False)
        if line.cumulative:
            return Tally(draft_tokens=float(drafted), accepted_tokens=float(accepted)), DraftSteps(depth=hint)
        if drafted == 0:
            return Tally(0.0, 0.0, 0.0), DraftSteps(0, 0.0, hint, whole=True)
        steps = solve(Printed(accepted, drafted, line.length, line.positions, line.positions_cut), hint)
        self._note_steps(line, steps, number)
        if steps.depth is not None:
            self._depths[source] = steps.depth
        self._add_estimate(steps.estimate)
        return _tally(accepted, drafted, line.positions, steps), steps

    def _add_estimate(self, steps: float | None) -> None:
        self._estimate = None if self._estimate is None or steps is None else self._estimate + steps

    def _note_steps(self, line: SpecLine, steps: DraftSteps, number: int) -> None:
        off = line.share is not None and abs(line.share - (line.accepted or 0) / (line.drafted or 1)) > _SHARE_ERROR
        if off or not (steps.agrees or line.cut):
            self._notes.add("inconsistent_counts", number)
        if steps.bare:
            self._notes.add("length_without_bonus", number)

    def _summary_notices(self) -> list[Notice]:
        notices: list[Notice] = []
        if len(self._sums.depths) > 1:
            seen = ", ".join(str(depth) for depth in sorted(self._sums.depths))
            text = f"The log covers K = {seen}; positions are those of K = {self._sums.depth}."
            notices.append(Notice("k_changed", text))
        if self._total_windows > len(self._windows):
            counted, listed = self._total_windows, len(self._windows)
            text = f"{counted} lines of counts; the last {listed} are listed, totals cover all."
            notices.append(Notice("lines_not_listed", text))
        if any(engine.spoke and engine.silent > 1 for engine in self._engines.values()):
            text = (
                "Tokens are generated, but the last lines of load have no speculative counts: nothing is drafted."
            )
            notices.append(Notice("not_drafting", text))
        notices += [Notice("v0_definition", text) for text in map(_kept, self._counted.values()) if text]
        changed = ngram_notice(self._startup.method, self._startup.version)
        notices += [] if changed is None else [changed]
        if not self._total_windows and self._startup.speculating is not False:
            text = (
                "The log has no speculative line: speculation is off, nothing was drafted, or statistics are off."
            )
            notices.append(Notice("no_spec_series", text))
        return notices

    def _model(self) -> ModelReport:
        tally = self._sums.total()
        state = self._state(tally)
        load = self._load()
        known = [engine.kv_cache_usage for engine in load if engine.kv_cache_usage is not None]
        definition = V0_DEFINITION if self._cumulative else DEFINITION
        accepted = tally.accepted_tokens or 0.0
        return ModelReport(
            model=self._startup.model or UNKNOWN_MODEL,
            state=state,
            engines=sum(engine.engines for engine in load),
            tally=tally,
            definition=definition if state in (State.ACTIVE, State.IDLE) else "none",
            length=1.0 + accepted / self._estimate if self._estimate else None,
            running=_sum([engine.running for engine in load]),
            waiting=_sum([engine.waiting for engine in load]),
            kv_cache_usage=max(known, default=None),
            speculative_tokens=self._sums.depth or self._startup.depth,
            method=self._startup.method,
            facts={"engine_version": self._startup.version} if self._startup.version else {},
        )

    def _state(self, tally: Tally) -> State:
        if tally.draft_tokens:
            return State.ACTIVE
        if tally.draft_tokens == 0:
            return State.IDLE
        if self._total_windows:
            return State.ACTIVE
        return State.OFF if self._startup.speculating is False else State.UNKNOWN

    def _load(self) -> list[_Engine]:
        """Engines that were named, and per source the nameless one only if none was named there."""
        named = {source for source, engine in self._engines if engine is not None}
        chosen = [state for (source, engine), state in self._engines.items() if engine or source not in named]
        return chosen or [_Engine()]


def _kept(line: SpecLine) -> str | None:
    """V0's figures limited to the accepted prefix, since start: a draft step emits what it keeps and one more."""
    if not line.depth or not line.drafted or line.emitted is None:
        return None
    steps = line.drafted / line.depth
    if not steps <= line.emitted <= steps * (line.depth + 1):
        return None
    kept = line.emitted - steps
    return (
        f"Since start, from emitted tokens: K={line.depth}, kept {kept:.0f} of {line.drafted} "
        f"({kept / line.drafted:.1%}), mean acceptance length {line.emitted / steps:.3f}."
    )


def _tally(accepted: int, drafted: int, rates: tuple[float, ...], steps: DraftSteps) -> Tally:
    """Counts of one line; positions to the precision of the printed rates."""
    if steps.drafts is not None:
        positions = tuple(float(round(rate * steps.drafts)) for rate in rates)
        return Tally(float(steps.drafts), float(drafted), float(accepted), positions)
    positions = tuple(rate * steps.estimate for rate in rates) if steps.estimate else ()
    return Tally(None, float(drafted), float(accepted), positions, steps.estimate if positions else None)


def _sum(values: list[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(sum(known)) if known else None
