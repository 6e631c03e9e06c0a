"""Mix or draft, as a test with two errors: young baselines speak softly, unknown classes not at all."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping

import pytest

from detectors.drafting import expected, without_positions
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.drift_monitor import DriftMonitor
from specwatch_detectors.mix_test import MixTest, MixVerdict
from specwatch_detectors.window import NOTHING, Window

QS = {"code": (0.8, 0.78, 0.77), "chat": (0.55, 0.53, 0.5), "agent": (0.3, 0.3, 0.3)}
DESIGN = 20.0


def stream(counts: Window) -> DriftMonitor:
    return DriftMonitor(depth=3, baseline=Baseline(counts), design=DESIGN)


def of(shares: Mapping[str, float], drafts: float = 5000.0, factor: float = 1.0) -> dict[str, Window]:
    return {name: expected(share * drafts, QS[name], factor) for name, share in shares.items()}


def whole(classes: Mapping[str, Window]) -> Window:
    return sum(classes.values(), NOTHING)


def asked(learned: float = 1e7, *, positions: bool = True) -> MixTest:
    """A drop begins after so many drafts of an even mix of code and chat."""
    test = MixTest(3, 30.0)
    even = of({"code": 0.5, "chat": 0.5}, learned)
    known = even if positions else {name: without_positions(window) for name, window in even.items()}
    test.ask(stream(whole(known)), {name: stream(window) for name, window in known.items()})
    return test


def intervals(test: MixTest, seen: Mapping[str, Window], most: int = 500) -> int | None:
    """Intervals until the answer."""
    for n in range(most):
        test.take(whole(seen), seen)
        if test.verdict is not MixVerdict.OPEN:
            return n + 1
    return None


CASES = [
    ({"code": 0.1, "chat": 0.9}, 1.0, MixVerdict.MIX),
    ({"chat": 1.0}, 1.0, MixVerdict.MIX),
    ({"code": 0.3, "chat": 0.3, "agent": 0.4}, 1.0, MixVerdict.MIX),
    ({"code": 0.5, "chat": 0.5}, 0.85, MixVerdict.DRAFT),
    ({"code": 0.9, "chat": 0.1}, 0.85, MixVerdict.DRAFT),
    ({"code": 0.1, "chat": 0.9}, 0.85, MixVerdict.DRAFT),
    ({"code": 0.3, "chat": 0.3, "agent": 0.4}, 0.85, MixVerdict.DRAFT),
    ({"code": 0.5, "chat": 0.5}, 0.0, MixVerdict.DRAFT),
]


@pytest.mark.parametrize(("shares", "factor", "verdict"), CASES)
@pytest.mark.parametrize("learned", [5e5, 1e7, 1e10])
def test_the_mix_and_the_draft_are_told_apart(
    shares: dict[str, float], factor: float, verdict: MixVerdict, learned: float
) -> None:
    test = asked(learned)
    assert intervals(test, of(shares, factor=factor)) is not None
    assert test.verdict is verdict


def test_engines_without_positions_are_asked_by_their_means() -> None:
    for shares, factor, verdict in CASES:
        test = asked(positions=False)
        seen = {name: without_positions(window) for name, window in of(shares, factor=factor).items()}
        assert intervals(test, seen) is not None
        assert test.verdict is verdict


def test_classes_that_nobody_knew_before_say_nothing() -> None:
    test = asked()
    assert intervals(test, of({"agent": 1.0})) is None
    assert test.evidence == 0.0
    assert test.unknown == {"agent": 1.0}


@pytest.mark.parametrize("factor", [1.0, 0.98])
def test_baselines_that_cannot_see_the_size_of_the_drop_decide_nothing(factor: float) -> None:
    test = asked(20_000.0)
    assert intervals(test, of({"code": 0.4, "chat": 0.6}, factor=factor)) is None
    assert test.evidence == 0.0


@pytest.mark.parametrize("drafts", [1e5, 1e9])
def test_however_much_comes_after_a_young_baseline_says_only_what_it_knows(drafts: float) -> None:
    young, old, seen = asked(5e5), asked(1e10), of({"code": 0.1, "chat": 0.9}, drafts)
    for test in (young, old):
        test.take(whole(seen), seen)
        assert test.verdict is MixVerdict.MIX
    assert old.evidence < young.evidence
    assert young.evidence > -100.0


def test_errors_are_as_rare_as_promised() -> None:
    """Noise of the design effect; baselines drawn anew, so that their errors count."""
    wrong = {MixVerdict.MIX: 0, MixVerdict.DRAFT: 0}
    for seed in range(300):
        source = random.Random(seed)

        def noisy(name: str, drafts: float, factor: float = 1.0, source: random.Random = source) -> Window:
            q = QS[name][0]
            spread = (DESIGN * q * (1.0 - q) / drafts) ** 0.5
            return expected(drafts, [min(0.99, factor * q + source.gauss(0.0, spread))])

        for factor, false in ((1.0, MixVerdict.DRAFT), (0.9, MixVerdict.MIX)):
            test = MixTest(1, 30.0)
            known = {name: noisy(name, 2e5) for name in ("code", "chat")}
            test.ask(stream(whole(known)), {name: stream(window) for name, window in known.items()})
            for _ in range(300):
                seen = {"code": noisy("code", 500, factor), "chat": noisy("chat", 4500, factor)}
                test.take(whole(seen), seen)
                if test.verdict is not MixVerdict.OPEN:
                    break
            wrong[false] += test.verdict is false
    assert wrong[MixVerdict.DRAFT] <= 2
    assert wrong[MixVerdict.MIX] <= 6


def test_a_draft_that_is_repaired_while_the_mix_stays_is_noticed_and_the_mix_is_for_good() -> None:
    test = asked()
    shares = {"code": 0.1, "chat": 0.9}
    intervals(test, of(shares, factor=0.85))
    for _ in range(100):
        test.take(whole(of(shares)), of(shares))
    assert test.verdict is MixVerdict.MIX
    for _ in range(100):
        test.take(whole(of(shares, factor=0.85)), of(shares, factor=0.85))
    assert test.verdict is MixVerdict.MIX  # the classes' own tests judge from here on
    test.end()
    assert (test.verdict, test.asked) == (MixVerdict.OPEN, False)


@pytest.mark.parametrize("factor", [1.0, 0.97, 0.85])
def test_it_goes_on_from_its_state(factor: float) -> None:
    first, seen = asked(5e5), of({"code": 0.2, "chat": 0.5, "agent": 0.3}, factor=factor)
    for _ in range(3):
        first.take(whole(seen), seen)
    second = MixTest(3, 30.0, json.loads(json.dumps(first.state())))
    for _ in range(50):
        first.take(whole(seen), seen)
        second.take(whole(seen), seen)
        assert second.state() == first.state()
        assert second.evidence == first.evidence
