"""Made-up histories for the tests of calibration and replay: quick to make, with a known design effect."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from specwatch_detectors import chain
from specwatch_detectors.history import EngineChange, History, Interval, ModelHistory
from specwatch_detectors.window import NOTHING, Window, window

START = 1_772_409_600.0
CLASSES = {"chat": (0.6, 0.58, 0.57), "code": (0.82, 0.8, 0.78)}
Shape = Callable[[float], float]


def always(_day: float) -> float:
    return 1.0


def quiet_half(_day: float) -> float:
    return 0.5


def counted(rng: random.Random, drafts: float, q: Sequence[float], spread: float) -> Window:
    """Counts whose conditionals share one random factor per interval: design effect about 1 + drafts * spread^2."""
    factor = max(0.1, rng.gauss(1.0, spread))
    p = chain.unconditional([min(0.99, factor * value) for value in q])
    return window(drafts, [drafts * value for value in p])


def made(
    days: float = 8.0,
    *,
    interval_s: float = 120.0,
    drafts: float = 20_000.0,
    factor: Shape = always,
    code_share: Shape = quiet_half,
    classes: bool = True,
    spread: float = 0.02,
    missing: Callable[[float], bool] = lambda _day: False,
    changes: Sequence[EngineChange] = (),
    seed: int = 1,
) -> History:
    """A history of one model, `m`; `factor` and `code_share` by day, `missing` for gaps."""
    rng = random.Random(seed)
    intervals = []
    for number in range(1, round(days * 86_400.0 / interval_s) + 1):
        day = number * interval_s / 86_400.0
        share = code_share(day)
        shares = {"chat": 1.0 - share, "code": share}
        own = {
            name: counted(rng, drafts * part, [factor(day) * value for value in CLASSES[name]], spread)
            for name, part in shares.items()
        }
        if not missing(day):
            total = sum(own.values(), NOTHING)
            intervals.append(Interval(START + number * interval_s, total, own if classes else {}))
    model = ModelHistory("m", interval_s, tuple(intervals), tuple(changes), depth=3)
    return History(interval_s, {"m": model}, "made")


def without_noise(days: float, dip: Mapping[int, float], interval_s: float = 120.0) -> History:
    """Counts at their mean, times a factor in some intervals."""
    q = CLASSES["chat"]
    intervals = []
    for number in range(1, round(days * 86_400.0 / interval_s) + 1):
        p = chain.unconditional([dip.get(number, 1.0) * value for value in q])
        intervals.append(Interval(START + number * interval_s, window(5_000.0, [5_000.0 * value for value in p])))
    return History(interval_s, {"m": ModelHistory("m", interval_s, tuple(intervals), depth=3)}, "made")
