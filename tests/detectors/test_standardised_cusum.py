"""Class by class: a change of mix is nothing, a worse draft is something."""

from __future__ import annotations

import pytest

from detectors.drafting import expected
from specwatch_detectors.chain_cusum import ChainCusum
from specwatch_detectors.standardised_cusum import StandardisedCusum
from specwatch_detectors.window import Window

CLASSES = {"code": (0.8, 0.8), "chat": (0.55, 0.5)}
H = 13.56


def cusum(state: dict[str, float] | None = None) -> StandardisedCusum:
    classes = {name: ChainCusum(q, ratio=0.93, design=5.0, threshold=H) for name, q in CLASSES.items()}
    return StandardisedCusum(classes, threshold=H, state=state)


def mix(code: float, factor: float = 1.0, drafts: float = 5000) -> dict[str, Window]:
    shares = {"code": code, "chat": 1.0 - code}
    return {name: expected(drafts * share, CLASSES[name], factor) for name, share in shares.items()}


@pytest.mark.parametrize("code", [0.0, 0.06, 0.5, 0.95, 1.0])
def test_a_mix_of_classes_as_before_is_no_evidence_while_the_total_would_be(code: float) -> None:
    test = cusum()
    for _ in range(200):
        assert test.update(mix(code)) == 0.0


def test_the_total_takes_the_same_change_of_mix_for_drift() -> None:
    both = mix(0.5)
    total = both["code"] + both["chat"]
    q = tuple(kept / tried for kept, tried in zip(total.accepted, total.trials, strict=True))
    plain = ChainCusum(q, ratio=0.93, design=5.0, threshold=H)
    shifted = mix(0.06)
    scores = [plain.update(shifted["code"] + shifted["chat"]) for _ in range(20)]
    assert scores[-1] >= 1.0


@pytest.mark.parametrize("code", [0.06, 0.5, 1.0])
def test_a_worse_draft_is_evidence_whatever_the_mix(code: float) -> None:
    test = cusum()
    assert [test.update(mix(code, factor=0.93)) for _ in range(20)][-1] >= 1.0


def test_classes_without_a_baseline_are_left_out() -> None:
    test = cusum()
    assert test.update({"poetry": expected(1e6, (0.1, 0.1))}) == 0.0
    assert test.update({}) == 0.0


def test_state_and_reset() -> None:
    test = cusum()
    test.update(mix(0.5, factor=0.9, drafts=500))
    again = cusum(test.state())
    assert again.update(mix(0.3)) == test.update(mix(0.3))
    test.reset()
    assert test.state() == {"evidence": 0.0}


def test_a_threshold_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="threshold"):
        StandardisedCusum({}, threshold=0.0)
