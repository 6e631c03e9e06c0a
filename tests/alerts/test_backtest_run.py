from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from io import StringIO
from typing import Any

import pytest
from prometheus_api_client.exceptions import PrometheusApiClientException
from requests import ConnectionError as NoConnection
from requests import ReadTimeout
from rich.console import Console

from specwatch_alerts.backtest import HOUR_S, Backtest, Span, backtest
from specwatch_alerts.backtest_rules import AlertingRule, BacktestError, RecordingRule, RuleSet
from specwatch_alerts.backtest_source import LEAST_POINTS, QueryRefusedError, RangeSource
from specwatch_cli.alerts_backtest_view import print_backtest

START = 500_000 * HOUR_S
HOURS = 48
SPAN = Span(START, START + HOURS * HOUR_S, 60)
NOT_FOUND = "HTTP Status Code 404 (b'<!DOCTYPE HTML>\\n<html>')"
Present = Callable[[float], bool]


def refusal(words: str) -> PrometheusApiClientException:
    return PrometheusApiClientException(f'HTTP Status Code 422 (b\'{{"error":"{words}"}}\')')


class Fake:
    """A Prometheus that has these metrics, each at some times, and gives them for their bare name."""

    def __init__(
        self, metrics: Mapping[str, Present], error: Callable[[str, float], Exception | None] | None = None
    ) -> None:
        self.metrics = metrics
        self.error = error
        self.asked: list[tuple[str, float]] = []

    def custom_query_range(self, query: str, start_time: datetime, end_time: datetime, step: str) -> Any:
        start, end, seconds = start_time.timestamp(), end_time.timestamp(), float(step)
        points = (end - start) / seconds + 1
        self.asked.append((query, points))
        failed = self.error(query, points) if self.error else None
        if failed is not None:
            raise failed
        times = [start + number * seconds for number in range(int(points))]
        if (listed := re.fullmatch(r'count by \(__name__\) .*__name__=~"(.*)"}.*', query)) is not None:
            names = [name for name in self.metrics if re.fullmatch(listed[1], name)]
            rows = [
                (
                    {"__name__": name},
                    [at for at in times if any(self.metrics[name](at - HOUR_S + 60 * n) for n in range(1, 61))],
                )
                for name in names
            ]
        else:
            names = [name for name in self.metrics if query.startswith(name)]
            rows = [
                ({"__name__": name, "model": "m"}, [at for at in times if self.metrics[name](at)]) for name in names
            ]
        return [{"metric": labels, "values": [[at, "1"] for at in found]} for labels, found in rows if found]


def always(at: float) -> bool:
    del at
    return True


def between(first: float, last: float) -> Present:
    return lambda at: START + first * HOUR_S <= at <= START + last * HOUR_S


def run(
    client: Fake, *alerts: AlertingRule, recordings: Sequence[RecordingRule] = (), span: Span = SPAN
) -> Backtest:
    return backtest(RuleSet(alerts, tuple(recordings)), RangeSource(client), span)


def test_episodes_are_counted_over_chunks_without_a_seam() -> None:
    client = Fake({"a": between(10, 40), "up": always})
    result = run(client, AlertingRule("A", "a", {"severity": "page"}, for_s=600.0))
    (one,) = result.results
    (episode,) = one.episodes
    assert (episode.start, episode.end) == (START + 10 * HOUR_S + 600, START + 40 * HOUR_S + 60)
    assert list(one.firing) == [(("model", "m"),)]
    assert len([query for query, _ in client.asked if query == "a"]) == 2
    assert result.per_month(one) is None


@pytest.mark.parametrize(
    ("days", "month", "heading", "count"), [(2, None, "in 2.0 days", "1"), (10, 3.0, "in 30 days", "3.0")]
)
def test_a_month_is_told_from_a_week_or_more_and_the_days_are_named_before(
    days: int, month: float | None, heading: str, count: str
) -> None:
    client = Fake({"a": between(10, 11), "up": always})
    result = run(client, AlertingRule("A" * 60, "a"), span=Span(START, START + days * 24 * HOUR_S, 60))
    assert result.per_month(result.results[0]) == (None if month is None else pytest.approx(month, rel=0.01))
    text = StringIO()
    print_backtest(result, 3, Console(file=text, width=200))
    head, row = text.getvalue().splitlines()[1:3]
    assert heading in head
    assert row.split()[:3] == ["A" * 60, "1", count]


def test_a_pipe_does_not_break_names(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    client = Fake({"a": between(10, 11), "up": always})
    print_backtest(run(client, AlertingRule("A" * 60, "a", {"severity": "ticket"})), 3)
    assert "A" * 60 + "  ticket" in capsys.readouterr().out


@pytest.mark.parametrize("other", [(), (AlertingRule("B", "b"),)])
def test_what_asks_for_absence_is_evaluated_without_its_series(other: tuple[AlertingRule, ...]) -> None:
    client = Fake({"absent(": always, "b": always, "up": always})
    absent = run(client, AlertingRule("Absent", "absent(nonexistent) > 0", for_s=300.0), *other).results[0]
    assert (absent.refused, absent.missing) == ("", ("nonexistent",))
    (episode,) = absent.episodes
    assert not episode.ended
    assert episode.seconds > 47 * HOUR_S


def test_a_rule_without_any_of_its_series_is_not_evaluated_and_one_without_some_says_so() -> None:
    client = Fake({"a": between(1, 2), "up": always})
    none, some, whole = run(
        client, AlertingRule("None", "b > c"), AlertingRule("Some", "a unless b"), AlertingRule("Whole", "a")
    ).results
    assert none.refused == "no series of b, c"
    assert [query for query, _ in client.asked if query.startswith("b")] == []
    assert (some.missing, some.refused, len(some.episodes)) == (("b",), "", 1)
    assert whole.missing == ()


def test_hours_without_any_series_are_not_observed_and_nothing_fires_in_them() -> None:
    absent = Fake({"a": between(24, 48), "absent(a)": lambda at: at < START + 24 * HOUR_S, "up": between(20, 48)})
    (one,) = run(absent, AlertingRule("A", "absent(a)")).results
    (episode,) = one.episodes
    assert episode.start >= START + 19 * HOUR_S
    assert run(absent, AlertingRule("A", "a")).observed_days == pytest.approx(29 / 24, abs=0.05)


def test_recording_rules_are_read_where_they_are_and_worked_out_where_not() -> None:
    rules = (RecordingRule("j:a:rate", "a"), RecordingRule("j:b:rate", "a"))
    client = Fake({"a": always, "j:a:rate": always, "j:b:rate": between(30, 48), "up": always})
    there, not_there = run(
        client, AlertingRule("A", "j:a:rate"), AlertingRule("B", "j:b:rate"), recordings=rules
    ).results
    assert (there.put_in, not_there.put_in) == ((), ("j:b:rate",))
    asked = {query for query, _ in client.asked}
    assert "j:a:rate" in asked
    assert "((a))" in asked
    assert "j:b:rate" not in asked


def test_a_chunk_that_is_too_much_is_asked_for_in_parts() -> None:
    client = Fake(
        {"a": between(10, 40)},
        lambda _query, points: refusal("query processing would load too many samples") if points > 500 else None,
    )
    found = RangeSource(client).times("a", SPAN.start, SPAN.end, 60)
    ((_, times),) = found.items()
    assert times == [START + 10 * HOUR_S + 60.0 * number for number in range(30 * 60 + 1)]


@pytest.mark.parametrize("error", [refusal("too many samples"), ReadTimeout("slow")])
def test_what_is_too_much_in_the_smallest_part_is_refused(error: Exception) -> None:
    client = Fake({"a": always, "up": always}, lambda query, _points: error if query == "a" else None)
    (one,) = run(client, AlertingRule("A", "a")).results
    assert one.refused in {"too many samples", "the query timed out"}
    assert min(points for query, points in client.asked if query == "a") == LEAST_POINTS


def test_a_query_that_is_refused_is_said_of_its_rule_alone() -> None:
    client = Fake(
        {"a": always, "b": always, "up": always},
        lambda query, _points: refusal("many-to-many matching not allowed") if query == "a" else None,
    )
    bad, good = run(client, AlertingRule("A", "a"), AlertingRule("B", "b")).results
    assert bad.refused == "many-to-many matching not allowed"
    assert len(good.episodes) == 1
    assert not good.episodes[0].ended
    assert len([query for query, _ in client.asked if query == "a"]) == 1


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (Fake({"up": always}), "no series of any rule"),
        (Fake({}), "no series of any rule"),
        (Fake({"a": always}, lambda _query, _points: NoConnection("refused")), "gave no answer: refused"),
        (Fake({"a": always}, lambda _query, _points: KeyError("data")), "no JSON of a Prometheus"),
        (Fake({"a": always}, lambda _query, _points: PrometheusApiClientException(NOT_FOUND)), "Code 404$"),
        (Fake({"a": always}, lambda _query, _points: refusal("no access")), "refuses to say .* no access"),
    ],
)
def test_a_prometheus_that_cannot_tell_is_one_line(client: Fake, words: str) -> None:
    with pytest.raises(BacktestError, match=words):
        run(client, AlertingRule("A", "a"))


def test_a_refusal_is_an_error_of_its_own() -> None:
    client = Fake({}, lambda _query, _points: refusal("parse error"))
    with pytest.raises(QueryRefusedError, match="parse error"):
        RangeSource(client).times("sum(", START, START + 60, 60)
