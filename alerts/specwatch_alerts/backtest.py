"""How often each rule would have fired, from the series that Prometheus has kept.

Each rule's expression is asked for as it would have been evaluated, `for` and `keep_firing_for` are applied, and
what cannot be known is said: series that are missing, queries that Prometheus refuses. Hours without any series of
the rules and without `up` count as hours in which Prometheus did not run: nothing fires and nothing ends in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from specwatch_alerts.backtest_episodes import Episode, Firing, firing
from specwatch_alerts.backtest_expression import ExpressionError, asks_absence, expanded, metrics_of
from specwatch_alerts.backtest_rules import AlertingRule, BacktestError, RecordingRule, RuleSet
from specwatch_alerts.backtest_source import Labels, QueryRefusedError, RangeSource

HOUR_S: Final = 3600
DAY_S: Final = 86_400
MONTH_DAYS: Final = 30.0
LEAST_DAYS: Final = 7.0
"""Observed days from which a month is told: from less, one bad evening would count as fifteen."""
_MOST_THERE: Final = 0.95
# Prometheus' own: not a sign that the rules' series are there.
_ALWAYS: Final = "up"


@dataclass(frozen=True, slots=True)
class Span:
    """Evaluations of a backtest: every `step` seconds from `start` to `end`, epoch seconds."""

    start: int
    end: int
    step: int


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What became of one rule.

    Attributes:
        rule: the rule.
        firing: by label set, those that were given at least once.
        missing: series that it reads and that the history does not have.
        put_in: recording rules that were worked out from raw series.
        refused: why it could not be evaluated; empty if it was.
    """

    rule: AlertingRule
    firing: Mapping[Labels, Firing] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    put_in: tuple[str, ...] = ()
    refused: str = ""

    @property
    def episodes(self) -> list[Episode]:
        """Of all label sets, by time."""
        return sorted((one for own in self.firing.values() for one in own.episodes), key=lambda one: one.start)

    @property
    def held_back(self) -> int:
        """How often `for` kept it from firing."""
        return sum(own.held_back for own in self.firing.values())


@dataclass(frozen=True, slots=True)
class Backtest:
    """A whole backtest.

    Attributes:
        span: what was asked for.
        observed_days: of it, with series.
        results: in the order of the rules.
    """

    span: Span
    observed_days: float
    results: tuple[RuleResult, ...]

    def per_month(self, result: RuleResult) -> float | None:
        """Episodes in 30 observed days; None where too few days were observed to tell."""
        return None if self.observed_days < LEAST_DAYS else len(result.episodes) * MONTH_DAYS / self.observed_days


def backtest(
    rules: RuleSet, source: RangeSource, span: Span, progress: Callable[[str], None] = lambda _words: None
) -> Backtest:
    """Run all rules over a span of the past.

    Args:
        rules: alerting and recording rules.
        source: where to ask.
        span: when.
        progress: told of each rule.

    Raises:
        BacktestError: Prometheus does not answer, or has no series of any rule in the span.
    """
    progress("which series there are")
    hours = _hours(rules, source, span)
    observed = frozenset().union(*hours.values())
    there = any(own for name, own in hours.items() if name != _ALWAYS)
    if not observed or not (there or any(asks_absence(rule.expression) for rule in rules.alerts)):
        raise BacktestError("Prometheus has no series of any rule in that time")
    results = []
    for number, rule in enumerate(rules.alerts, 1):
        progress(f"{rule.name} ({number} of {len(rules.alerts)})")
        results.append(_run(rule, rules.recordings, source, span, hours, observed))
    return Backtest(span, len(observed) * HOUR_S / DAY_S, tuple(results))


Hours = Mapping[str, frozenset[int]]
"""By metric, the hours since 1970 in which it had samples; an hour is named after its end."""


def _hours(rules: RuleSet, source: RangeSource, span: Span) -> Hours:
    names = {_ALWAYS} | _read(rules)
    pattern = "|".join(sorted(re.escape(name).replace("\\", "\\\\") for name in names))
    first = -(-span.start // HOUR_S) * HOUR_S
    try:
        seen = source.names(pattern, first, -(-span.end // HOUR_S) * HOUR_S, HOUR_S)
    except QueryRefusedError as error:
        raise BacktestError(f"Prometheus refuses to say which series it has: {error}") from error
    return {name: frozenset(round(at / HOUR_S) for at in seen.get(name, ())) for name in names}


def _read(rules: RuleSet) -> set[str]:
    """Names of all series that alerts read, those below recording rules included."""
    below: dict[str, list[str]] = {}
    for rule in rules.recordings:
        below.setdefault(rule.name, []).append(rule.expression)
    ahead, names = [rule.expression for rule in rules.alerts], set[str]()
    while ahead:
        try:
            new = metrics_of(ahead.pop()) - names
        except ExpressionError:  # said of the rule when its turn comes
            continue
        names |= new
        ahead += [expression for name in new for expression in below.get(name, ())]
    return names


def _run(
    rule: AlertingRule,
    recordings: Sequence[RecordingRule],
    source: RangeSource,
    span: Span,
    hours: Hours,
    observed: frozenset[int],
) -> RuleResult:
    try:
        raw = metrics_of(expanded(rule.expression, recordings))
        absent = _absent(rule.expression, recordings, hours)
        missing = tuple(sorted(name for name in raw if not hours.get(name)))
        if raw and len(missing) == len(raw) and not asks_absence(rule.expression):
            return RuleResult(rule, missing=missing, refused=f"no series of {', '.join(missing)}")
        expression = expanded(rule.expression, [one for one in recordings if one.name in absent])
        given = source.times(expression, -(-span.start // span.step) * span.step, span.end, span.step)
    except (ExpressionError, QueryRefusedError) as error:
        return RuleResult(rule, refused=str(error))
    last = span.end // span.step * span.step
    fired = {
        labels: firing(_within(times, observed), span.step, rule.for_s, rule.keep_firing_s, last)
        for labels, times in given.items()
    }
    return RuleResult(rule, fired, missing, tuple(sorted(absent)))


def _within(times: Iterable[float], observed: frozenset[int]) -> list[float]:
    return [at for at in times if -(-at // HOUR_S) in observed]


def _absent(expression: str, recordings: Sequence[RecordingRule], hours: Hours) -> frozenset[str]:
    """Recording rules below an expression that have no series for much of the time that their inputs have."""
    rules: dict[str, list[RecordingRule]] = {}
    for one in recordings:
        rules.setdefault(one.name, []).append(one)
    absent: set[str] = set()
    ahead, seen = [*metrics_of(expression)], set[str]()
    while ahead:
        name = ahead.pop()
        if name not in rules or name in seen:
            continue
        seen.add(name)
        below = frozenset[int]().union(*(_inputs(one, recordings, hours) for one in rules[name]))
        if len(hours[name]) < _MOST_THERE * len(below):
            absent.add(name)
            ahead += [inner for one in rules[name] for inner in metrics_of(one.expression)]
    return frozenset(absent)


def _inputs(rule: RecordingRule, recordings: Sequence[RecordingRule], hours: Hours) -> frozenset[int]:
    """Hours in which some raw series below a recording rule was there."""
    raw = metrics_of(expanded(rule.expression, recordings))
    return frozenset().union(*(hours.get(name, frozenset()) for name in raw))
