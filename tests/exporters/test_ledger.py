from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters import catalog
from specwatch_exporters.ledger import Ledger
from specwatch_exporters.page import Key, Page, SeriesId

DRAFTS = catalog.DRAFTS.name
TOTAL = Key(DRAFTS, "m", "0", "")


def series(engine: str = "0", metric: str = DRAFTS, source: str = "") -> SeriesId:
    return SeriesId(metric, "m", engine, "", source)


def page(values: dict[SeriesId, float], start: float | None = None) -> Page:
    return Page("vllm", counters=dict(values), start_marker=start)


def test_the_first_page_counts_in_full() -> None:
    ledger = Ledger()
    assert ledger.update(page({series(): 188})).by_key == {TOTAL: 188}


def test_a_reset_is_counted_once_and_totals_carry_on() -> None:
    ledger = Ledger()
    ledger.update(page({series(): 100, series(metric=catalog.GENERATION_TOKENS.name): 300}))
    increase = ledger.update(page({series(): 7, series(metric=catalog.GENERATION_TOKENS.name): 20}))
    assert increase.by_key[TOTAL] == 7
    assert (increase.restarts, ledger.restarts, ledger.totals[TOTAL]) == (1, 1, 107)
    assert ledger.update(page({series(): 9})).restarts == 0


def test_a_reset_hidden_by_fast_traffic_shows_in_the_start_time() -> None:
    """The engine restarted and overtook its old counts between two scrapes: only its start tells."""
    ledger = Ledger()
    ledger.update(page({series(): 100}, start=1000.0))
    increase = ledger.update(page({series(): 150}, start=1060.0))
    assert (increase.by_key[TOTAL], increase.restarts, ledger.totals[TOTAL]) == (150, 1, 250)


def test_one_falling_counter_restarts_its_engine_and_no_other() -> None:
    ledger = Ledger()
    other = series(metric=catalog.GENERATION_TOKENS.name)
    ledger.update(page({series("0"): 100, other: 5, series("1"): 50}))
    increase = ledger.update(page({series("0"): 10, other: 6, series("1"): 60}))
    assert increase.by_key[TOTAL] == 10
    assert increase.by_key[Key(other.metric, "m", "0", "")] == 6
    assert increase.by_key[Key(DRAFTS, "m", "1", "")] == 10
    assert increase.restarted == {("m", "0")}


def test_series_that_reappear_after_a_restart_do_not_restart_it_again() -> None:
    late = series(metric=catalog.REQUESTS.name)
    ledger = Ledger()
    ledger.update(page({series(): 100, late: 40}))
    ledger.update(page({series(): 3}))
    increase = ledger.update(page({series(): 5, late: 2}))
    assert (increase.restarts, ledger.restarts) == (0, 1)
    assert ledger.totals[Key(late.metric, "m", "0", "")] == 42


def test_sums_are_taken_after_increases() -> None:
    """Two processes, one of which restarts: the difference of sums would be negative."""
    ledger = Ledger()
    ledger.update(page({series(source="a"): 100, series(source="b"): 10}))
    assert ledger.update(page({series(source="a"): 101, series(source="b"): 12})).by_key[TOTAL] == 3


def test_a_falling_histogram_sum_is_held_and_no_restart() -> None:
    """vLLM's queue times can be negative for streaming sessions; the sum then falls."""
    total = series(metric=f"{catalog.QUEUE_WAIT.name}_sum")
    ledger = Ledger()
    ledger.update(page({series(): 10, total: 5.0}))
    increase = ledger.update(page({series(): 11, total: 4.5}))
    assert increase.by_key[Key(total.metric, "m", "0", "")] == 0.0
    assert (increase.held, increase.restarts) == ((total,), 0)


def test_memory_stays_bounded_under_label_churn() -> None:
    ledger = Ledger(max_series=100)
    for round_ in range(50):
        ledger.update(page({series(source=f"{round_}-{i}"): 1.0 for i in range(60)}))
    assert len(ledger._last) <= 120
    for round_ in range(50):
        ledger.update(page({SeriesId(DRAFTS, f"m{round_}-{i}", "0", "", ""): 1.0 for i in range(60)}))
    assert len(ledger.totals) <= 160


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1000)), max_size=6),
        max_size=12,
    )
)
def test_no_increase_is_ever_negative_and_totals_are_their_sum(rounds: list[list[tuple[int, int]]]) -> None:
    ledger = Ledger()
    seen: dict[Key, float] = {}
    for entries in rounds:
        values = {series(str(engine)): float(value) for engine, value in entries}
        for key, value in ledger.update(page(values)).by_key.items():
            assert value >= 0
            seen[key] = seen.get(key, 0.0) + value
    assert ledger.totals == seen


@given(st.lists(st.lists(st.integers(0, 100), min_size=1, max_size=5), min_size=1, max_size=6))
def test_an_engine_that_restarts_loses_nothing(lives: list[list[int]]) -> None:
    """Each inner list is one process's increments, the start time moving at each life."""
    ledger = Ledger()
    for life, increments in enumerate(lives):
        value = 0
        for increment in increments:
            value += increment
            ledger.update(page({series(): float(value)}, start=1000.0 + 100 * life))
    assert ledger.totals[TOTAL] == sum(sum(life) for life in lives)
    assert ledger.restarts == len(lives) - 1
