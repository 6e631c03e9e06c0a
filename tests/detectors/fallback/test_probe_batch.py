"""A draft that is probed with little traffic is held against the batch that it would have with all of it."""

from __future__ import annotations

import pytest

from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.observation import Observation, Seen
from specwatch_detectors.fallback.probe_batch import ProbeAtBatch
from specwatch_detectors.payoff.payoff import Bounds
from specwatch_detectors.payoff.step_cost import Basis, Cost, Load, Unknown

HERE = Seen(Bounds(1.0, 1.1, 1.2), 10.0, 500.0, batch=16.0)
HOME = Seen(Bounds(1.2, 1.3, 1.4), 10.0, 50.0, batch=2.0)


class Costs:
    """rho grows with the batch, and is unknown above 100."""

    name, basis, gpus = "costs", Basis.MEASURED, 1

    def at(self, load: Load) -> Cost | Unknown:
        return Unknown("too large") if load.batch > 100.0 else Cost(1.0 + load.batch / 20.0)


class Fixed:
    def __init__(self, home: Seen | None, here: Seen | None) -> None:
        both = {Level.DRAFT: home, Level.NGRAM: here}
        self.levels = {level: seen for level, seen in both.items() if seen is not None}

    def observe(self, now: float, level: Level, since: float) -> Observation:
        del level, since
        return Observation(now, self.levels, revision="r1")


def home_seen(home: Seen | None, here: Seen | None, level: Level = Level.NGRAM) -> Seen | None:
    seen = ProbeAtBatch(Fixed(home, here), Level.DRAFT, Costs(), 3).observe(10.0, level, 0.0)
    assert seen.revision == "r1"
    assert seen.levels.get(Level.NGRAM) == here
    return seen.levels.get(Level.DRAFT)


def test_the_probe_is_moved_to_the_batch_of_the_level_in_force() -> None:
    found = home_seen(HOME, HERE)
    assert found is not None
    assert found.bounds.estimate == pytest.approx(1.3 * 1.1 / 1.8)
    assert found.bounds.lower == pytest.approx(1.2 * 1.1 / 1.8)
    assert (found.at, found.effective) == (HOME.at, HOME.effective)


@pytest.mark.parametrize(
    ("home", "here", "level"),
    [
        (HOME, HERE, Level.DRAFT),
        (Seen(HOME.bounds, 1.0, 1.0, batch=16.0), HERE, Level.NGRAM),
        (Seen(HOME.bounds, 1.0, 1.0, batch=30.0), HERE, Level.NGRAM),
        (HOME, None, Level.NGRAM),
        (None, HERE, Level.NGRAM),
    ],
)
def test_what_needs_no_move_stays(home: Seen | None, here: Seen | None, level: Level) -> None:
    assert home_seen(home, here, level) == home


@pytest.mark.parametrize(
    ("home", "here"),
    [
        (HOME, Seen(HERE.bounds, 1.0, 1.0)),
        (Seen(HOME.bounds, 1.0, 1.0), HERE),
        (HOME, Seen(HERE.bounds, 1.0, 1.0, batch=200.0)),
    ],
)
def test_what_cannot_be_moved_is_unknown(home: Seen, here: Seen) -> None:
    assert home_seen(home, here) is None
