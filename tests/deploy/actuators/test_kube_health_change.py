"""Worse or not, from error rate and p99 before and after."""

from __future__ import annotations

import pytest

from specwatch_deploy.actuators.health_change import HealthChange, HealthLimits, judge, judge_all
from specwatch_detectors.fallback.level import Level

LIMITS = HealthLimits()


@pytest.mark.parametrize(
    ("change", "ok", "known", "said"),
    [
        (
            HealthChange(1000, 0.001, 0.002, 2.0, 2.5),
            True,
            True,
            "n-gram: errors 0.20% (0.10% before), p99 2.5 s (2 before)",
        ),
        (HealthChange(1000, 0.001, 0.02, 2.0, 2.5), False, True, "n-gram: errors 2.00% (0.10% before)"),
        (HealthChange(1000, 0.0, 0.0, 2.0, 3.5), False, True, "n-gram: p99 3.5 s (2 before)"),
        (
            HealthChange(1000, 0.5, 0.1, 9.0, 1.0),
            True,
            True,
            "n-gram: errors 10.00% (50.00% before), p99 1 s (9 before)",
        ),
        (HealthChange(99, 0.0, 1.0, 2.0, 99.0), False, False, "too little traffic to tell (99 of 100 requests)"),
        (HealthChange(1000, None, 0.5, None, None), False, True, "errors 50.00% (not known before)"),
        (
            HealthChange(1000, 0.0, 1.0, 2.0, None, 1000),
            False,
            True,
            "n-gram cannot be reached: all of its 1000 requests failed or went elsewhere; how it does could not be",
        ),
        (
            HealthChange(1000, 0.0, 0.5, 2.0, None, 300),
            False,
            True,
            "errors 50.00% (0.00% before, 300 of 1000 requests did not reach it)",
        ),
        (HealthChange(1000, None, None, None, 3.0), False, False, "neither error rate nor p99 is known"),
        (None, False, False, "nobody measures it"),
    ],
)
def test_one_level(change: HealthChange | None, said: str, *, ok: bool, known: bool) -> None:
    found = judge(Level.NGRAM, change, LIMITS)
    assert (found.ok, found.known) == (ok, known)
    assert said in found.reason


GOOD = HealthChange(1000, 0.0, 0.0, 1.0, 1.0)
BAD = HealthChange(1000, 0.0, 0.5, 1.0, 1.0)


@pytest.mark.parametrize(
    ("draft", "ngram", "ok", "known"),
    [
        (GOOD, GOOD, True, True),
        (GOOD, BAD, False, True),
        (BAD, None, False, True),
        (GOOD, None, False, False),
    ],
)
def test_the_worst_level_decides(
    draft: HealthChange | None, ngram: HealthChange | None, *, ok: bool, known: bool
) -> None:
    found = judge_all(judge(level, own, LIMITS) for level, own in ((Level.DRAFT, draft), (Level.NGRAM, ngram)))
    assert (found.ok, found.known) == (ok, known)
