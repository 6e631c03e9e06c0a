from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.explain.simulated_chain import CHAT, CODE, DESIGN, compared, times
from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.explain.shape import ShapeKind, fit
from specwatch_detectors.window import window

SIX = (0.85, 0.85, 0.85, 0.84, 0.84, 0.84)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (CODE, CODE, ShapeKind.NO_CHANGE),
        (CODE, times(CODE, 0.9), ShapeKind.UNIFORM),
        (CHAT, times(CHAT, 0.6), ShapeKind.UNIFORM),
        (CODE, (0.79, 0.70, 0.55, 0.40), ShapeKind.DEEPER),
        ((0.999, 0.71, 0.47), (0.894, 0.25, 0.24), ShapeKind.DEEPER),
        (SIX, (0.85, 0.85, 0.85, 0.0, 0.0, 0.0), ShapeKind.FLAT_THEN_ZERO),
        (CODE, (0.55, 0.82, 0.83, 0.84), ShapeKind.FIRST_ONLY),
        (CODE, (0.0, 0.0, 0.0, 0.0), ShapeKind.ALL_ZERO),
        (CODE, (0.01, 0.01, 0.01, 0.01), ShapeKind.ALL_ZERO),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_faults_have_their_shapes(
    before: Sequence[float], after: Sequence[float], kind: ShapeKind, seed: int
) -> None:
    pair = compared(np.random.default_rng(seed), before, after)
    assert fit([pair], DESIGN).kind is kind


@given(st.floats(0.3, 1.0), st.floats(-0.2, 0.0), st.floats(1.0, 50.0))
def test_an_exact_line_is_found(first: float, slope: float, design: float) -> None:
    q0 = (0.8, 0.8, 0.8, 0.8)
    drafts, before, after, share, other = 1e8, [], [], 1.0, 1.0
    for step, q in enumerate(q0):
        share, other = share * q, other * q * first * float(np.exp(slope * step))
        before.append(drafts * share)
        after.append(drafts * other)
    shape = fit([Comparison(window(drafts, before), window(drafts, after))], design)
    assert shape.a == pytest.approx(np.log(first), abs=1e-3)
    assert shape.b == pytest.approx(slope, abs=1e-3)


def test_the_error_grows_with_the_root_of_the_design_effect() -> None:
    pair = compared(np.random.default_rng(3), CODE, times(CODE, 0.9))
    narrow, wide = fit([pair], 2.0), fit([pair], 8.0)
    assert wide.a_error == pytest.approx(2.0 * narrow.a_error)
    assert wide.b_error == pytest.approx(2.0 * narrow.b_error)
    assert wide.a == pytest.approx(narrow.a)


@pytest.mark.parametrize(
    "pair",
    [
        Comparison(),
        Comparison(window(9.0, [5.0, 2.0]), window(9.0, [1.0, 0.0])),
        Comparison(window(1e6, accepted_tokens=1e6), window(1e6, accepted_tokens=5e5)),
    ],
)
def test_without_drafts_or_positions_the_shape_is_unknown(pair: Comparison) -> None:
    assert fit([pair], DESIGN).kind is ShapeKind.UNKNOWN


def test_classes_have_one_common_shape_whatever_their_mix() -> None:
    rng = np.random.default_rng(4)
    pairs = [compared(rng, CODE, CODE, (60_000, 8_000)), compared(rng, CHAT, CHAT, (60_000, 80_000))]
    assert fit(pairs, DESIGN).kind is ShapeKind.NO_CHANGE
    assert fit([pairs[0] + pairs[1]], DESIGN).kind is not ShapeKind.NO_CHANGE
