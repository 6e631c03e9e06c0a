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
    return Page("vllm", counters=dict(values), starts={} if start is None else {"": start})


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
    assert increase.restarted == {"0"}


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
    assert Key(total.metric, "m", "0", "") not in increase.by_key
    assert (increase.held, increase.restarts) == ((total,), 0)
    assert Key(total.metric, "m", "0", "") not in ledger.update(page({series(): 12, total: 9.0})).by_key
    after = ledger.update(page({series(): 3, total: 2.0}))
    assert (after.restarts, after.by_key[Key(total.metric, "m", "0", "")]) == (1, 2.0)


def test_ranks_of_a_process_restart_with_its_start_and_other_instances_do_not() -> None:
    def counters(*values: float) -> dict[SeriesId, float]:
        return {series(engine): value for engine, value in zip(("a/0", "a/1", "b/0"), values, strict=True)}

    ledger = Ledger()
    ledger.update(Page("vllm", counters=counters(1000, 10, 500), starts={"a": 1.0, "b": 1.0}))
    increase = ledger.update(Page("vllm", counters=counters(50, 40, 510), starts={"a": 90.0, "b": 1.0}))
    assert [increase.by_key[Key(DRAFTS, "m", engine, "")] for engine in ("a/0", "a/1", "b/0")] == [50, 40, 10]
    assert increase.restarted == {"a/0", "a/1"}
    assert increase.restarts == 1


def test_series_that_left_the_page_are_not_current_and_come_back_with_their_total() -> None:
    late = series(metric=catalog.REQUESTS.name)
    key = Key(late.metric, "m", "0", "")
    ledger = Ledger()
    ledger.update(page({series(): 10, late: 4}))
    ledger.update(page({series(): 11}))
    assert key not in ledger.current
    ledger.update(page({series(): 12, late: 6}))
    assert ledger.current[key] == 6


def test_other_bucket_edges_after_a_restart_start_the_histogram_over() -> None:
    def edges(*names: str) -> dict[SeriesId, float]:
        metric = f"{catalog.TTFT.name}_bucket"
        return {SeriesId(metric, "m", "0", name, ""): 5.0 for name in names}

    ledger = Ledger()
    ledger.update(Page("vllm", counters={series(): 9, **edges("0.1", "0.5", "+Inf")}, starts={"": 1.0}))
    ledger.update(Page("vllm", counters={series(): 1, **edges("0.2", "0.5", "+Inf")}, starts={"": 50.0}))
    assert {key.extra: value for key, value in ledger.current.items() if key.extra} == dict.fromkeys(
        ("0.2", "0.5", "+Inf"), 5.0
    )
    assert ledger.current[TOTAL] == 10


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
