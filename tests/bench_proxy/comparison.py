"""One comparison: start everything, measure round by round, end everything."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from contextlib import ExitStack

from bench_proxy.bench import Bench
from bench_proxy.conditions import Conditions
from bench_proxy.contender import Contender
from bench_proxy.entry import Entry
from bench_proxy.machine import describe_machine, load_average
from bench_proxy.plan import EACH_ROUND, MEMORY, WARM_UP, PhasePlan
from bench_proxy.quiet import OthersMeter, Patience
from bench_proxy.start_up import RunningStub, start_contender, start_stub
from bench_proxy.visit import visit


class DirectError(RuntimeError):
    """The load generator cannot measure the stub itself, so nothing can be compared."""


class Comparison:
    """The contenders of a run, all up at the same time; the first entry is `direct`."""

    def __init__(self, bench: Bench, entries: Sequence[Entry], stub: RunningStub, patience_s: float) -> None:
        self._bench = bench
        self._entries = entries
        self._stub = stub
        meter = OthersMeter([stub.pid, *(entry.pid for entry in entries if entry.pid)])
        self._patience = Patience(patience_s, meter)
        self._others: list[float] = []

    def warm_up(self) -> None:
        """Load every contender once and forget the figures."""
        for plan in WARM_UP:
            for entry in self._taking_part(self._entries):
                self._visit(plan, entry)
        for entry in self._entries:
            entry.found.clear()

    def measure(self, rounds: int) -> Conditions:
        """Measure everything; return under what conditions."""
        self._patience.wait()
        began, load_before = time.monotonic(), load_average()
        for number in range(rounds):
            self._bench.say(f"round {number + 1} of {rounds}")
            first = number % len(self._entries)
            for plan in EACH_ROUND:
                self._visit_all(plan, [*self._entries[first:], *self._entries[:first]])
        self._visit_all(MEMORY, self._entries[1:])
        return Conditions(
            date=dt.datetime.now(tz=dt.UTC).date().isoformat(),
            machine=describe_machine(),
            rounds=rounds,
            others=self._others,
            load_before=load_before,
            load_after=load_average(),
            minutes=(time.monotonic() - began) / 60,
        )

    def _visit_all(self, plan: PhasePlan, entries: Sequence[Entry]) -> None:
        for entry in self._taking_part(entries):
            self._bench.say(f"  {plan.phase}: {entry.name}")
            self._visit_in_quiet(plan, entry)

    def _visit_in_quiet(self, plan: PhasePlan, entry: Entry) -> None:
        """Visit, and again for as long as others disturb it and patience lasts."""
        while entry.reason is None:
            began = time.monotonic()
            self._patience.begin()
            self._visit(plan, entry)
            keep, others = self._patience.is_quiet_or_over(time.monotonic() - began)
            if keep:
                self._others.append(others)
                return
            self._bench.say(f"    others used {others:.0%} of the machine: once more")
            entry.drop_last(plan.phase)

    def _visit(self, plan: PhasePlan, entry: Entry) -> None:
        visit(self._bench, plan, entry, self._stub)
        if entry is self._entries[0] and entry.reason is not None:
            raise DirectError(f"direct {entry.reason}")

    @staticmethod
    def _taking_part(entries: Sequence[Entry]) -> list[Entry]:
        return [entry for entry in entries if entry.reason is None]


def compare(
    bench: Bench, chosen: Sequence[Contender], rounds: int, patience_s: float
) -> tuple[list[Entry], Conditions]:
    """Measure all contenders; the first entry is `direct`.

    Raises:
        DirectError: not even the stub could be measured.
        StubError: it did not start.
    """
    with ExitStack() as stack:
        stub = start_stub(bench, stack)
        entries = [Entry("direct", port=stub.http)]
        entries += [start_contender(bench, contender, stub, stack) for contender in chosen]
        comparison = Comparison(bench, entries, stub, patience_s)
        comparison.warm_up()
        return entries, comparison.measure(rounds)
