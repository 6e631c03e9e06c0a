from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.watch.sample_store import MODEL, STRICT
from specwatch_detectors.watch.counter_book import CounterBook, Span
from specwatch_detectors.watch.counters import COUNTERS, Counter, Origin
from specwatch_detectors.watch.pod_labels import PodLabels
from specwatch_detectors.watch.series_increase import FAILOVER_S, MEMORY_S

BEGIN = 1_000_000
TICK = 10
DRAFTS, TOKENS, ACCEPTED, AT, _ = COUNTERS[:5]
Samples = list[tuple[float, float]]


def labels_of(counter: Counter, pod: str, position: int | None = None, /, **more: str) -> dict[str, str]:
    own = {"__name__": counter.name, "model": MODEL, "engine": "0", "definition": STRICT, "pod": pod, **more}
    return own if position is None else {**own, "position": str(position)}


def one(labels: Mapping[str, str], samples: Sequence[tuple[float, float]]) -> dict[str, Any]:
    return {"metric": dict(labels), "values": [[at, str(value)] for at, value in samples]}


def read(book: CounterBook, span: Span, series: Mapping[Counter, Sequence[Any]]) -> list[list[float]]:
    """Counts by tick, over all streams: drafts, tokens, accepted, then positions."""
    book.open(span)
    for counter in COUNTERS:
        book.take(counter, series.get(counter, ()))
    found = []
    for tick in range(span.ticks):
        rows = [row for origin in Origin for _, row in book.rows(origin, tick)]
        found.append([sum(row[cell] for row in rows if cell < len(row)) for cell in range(5)])
    return found


def drafts_of(*samples: tuple[float, float], pod: str = "a", **more: str) -> dict[Counter, list[Any]]:
    return {DRAFTS: [one(labels_of(DRAFTS, pod, **more), samples)]}


def at(seconds: float) -> float:
    return BEGIN + seconds


def sums(samples: Samples, *, ticks: int = 30) -> list[float]:
    book = CounterBook(PodLabels())
    return [row[0] for row in read(book, Span(BEGIN, ticks, TICK), drafts_of(*samples))]


CASES: list[tuple[str, Samples, dict[int, float]]] = [
    ("a first sample is a life's total", [(5, 900)], {}),
    ("growth", [(5, 900), (15, 910), (25, 935)], {1: 10, 2: 25}),
    ("the end of a tick belongs to it", [(1, 0), (10, 3), (20, 5), (20.001, 9)], {0: 3, 1: 2, 2: 4}),
    ("a fall is a new life", [(5, 900), (15, 40), (25, 45)], {1: 40, 2: 5}),
    ("a fall to nothing", [(5, 900), (15, 0), (25, 45)], {2: 45}),
    ("two falls", [(5, 900), (15, 40), (25, 30)], {1: 40, 2: 30}),
    ("a missed scrape", [(5, 900), (35, 930)], {3: 30}),
    ("silence up to the memory", [(5, 900), (5 + MEMORY_S - 10, 930)], {29: 30}),
    (
        "silence beyond it",
        [(5, 900), (15, 901), (15 + MEMORY_S + 1, 930), (15 + MEMORY_S + 11, 933)],
        {1: 1, 32: 3},
    ),
    ("out of order", [(25, 935), (5, 900), (15, 910)], {1: 10, 2: 25}),
    ("twice", [(5, 900), (5, 900), (15, 910), (15, 910)], {1: 10}),
    ("nonsense is no sample", [(5, 900), (15, float("nan")), (16, -1), (17, float("inf")), (25, 905)], {2: 5}),
]


@pytest.mark.parametrize(("samples", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_increases_by_tick(samples: Samples, expected: dict[int, float]) -> None:
    found = sums([(at(time), value) for time, value in samples], ticks=40)
    assert {tick: value for tick, value in enumerate(found) if value} == expected


@dataclass(frozen=True)
class Life:
    """One pod's pages: time, drafts, and accepted by position; None where the position is not shown yet."""

    pod: str
    pages: list[tuple[float, float, tuple[float | None, float | None]]]


@st.composite
def lives(draw: st.DrawFn) -> list[Life]:
    """Pods that draft, restart, appear, fall silent, and show positions late, scraped at their own moments."""
    found = []
    for number in range(draw(st.integers(1, 3))):
        rng = random.Random(draw(st.integers(0, 2**32)))
        when, drafts, kept = rng.uniform(0, 40), float(rng.choice((0, 900))), [0.0, 0.0]
        pages: list[tuple[float, float, tuple[float | None, float | None]]] = []
        while when < 600 and len(pages) < 50:
            late = drafts < 30 and not kept[1]
            pages.append((at(round(when, 3)), drafts, (kept[0], None if late else kept[1])))
            when += rng.choice((5, 10, 10, 10, 10.5, 60, 290, 310)) if rng.random() < 0.3 else 10
            if rng.random() < 0.08:
                drafts, kept = 0.0, [0.0, 0.0]
            grown = rng.choice((0, 0, 7, 50, 10_000))
            drafts += grown
            kept = [kept[0] + grown // 2, kept[1] + grown // 4]
        found.append(Life(f"pod-{number}", pages))
    return found


def series_of(history: Sequence[Life], start: float, end: float) -> dict[Counter, list[Any]]:
    found: dict[Counter, list[Any]] = {counter: [] for counter in COUNTERS}
    for life in history:
        pages = [page for page in life.pages if start < page[0] <= end]
        parts: list[tuple[Counter, int | None, Samples]] = [
            (DRAFTS, None, [(when, drafts) for when, drafts, _ in pages]),
            (TOKENS, None, [(when, 2 * drafts) for when, drafts, _ in pages]),
        ]
        for index in (0, 1):
            shown = [(when, kept[index]) for when, _, kept in pages]
            parts.append((AT, index, [(when, value) for when, value in shown if value is not None]))
        for counter, position, samples in parts:
            if samples:
                found[counter].append(one(labels_of(counter, life.pod, position), samples))
    return found


def expected_sums(history: Sequence[Life], ticks: int) -> list[list[float]]:
    """The same by page: what each added over the one before, of the engine that it was."""
    found = [[0.0] * 5 for _ in range(ticks)]
    for life in history:
        for (before, old, old_kept), (when, new, new_kept) in pairwise(life.pages):
            if when - before > MEMORY_S:
                continue
            tick = Span(BEGIN, ticks, TICK).tick(when)
            fell = new < old
            added = [new if fell else new - old]
            for was, now in zip(old_kept, new_kept, strict=True):
                added.append(now or 0.0 if fell or was is None else max(now or 0.0, 0.0) - was if now else 0.0)
            found[tick][0] += added[0]
            found[tick][1] += 2 * added[0]
            found[tick][3] += added[1]
    return found


@given(lives())
def test_drafts_and_first_position_are_what_the_pages_say(history: list[Life]) -> None:
    found = read(CounterBook(PodLabels()), Span(BEGIN, 90, TICK), series_of(history, 0, at(900)))
    expected = expected_sums(history, 90)
    for column in (0, 1, 3):
        assert [row[column] for row in found] == [row[column] for row in expected]


@settings(max_examples=60)
@given(lives(), st.lists(st.integers(1, 12), max_size=20), st.sets(st.integers(0, 20)), st.randoms())
def test_any_cut_of_a_history_gives_the_same_counts(
    history: list[Life], cuts: list[int], restarts: set[int], rng: random.Random
) -> None:
    whole = read(CounterBook(PodLabels()), Span(BEGIN, 90, TICK), series_of(history, 0, at(900)))
    book, found, tick = CounterBook(PodLabels()), list[list[float]](), 0
    for number, length in enumerate([*cuts, *[12] * 8]):
        span = Span(BEGIN + tick * TICK, min(length, 90 - tick), TICK)
        if not span.ticks:
            break
        begin: float = span.start - rng.choice((0, 0, 3, 40))
        if number in restarts:  # a new process: it reads the memory's length before its span
            book, begin = CounterBook(PodLabels()), span.start - MEMORY_S
        found += read(book, span, shuffled(series_of(history, begin, span.end), rng))
        tick += span.ticks
    assert found == whole


def shuffled(series: dict[Counter, list[Any]], rng: random.Random) -> dict[Counter, list[Any]]:
    """Samples in any order, some twice; series in any order, labels too."""
    found: dict[Counter, list[Any]] = {}
    for counter, rows in series.items():
        found[counter] = []
        for row in rows:
            values = [*row["values"], *rng.sample(row["values"], rng.randint(0, len(row["values"])))]
            rng.shuffle(values)
            labels = list(row["metric"].items())
            rng.shuffle(labels)
            found[counter].append({"metric": dict(labels), "values": values})
        rng.shuffle(found[counter])
    return found


def test_a_sample_that_comes_too_late_is_not_counted_twice() -> None:
    book = CounterBook(PodLabels())
    first = read(book, Span(BEGIN, 2, TICK), drafts_of((at(1), 100), (at(15), 150)))
    late = read(book, Span(BEGIN + 20, 1, TICK), drafts_of((at(12), 140), (at(15), 150), (at(25), 160)))
    assert [row[0] for row in (*first, *late)] == [0, 50, 10]


def test_samples_after_the_span_wait_for_theirs() -> None:
    book = CounterBook(PodLabels())
    samples = drafts_of((at(1), 100), (at(8), 105), (at(15), 150))
    assert read(book, Span(BEGIN, 1, TICK), samples)[0][0] == 5
    assert read(book, Span(BEGIN + 10, 1, TICK), samples)[0][0] == 45


def test_a_position_that_appears_late_in_a_known_stream_was_zero() -> None:
    series = {
        **drafts_of((at(1), 100), (at(11), 130), (at(21), 140)),
        AT: [
            one(labels_of(AT, "a", 0), [(at(1), 60), (at(11), 80), (at(21), 86)]),
            one(labels_of(AT, "a", 1), [(at(11), 7), (at(21), 9)]),
        ],
    }
    assert [row[3:] for row in read(CounterBook(PodLabels()), Span(BEGIN, 3, TICK), series)] == [
        [0, 0],
        [20, 0],
        [6, 0],
    ]
    book = CounterBook(PodLabels())
    read(book, Span(BEGIN, 3, TICK), series)
    rows = [row for tick in range(3) for _, row in book.rows(Origin.ENGINE, tick)]
    assert [row[5] for row in rows] == [0, 7, 2]


def test_what_a_restarted_engine_shows_is_new_in_all_its_counters() -> None:
    series = {
        **drafts_of((at(1), 1000), (at(11), 50)),
        AT: [one(labels_of(AT, "a", 0), [(at(1), 20), (at(11), 30)])],
    }
    assert read(CounterBook(PodLabels()), Span(BEGIN, 2, TICK), series)[1][3] == 30


@pytest.mark.parametrize("position", ["", "x", "-1", "64", "1.0", "\u00b2"])
def test_a_position_that_is_none_is_left_out(position: str) -> None:
    labels = {**labels_of(AT, "a"), "position": position}
    series = {**drafts_of((at(1), 1), (at(11), 5)), AT: [one(labels, [(at(1), 1), (at(11), 4)])]}
    assert read(CounterBook(PodLabels()), Span(BEGIN, 2, TICK), series)[1] == [4, 0, 0, 0, 0]


# Replicas of one Prometheus.


def replicas(a: Samples, b: Samples) -> dict[Counter, list[Any]]:
    rows = [
        one(labels_of(DRAFTS, "p", prometheus_replica=which), samples)
        for which, samples in (("a", a), ("b", b))
        if samples
    ]
    return {DRAFTS: rows}


def counted(a: Samples, b: Samples, labels: PodLabels | None = None) -> float:
    book = CounterBook(labels or PodLabels())
    series = replicas([(at(when), value) for when, value in a], [(at(when), value) for when, value in b])
    return sum(row[0] for row in read(book, Span(BEGIN, 60, TICK), series))


def test_two_replicas_do_not_double() -> None:
    a = [(10.0 * n, 100.0 * n) for n in range(1, 21)]
    b = [(10.0 * n + 4, 100.0 * n + 40) for n in range(1, 21)]
    assert counted(a, b) == 1900
    assert counted(a, b, PodLabels.of(replica=("replica",))) == 3800, "without its name they are two pods"


def test_when_one_replica_ends_the_other_goes_on_where_it_was() -> None:
    a = [(10.0 * n, 100.0 * n) for n in range(1, 11)]
    b = [(10.0 * n + 4, 100.0 * n + 40) for n in range(1, 41)]
    assert counted(a, b) == 4040 - 100
    assert counted(b, a) == 4040 - 100


def test_a_replica_that_comes_back_goes_on_where_the_other_was() -> None:
    a = [(10.0 * n, 100.0 * n) for n in (*range(1, 11), *range(31, 41))]
    b = [(10.0 * n + 4, 100.0 * n + 40) for n in range(1, 41)]
    assert counted(a, b) == 4000 - 100


def test_a_restart_while_the_believed_replica_is_silent() -> None:
    a = [(10.0 * n, 100.0 * n) for n in range(1, 11)]
    b = [(10.0 * n + 4, 100.0 * n + 40 if n < 12 else 10.0 * (n - 12)) for n in range(1, 41)]
    assert counted(a, b) == 1000 - 100 + 280


def test_a_replica_whose_clock_is_ahead_is_not_taken_for_a_restart() -> None:
    a = [(10.0 * n, 100.0 * n) for n in range(1, 11)]
    b = [(10.0 * n + 9, 100.0 * n - 30) for n in range(1, 41)]
    assert counted(a, b) == 3970 - 100


def test_a_silence_shorter_than_a_failover_changes_nothing() -> None:
    a = [(10.0 * n, 100.0 * n) for n in range(1, 41) if not 110 < 10 * n < 110 + FAILOVER_S]
    b = [(10.0 * n + 4, 100.0 * n + 40) for n in range(1, 41)]
    assert counted(a, b) == 3900


def test_two_jobs_that_scrape_one_pod_are_two_views_of_it_if_the_pod_label_says_so() -> None:
    rows = [
        one(labels_of(DRAFTS, "p", job=job), [(at(10.0 * n + shift), 100.0 * n) for n in range(1, 21)])
        for job, shift in (("podmonitor", 0), ("annotations", 3))
    ]
    by_all, by_pod = CounterBook(PodLabels()), CounterBook(PodLabels.of(pod=("pod",)))
    span = Span(BEGIN, 30, TICK)
    assert sum(row[0] for row in read(by_all, span, {DRAFTS: rows})) == 3800
    assert sum(row[0] for row in read(by_pod, span, {DRAFTS: rows})) == 1900


@given(st.integers(0, 2**32), st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_replicas_count_the_same_however_they_are_cut(seed: int, cuts: list[int]) -> None:
    rng = random.Random(seed)
    total, pages = 0.0, []
    for step in range(300):
        total = 0.0 if rng.random() < 0.01 else total + rng.choice((0, 1, 20))
        pages.append((at(float(step)), total))
    a = [page for page in pages[::10] if rng.random() < 0.8 or page[0] % 3]
    b = [page for page in pages[4::10] if rng.random() < 0.9]
    whole = read(CounterBook(PodLabels()), Span(BEGIN, 30, TICK), replicas(a, b))
    book, found, tick = CounterBook(PodLabels()), list[list[float]](), 0
    for ticks in [*cuts, *[9] * 4]:
        span = Span(BEGIN + tick * TICK, min(ticks, 30 - tick), TICK)
        if span.ticks:
            parts = [[page for page in pages if span.start - 20 < page[0] <= span.end] for pages in (a, b)]
            found += read(book, span, shuffled(replicas(*parts), rng))
            tick += span.ticks
    assert found == whole


def test_series_that_fell_silent_are_forgotten() -> None:
    book = CounterBook(PodLabels())
    read(book, Span(BEGIN, 1, TICK), drafts_of((at(1), 1)))
    assert book.size == 1
    for step in range(1, 70):
        book.open(Span(BEGIN + step * TICK, 1, TICK))
    assert book.size == 0
