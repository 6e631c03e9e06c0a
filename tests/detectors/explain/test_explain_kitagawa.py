from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.explain.simulated_chain import CHAT, CODE, groups, times
from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.explain.kitagawa import Split, split
from specwatch_detectors.window import Window, window

counts = st.one_of(st.just(0.0), st.floats(1.0, 1e9))


@st.composite
def windows(draw: st.DrawFn) -> Window:
    drafts = draw(counts)
    shares = sorted(draw(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5)), reverse=True)
    return window(drafts, [share * drafts for share in shares])


comparisons = st.builds(Comparison, windows(), windows())


def found(parts: dict[str, Comparison], design: float = 4.0) -> Split:
    result = split(parts, design)
    assert result is not None
    return result


@given(st.dictionaries(st.text(max_size=3), comparisons, min_size=1, max_size=6))
def test_the_terms_add_up_to_the_change_exactly(parts: dict[str, Comparison]) -> None:
    total = sum(parts.values(), start=Comparison())
    result = split(parts, 4.0)
    if not total.both:
        assert result is None
        return
    assert result is not None
    assert result.mix.value + result.within.value == pytest.approx(result.total.value, abs=1e-9)
    assert result.total.value == pytest.approx(total.change, abs=1e-9)
    assert sum(part.mix + part.within for part in result.parts) == pytest.approx(result.total.value, abs=1e-9)
    assert min(result.mix.error, result.within.error, result.total.error) >= 0.0


@given(st.dictionaries(st.text(max_size=2), comparisons, min_size=1, max_size=4), st.floats(0.1, 1e3))
def test_more_of_the_same_changes_no_term(parts: dict[str, Comparison], factor: float) -> None:
    def scaled(side: Window) -> Window:
        return window(side.drafts * factor, [value * factor for value in side.accepted])

    whole = split(parts, 4.0)
    other = split({name: Comparison(scaled(c.before), scaled(c.after)) for name, c in parts.items()}, 4.0)
    assert (whole is None) == (other is None)
    if whole is not None and other is not None:
        assert other.mix.value == pytest.approx(whole.mix.value, abs=1e-6)
        assert other.within.value == pytest.approx(whole.within.value, abs=1e-6)


def test_a_group_that_comes_or_goes_is_mix() -> None:
    parts = {
        "old": Comparison(before=window(100.0, [80.0])),
        "both": Comparison(window(100.0, [50.0]), window(100.0, [50.0])),
        "new": Comparison(after=window(100.0, [20.0])),
    }
    result = found(parts)
    assert result.within.value == pytest.approx(0.0)
    assert result.mix.value == pytest.approx(-0.3)


def chains_of(lengths: dict[str, float], ratio: float = 1.0) -> dict[str, tuple[float, ...]]:
    """Chains of three n-gram tokens whose acceptance length is the given one."""
    return {name: ((length - 1.0) * ratio / 1.75, 0.75 / 1.0, 0.0) for name, length in lengths.items()}


# Acceptance lengths of an n-gram draft on four kinds of traffic, and the published split of the changes.
LENGTHS = {"math": 1.17, "news": 1.30, "chat": 1.34, "code": 1.82}


@pytest.mark.parametrize(
    ("ratio", "shares", "mix", "within"),
    [
        (1.0, (0.3125, 0.3125, 0.3125, 0.0625), -0.103, 0.001),
        (0.82, (0.25, 0.25, 0.25, 0.25), 0.0, -0.074),
        (0.82, (0.3125, 0.3125, 0.3125, 0.0625), -0.094, -0.062),
    ],
)
def test_published_numbers(ratio: float, shares: tuple[float, ...], mix: float, within: float) -> None:
    parts = {}
    for (name, length), share in zip(LENGTHS.items(), shares, strict=True):
        old, new = 1e6 * 0.25, 1e6 * share
        mean = length - 1.0
        parts[name] = Comparison(
            window(old, accepted_tokens=old * mean), window(new, accepted_tokens=new * mean * ratio)
        )
    result = found(parts, 30.0)
    assert result.mix.value == pytest.approx(mix, abs=0.006)
    assert result.within.value == pytest.approx(within, abs=0.007)
    assert result.within.real(result.length) == (ratio < 1.0)
    assert result.mix.real(result.length) == (shares[0] != 0.25)


def test_errors_are_those_of_repeated_traffic() -> None:
    rng = np.random.default_rng(5)
    drafts = {"code": (8_000, 4_000), "chat": (8_000, 12_000)}
    chains = {"code": (CODE, times(CODE, 0.95)), "chat": (CHAT, times(CHAT, 0.95))}
    results = [found(groups(rng, chains, drafts), 6.0) for _ in range(120)]
    spread = float(np.std([result.within.value for result in results]))
    told = float(np.mean([result.within.error for result in results]))
    assert 0.8 * spread < told < 2.5 * spread
