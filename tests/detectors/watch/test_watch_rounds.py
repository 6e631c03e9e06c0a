from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.watch.fleet_history import BEGIN, GRID, catch_up, eventful, new_rounds, plain, reloaded
from detectors.watch.sample_store import MODEL, FakePod, SampleStore
from specwatch_detectors.reading import DriftState
from specwatch_detectors.watch.counter_book import Span
from specwatch_detectors.watch.rounds import SPAN_S, Grid, parts_of
from specwatch_detectors.watch.source import SourceError
from specwatch_detectors.watch.watch_settings import WatchSettings

LENGTH = 900
HISTORIES = {seed: eventful(seed, LENGTH) for seed in range(3)}


@settings(max_examples=20)
@given(st.sampled_from(sorted(HISTORIES)), st.integers(0, 2**32))
def test_the_verdicts_do_not_depend_on_when_it_looked_nor_on_restarts_and_outages(seed: int, chance: int) -> None:
    rng, store = random.Random(chance), HISTORIES[seed]
    make = new_rounds(store)
    steady, shaken = make(None), make(None)
    steady_readings = catch_up(steady, BEGIN + 60)
    for second in range(70, LENGTH, 10):
        steady_readings = catch_up(steady, BEGIN + second)
    shaken_readings = catch_up(shaken, BEGIN + 60)
    second = 60
    while second < LENGTH - 10:
        second = min(LENGTH - 10, second + rng.choice((3, 10, 10, 10, 55, 400)))
        if rng.random() < 0.1:
            shaken = reloaded(shaken, make)
        if rng.random() < 0.1:
            store.down = "connection refused"
            with pytest.raises(SourceError):
                shaken.fleet.take(store, Span(shaken.at or 0, 1, GRID.interval_s))
            store.down = ""
        shaken_readings = catch_up(shaken, BEGIN + second)
    assert shaken.state() == steady.state()
    assert plain(shaken_readings) == plain(steady_readings)


def test_an_eventful_history_ends_in_drift() -> None:
    whole = WatchSettings(grid=Grid(since_s=LENGTH))
    readings = catch_up(new_rounds(HISTORIES[0], whole)(None), BEGIN + LENGTH)
    assert set(readings) == {MODEL}
    assert set(readings[MODEL].classes) == {"chat", "code"}
    assert readings[MODEL].total.state is DriftState.DRIFTED


def test_a_round_asks_only_for_what_is_new() -> None:
    store = SampleStore()
    rounds = new_rounds(store)(None)
    catch_up(rounds, BEGIN + 100)
    store.asked.clear()
    catch_up(rounds, BEGIN + 110)
    assert {(start, end) for _, start, end in store.asked} == {(BEGIN + 90, BEGIN + 100)}
    store.asked.clear()
    catch_up(rounds, BEGIN + 115)
    assert store.asked == []


def test_what_was_missed_is_read_in_pieces() -> None:
    store = SampleStore()
    rounds = new_rounds(store)(None)
    catch_up(rounds, BEGIN + 100)
    store.asked.clear()
    catch_up(rounds, BEGIN + 100 + 3600)
    assert max(end - start for _, start, end in store.asked) == SPAN_S
    assert rounds.at == BEGIN + 90 + 3600


def test_more_than_the_longest_gap_is_skipped() -> None:
    store = SampleStore()
    make = new_rounds(store, WatchSettings(grid=Grid(since_s=60, catch_up_s=600)))
    rounds = make(None)
    catch_up(rounds, BEGIN + 100)
    store.asked.clear()
    catch_up(rounds, BEGIN + 100 + 86_400)
    assert min(start for _, start, _ in store.asked) == BEGIN + 90 + 86_400 - 600 - 300


@pytest.mark.parametrize(
    ("now", "due"), [(BEGIN + 19.9, BEGIN), (BEGIN + 20, BEGIN + 10), (BEGIN + 29.9, BEGIN + 10)]
)
def test_a_tick_is_due_when_its_samples_are_complete(now: float, due: int) -> None:
    assert GRID.due(now) == due


def test_a_slow_scrape_is_waited_for() -> None:
    store = SampleStore()
    slow, quick = FakePod(store, "slow"), FakePod(store, "quick")
    rounds = new_rounds(store)(None)
    for second in range(0, 300, 10):
        for pod in (slow, quick):
            pod.work(100)
        quick.scrape(BEGIN + second + 9)
        catch_up(rounds, BEGIN + second + 10)  # the slow one's page has the time 9.9 and is not stored yet
        slow.scrape(BEGIN + second + 9.9)
    catch_up(rounds, BEGIN + 320)
    model = rounds.fleet.models[MODEL]
    assert model.monitor is not None
    learned = model.monitor.state()["total"]["learning"]
    assert learned["drafts"] == slow.drafts + quick.drafts - 200


def test_a_grid_with_another_interval_goes_on_after_the_last_tick() -> None:
    store = eventful(1, 300)
    rounds = new_rounds(store)(None)
    catch_up(rounds, BEGIN + 155)
    other = new_rounds(store, WatchSettings(grid=Grid(interval_s=30)))(rounds.state())
    assert (rounds.at or 0) <= (other.at or 0) < (rounds.at or 0) + 30
    assert (other.at or 0) % 30 == 0
    catch_up(other, BEGIN + 290)


@pytest.mark.parametrize(
    "state",
    [{}, {"version": 2, "at": 1, "models": {}}, {"version": 1, "at": "x", "models": {}}, {"version": 1, "at": 1}],
)
def test_what_is_no_state_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="state"):
        parts_of(state)


@pytest.mark.parametrize("models", [{"m": {}}, {"m": {"definition": None}}, {"m": []}])
def test_what_is_no_state_of_a_model_is_refused(models: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not the state"):
        new_rounds(SampleStore())({"version": 1, "at": 1, "models": models})
