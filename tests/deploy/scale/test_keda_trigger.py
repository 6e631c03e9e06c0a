from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from specwatch_deploy.scale.hpa_metric import ExternalTarget, Replicas, TargetType, Tolerance
from specwatch_deploy.scale.keda_trigger import Fallback, FallbackBehavior, KedaTrigger, query_value

TARGET = ExternalTarget(TargetType.AVERAGE_VALUE, 1.0)
FOUR = Replicas(4, 4, 4)


@pytest.mark.parametrize(
    ("answer", "strict", "lenient"),
    [
        ([], None, 0.0),
        ([math.nan], None, 0.0),
        ([math.inf], None, 0.0),
        ([1.0, 1.0], None, None),
        ([-3.0], 0.0, 0.0),
        ([2.5], 2.5, 2.5),
    ],
)
def test_what_keda_makes_of_an_answer(answer: list[float], strict: float | None, lenient: float | None) -> None:
    assert query_value(answer, ignore_null=False) == strict
    assert query_value(answer, ignore_null=True) == lenient


@pytest.mark.parametrize(
    ("behavior", "own", "expected"),
    [
        (FallbackBehavior.STATIC, 2, 2),
        (FallbackBehavior.CURRENT, 2, 4),
        (FallbackBehavior.CURRENT_IF_HIGHER, 2, 4),
        (FallbackBehavior.CURRENT_IF_HIGHER, 6, 6),
        (FallbackBehavior.CURRENT_IF_LOWER, 2, 2),
    ],
)
def test_the_fallback_comes_after_more_than_so_many_errors(
    behavior: FallbackBehavior, own: int, expected: int
) -> None:
    trigger = KedaTrigger(TARGET, ignore_null=False, fallback=Fallback(3, own, behavior))
    assert [trigger.proposal([], FOUR, Tolerance()) for _ in range(5)] == [None, None, None, expected, expected]
    assert trigger.proposal([2.0], FOUR, Tolerance()) == 2
    assert trigger.proposal(None, FOUR, Tolerance()) is None


@given(
    st.lists(st.none() | st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=3), max_size=40),
    st.integers(2, 12),
)
@example([[1.8e305]], 2)
def test_lost_data_never_lowers_replicas_with_the_fallback_that_is_built(
    answers: list[list[float] | None], replicas: int
) -> None:
    fallback = Fallback(4, 2, FallbackBehavior.CURRENT_IF_HIGHER)
    trigger = KedaTrigger(TARGET, ignore_null=False, fallback=fallback)
    for answer in answers:
        found = trigger.proposal(answer, Replicas(replicas, replicas, replicas), Tolerance())
        if answer is None or len(answer) != 1 or not math.isfinite(answer[0]):
            assert found is None or found >= replicas
