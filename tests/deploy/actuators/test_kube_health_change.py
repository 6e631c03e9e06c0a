"""Worse or not, from error rate and p99 before and after."""

from __future__ import annotations

import pytest

from specwatch_deploy.actuators.health_change import HealthChange, HealthLimits, judge, judge_all
from specwatch_detectors.fallback.level import Level

LIMITS = HealthLimits()


@pytest.mark.parametrize(
    ("change", "ok", "known", "said"),
    [
        (HealthChange(1000, 0.001, 0.002, 2.0, 2.5), True, True, "n-gram: errors 0.10% to 0.20%, p99 2 s to 2.5 s"),
        (HealthChange(1000, 0.001, 0.02, 2.0, 2.5), False, True, "n-gram: errors 0.10% to 2.00%"),
        (HealthChange(1000, 0.0, 0.0, 2.0, 3.5), False, True, "n-gram: p99 2 s to 3.5 s"),
        (HealthChange(1000, 0.5, 0.1, 9.0, 1.0), True, True, "n-gram: errors 50.00% to 10.00%, p99 9 s to 1 s"),
        (HealthChange(99, 0.0, 1.0, 2.0, 99.0), False, False, "too little traffic to tell (99 requests of 100)"),
        (HealthChange(1000, None, 0.5, None, None), False, True, "errors 0.00% to 50.00%"),
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
    found = judge_all([Level.DRAFT, Level.NGRAM], {Level.DRAFT: draft, Level.NGRAM: ngram}.get, LIMITS)
    assert (found.ok, found.known) == (ok, known)
