from __future__ import annotations

import math

import pytest

from specwatch_exporters.replay.chain import Rates
from specwatch_exporters.replay.scheduler import Scheduler
from specwatch_exporters.replay.sequence import Submission
from specwatch_exporters.replay.settings import ReplaySettings
from specwatch_exporters.replay.traffic_classes import DEFAULT_CLASSES, TrafficClass

REQUESTS, TOKENS = 300, 200


def played(settings: ReplaySettings) -> Scheduler:
    """Run the same number of requests of every class to their end, on simulated time."""
    scheduler = Scheduler(settings)
    for number in range(REQUESTS):
        for kind in settings.classes:
            scheduler.submit(Submission(f"{kind.name}-{number}", kind, 20, TOKENS), 0.0)
    now = 0.0
    while (result := scheduler.step(now)) is not None:
        now = result.ended
    return scheduler


@pytest.mark.parametrize("method", ["eagle3", "peagle", "ngram"])
def test_every_class_has_the_acceptance_that_was_set(method: str) -> None:
    settings = ReplaySettings(method=method, slots=64)
    scheduler = played(settings)
    for name in settings.class_names:
        tally = scheduler.tallies[name]
        assert tally.drafts > 15_000
        for position, rate in enumerate(settings.rates(name)):
            seen = tally.per_position[position] / tally.drafts
            error = math.sqrt(rate * (1 - rate) / tally.drafts)
            assert abs(seen - rate) < 5 * error, (name, position)


def request_rates(spread: float, rates: Rates) -> list[float]:
    kind = TrafficClass("chat", spread=spread)
    scheduler = Scheduler(ReplaySettings(classes=(kind,), acceptance={"chat": rates}, slots=64))
    sequences = [scheduler.submit(Submission(str(n), kind, 20, TOKENS), 0.0) for n in range(REQUESTS)]
    now = 0.0
    while (result := scheduler.step(now)) is not None:
        now = result.ended
    return [sum(s.record.accepted) / sum(s.record.drafted) for s in sequences]


def variance(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values)


def test_spread_widens_requests_around_nearly_the_same_mean() -> None:
    rates = (0.6, 0.4, 0.25)
    pure, spread = request_rates(0.0, rates), request_rates(0.8, rates)
    assert variance(spread) > 5 * variance(pure)
    assert sum(spread) / len(spread) == pytest.approx(sum(pure) / len(pure), abs=0.03)


def test_the_default_classes_differ() -> None:
    settings = ReplaySettings()
    assert [kind.name for kind in DEFAULT_CLASSES] == ["code", "chat", "math"]
    assert len({settings.rates(kind.name) for kind in DEFAULT_CLASSES}) == 3
