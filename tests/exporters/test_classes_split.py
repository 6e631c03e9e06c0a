from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.classes.examples import Example
from specwatch_exporters.classes.split import MIN_EXAMPLES, SplitError, split


def of(name: str, count: int, group: str | None = None) -> list[Example]:
    return [Example(f"{name} {number}", name, group=group) for number in range(count)]


@given(st.integers(20, 80), st.integers(20, 80), st.floats(0.01, 0.5), st.integers(0, 99))
def test_parts_are_disjoint_complete_and_stratified(left: int, right: int, share: float, seed: int) -> None:
    examples = of("code", left) + of("chat", right)
    parts = split(examples, share, seed)
    assert sorted(parts.train + parts.test, key=repr) == sorted(examples, key=repr)
    for name, count in (("code", left), ("chat", right)):
        held = sum(example.name == name for example in parts.test)
        assert share * count <= held < share * count + 1


@given(st.integers(0, 99))
def test_the_order_of_the_file_does_not_matter(seed: int) -> None:
    examples = of("code", 40) + of("chat", 30)
    shuffled = examples.copy()
    Random(seed).shuffle(shuffled)
    assert split(examples, 0.2, seed) == split(shuffled, 0.2, seed)


def test_another_seed_gives_another_split() -> None:
    examples = of("code", 40) + of("chat", 30)
    assert split(examples, 0.2, 0) != split(examples, 0.2, 1)


@given(st.lists(st.integers(0, 9), min_size=40, max_size=80), st.integers(0, 9))
def test_a_group_is_never_on_both_sides(groups: list[int], seed: int) -> None:
    grouped = [Example(f"t{number}", "code", group=f"g{group}") for number, group in enumerate(groups)]
    grouped.append(Example("one more", "code", group="another"))
    parts = split(grouped + of("chat", 20), 0.3, seed)
    sides = [{example.group for example in part if example.name == "code"} for part in (parts.train, parts.test)]
    assert sides[0].isdisjoint(sides[1])
    assert all(sides)


@pytest.mark.parametrize(
    ("examples", "words"),
    [
        (of("code", 50), "only one class"),
        (of("code", 50) + of("chat", MIN_EXAMPLES - 1), "class 'chat' has 19 different prompts; 20 are needed"),
        (of("code", 50) + of("chat", 50, group="g"), "all prompts of class 'chat' are in one group"),
    ],
)
def test_what_cannot_be_split_is_refused_with_a_reason(examples: list[Example], words: str) -> None:
    with pytest.raises(SplitError, match=words):
        split(examples, 0.2, 0)
