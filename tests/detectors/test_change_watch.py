from __future__ import annotations

from detectors.interval_of import report
from specwatch_detectors.change_watch import ChangeWatch
from specwatch_detectors.reading import Change


def test_what_is_unknown_is_no_change() -> None:
    watch = ChangeWatch()
    assert watch.take(report(depth=None, method=None), None, 0.0, restarted=False) == []
    assert watch.take(report(), "0.32.0", 1.0, restarted=False) == []
    assert watch.take(report(depth=None, method=None), None, 2.0, restarted=False) == []
    assert watch.take(report(), "0.32.0", 3.0, restarted=False) == []


def test_each_change_is_named_and_the_method_comes_last() -> None:
    watch = ChangeWatch()
    watch.take(report(), "0.32.0", 0.0, restarted=False)
    found = watch.take(report(depth=5, method="ngram"), "0.33.0", 1.0, restarted=True)
    assert found == [Change.RESTART, Change.VERSION, Change.DEPTH, Change.METHOD]
    assert watch.take(report(depth=5, method="ngram"), "0.33.0", 2.0, restarted=False) == []


def test_a_version_that_is_told_after_the_restart_is_compared_with_the_one_before() -> None:
    watch = ChangeWatch()
    watch.take(report(), "0.32.0", 0.0, restarted=False)
    assert watch.take(report(), None, 1.0, restarted=True) == [Change.RESTART]
    assert watch.take(report(), "0.33.0", 2.0, restarted=False) == [Change.VERSION]


def test_an_engine_that_keeps_changing_k_adapts_it_and_is_no_event_any_more() -> None:
    watch = ChangeWatch()
    found = [
        watch.take(report(depth=depth), None, 60.0 * n, restarted=False) for n, depth in enumerate([3, 2, 3, 1, 3])
    ]
    assert found == [[], [Change.DEPTH], [Change.DEPTH], [], []]
    assert watch.adaptive
