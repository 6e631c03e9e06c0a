"""Collects llama.cpp's lines about drafts: requests one by one, or what its drafters count since the start."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bodies.tally_sum import TallySum
from specwatch_exporters.logs.draft_steps import Printed, solve
from specwatch_exporters.logs.line_notes import LineNotes
from specwatch_exporters.logs.llamacpp_line import LlamaCppLine
from specwatch_exporters.notices import Notice
from specwatch_exporters.page import UNKNOWN_MODEL
from specwatch_exporters.report import ModelReport, Report, State, Window

ENGINE: Final = "llama.cpp"
DEFINITION: Final = "llamacpp-log"
MAX_WINDOWS: Final = 20_000
_TEXTS: Final = {
    "inconsistent_counts": "more was accepted than drafted, which is impossible; it was left out.",
    "line_partial": "cut; it was left out.",
}
_TOTALS: Final = (
    "No line of a request is in the log; these are the last totals of each drafter since its server's start."
)


@dataclass(slots=True)
class LlamaCppLog:
    """Takes lines in order; memory is bounded, whatever the length of the log.

    Attributes:
        lines: lines of the engine seen.
    """

    lines: int = 0
    _windows: deque[Window] = field(default_factory=lambda: deque(maxlen=MAX_WINDOWS))
    _sums: TallySum = field(default_factory=TallySum)
    _steps: float | None = 0.0
    _totals: dict[str, LlamaCppLine] = field(default_factory=dict)
    _notes: LineNotes = field(default_factory=LineNotes)

    def take_request(self, line: LlamaCppLine | None, number: int) -> None:
        """Take the line of a finished request; None if it was cut."""
        self.lines += 1
        if not self._good(line, number) or line is None:
            return
        steps = solve(Printed(line.accepted, line.drafted, line.length, line.positions)) if line.drafted else None
        drafts = None if steps is None or steps.drafts is None else float(steps.drafts)
        estimate = None if steps is None else steps.estimate
        base = drafts or estimate
        positions = tuple(rate * base for rate in line.positions) if base else ()
        tally = Tally(drafts, float(line.drafted), float(line.accepted), positions, base if positions else None)
        self._windows.append(Window(tally, length=line.length, line=number))
        self._sums.add(tally)
        self._steps = None if self._steps is None or estimate is None else self._steps + estimate

    def take_total(self, line: LlamaCppLine | None, number: int) -> None:
        """Take a drafter's totals since the server's start; None if they were cut."""
        self.lines += 1
        if self._good(line, number) and line is not None:
            self._totals[line.drafter or ""] = line

    def report(self) -> Report:
        """Sum up what was taken: the requests if there are any, else the totals."""
        notices = self._notes.notices(_TEXTS)
        if self._windows:
            tally = self._sums.total()
            length = 1.0 + (tally.accepted_tokens or 0.0) / self._steps if self._steps else None
        else:
            tally, length = self._since_start(), None
            notices += [Notice("drafter_totals", _TOTALS)] if self._totals else []
        method = " + ".join(name for name, line in self._totals.items() if line.drafted) or None
        model = ModelReport(UNKNOWN_MODEL, _state(tally), 1, tally, DEFINITION, length=length, method=method)
        return Report(ENGINE, "log", (model,), tuple(sorted(notices)), dialect="log", windows=tuple(self._windows))

    def _good(self, line: LlamaCppLine | None, number: int) -> bool:
        if line is None:
            self._notes.add("line_partial", number)
        elif line.accepted > line.drafted:
            self._notes.add("inconsistent_counts", number)
            return False
        return line is not None

    def _since_start(self) -> Tally:
        sums = TallySum()
        alone = sum(line.drafted > 0 for line in self._totals.values()) == 1
        for line in self._totals.values():
            drafts = float(line.drafts or 0)
            positions = tuple(rate * drafts for rate in line.positions) if alone else ()
            sums.add(Tally(drafts, float(line.drafted), float(line.accepted), positions))
        return sums.total()


def _state(tally: Tally) -> State:
    if tally.draft_tokens is None:
        return State.UNKNOWN
    return State.ACTIVE if tally.draft_tokens else State.IDLE
