"""Puts a history together: windows of several pods into intervals, facts about engines into changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from specwatch_detectors.change_watch import ADAPTIVE_CHANGES, ADAPTIVE_SPAN_S
from specwatch_detectors.history import EngineChange, History, HistoryError, Interval, ModelHistory, cell, silence
from specwatch_detectors.window import NOTHING, Window


class _Facts:
    """Values of one fact that a model's engines report: a value that was not there before is a change.

    During a rollout old and new values stand side by side and neither keeps being news; a value that comes back
    after another had replaced it is news again.

    Args:
        silence_s: seconds after which a value that is not seen any more is gone.
    """

    def __init__(self, silence_s: float) -> None:
        self._silence_s = silence_s
        self._seen: dict[str, float] = {}
        self._first: float | None = None

    def news(self, values: Mapping[float, Iterable[str]]) -> list[tuple[float, str, str]]:
        """Times at which a value is news, with what it replaces and itself.

        Args:
            values: reported values by time, in any order.
        """
        found = []
        for at in sorted(values):
            for value in sorted(values[at]):
                before = self._take(value, at)
                if before is not None:
                    found.append((at, before, value))
        return found

    def _take(self, value: str, at: float) -> str | None:
        self._first = at if self._first is None else self._first
        others = {other: when for other, when in self._seen.items() if other != value}
        before = max(others, key=lambda other: others[other], default=None)
        known = self._seen.get(value)
        self._seen[value] = at
        if before is None or at == self._first:
            return None
        return before if known is None or others[before] - known > self._silence_s else None


def _adaptive(changes: Sequence[EngineChange]) -> bool:
    """The engine changes K by itself: as often as `change_watch` calls it so."""
    times = [change.at for change in changes]
    return any(
        later - at <= ADAPTIVE_SPAN_S for at, later in zip(times, times[ADAPTIVE_CHANGES - 1 :], strict=False)
    )


class HistoryBuilder:
    """Collects windows and facts, in any order of pods and in order of time for each.

    Args:
        interval_s: seconds of an interval.
    """

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._totals: dict[str, dict[float, Window]] = {}
        self._classes: dict[str, dict[float, dict[str, Window]]] = {}
        self._pods: dict[str, dict[float, set[str]]] = {}
        self._facts: dict[tuple[str, str], dict[float, set[str]]] = {}
        self._changes: dict[str, list[EngineChange]] = {}
        self._depths: dict[str, int] = {}

    def total(self, model: str, pod: str, at: float, window: Window) -> None:
        """All drafts of a model on one pod up to a time, since the one before."""
        when = cell(at, self._interval_s)
        own = self._totals.setdefault(model, {})
        own[when] = own.get(when, NOTHING) + window
        self._pods.setdefault(model, {}).setdefault(when, set()).add(pod)
        self._depths[model] = max(self._depths.get(model, 1), len(window.accepted))

    def of_class(self, model: str, name: str, at: float, window: Window) -> None:
        """Drafts of one class up to a time, since the one before."""
        own = self._classes.setdefault(model, {}).setdefault(cell(at, self._interval_s), {})
        own[name] = own.get(name, NOTHING) + window

    def fact(self, model: str, what: str, value: str, at: float) -> None:
        """What is known of an engine at a time; `what` is a key of `FACTS`."""
        self._facts.setdefault((model, what), {}).setdefault(at, set()).add(value)
        if what == "K" and value.isdecimal():
            self._depths[model] = max(self._depths.get(model, 1), int(value))

    def depth(self, model: str, depth: int) -> None:
        """K, where positions do not tell it."""
        self._depths[model] = max(self._depths.get(model, 1), depth)

    def restart(self, model: str, at: float, words: str) -> None:
        """Counters of one engine started again."""
        self._changes.setdefault(model, []).append(EngineChange(at, "restart", now=words))

    def build(self, source: str, notes: Iterable[str] = ()) -> History:
        """The history.

        Raises:
            HistoryError: nothing in it has drafts.
        """
        names = sorted(self._totals.keys() | self._classes.keys())
        models = {name: self._model(name) for name in names}
        kept = {name: own for name, own in models.items() if own.drafts > 0.0}
        if not kept:
            raise HistoryError(f"{source}: no draft steps in it (was speculation on?)")
        return History(self._interval_s, kept, source, tuple(dict.fromkeys(notes)))

    def _model(self, name: str) -> ModelHistory:
        totals, classes = self._totals.get(name, {}), self._classes.get(name, {})
        intervals = tuple(self._interval(totals, classes.get(at, {}), at) for at in sorted(totals or classes))
        pods = self._pods.get(name, {})
        changes = sorted((*self._changes.get(name, ()), *self._news(name)), key=lambda change: change.at)
        return ModelHistory(
            name,
            self._interval_s,
            intervals,
            tuple(dict.fromkeys(changes)),
            max((len(own) for own in pods.values()), default=1),
            max(self._depths.get(name, 1), *(len(interval.total.accepted) for interval in intervals), 1),
            frozenset(what for model, what in self._facts if model == name),
        )

    def _news(self, name: str) -> list[EngineChange]:
        """Changes of the facts about one model, in order of time."""
        found = []
        for (model, what), values in self._facts.items():
            if model == name:
                news = _Facts(silence(self._interval_s)).news(values)
                own = [EngineChange(at, what, was, now) for at, was, now in news]
                found += [] if what == "K" and _adaptive(own) else own
        return found

    @staticmethod
    def _interval(totals: dict[float, Window], classes: dict[str, Window], at: float) -> Interval:
        """Without a total of its own the model's total is the sum of its classes."""
        own = {label: window for label, window in sorted(classes.items()) if window.drafts > 0.0}
        total = totals.get(at)
        if total is None:
            total = NOTHING
            for window in own.values():
                total += window
        return Interval(at, total, own)
