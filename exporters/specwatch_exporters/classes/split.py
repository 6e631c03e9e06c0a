"""Held-out split: part of every class is kept away from training, whole groups at a time."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specwatch_exporters.classes.examples import Example

MIN_EXAMPLES = 20
"""Different prompts that a class needs; with fewer, its held-out figures would say nothing."""


class SplitError(ValueError):
    """A class cannot be trained and tested; the message is one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class Split:
    """Two disjoint parts; each has every class."""

    train: tuple[Example, ...]
    test: tuple[Example, ...]


def split(examples: Sequence[Example], test_share: float, seed: int) -> Split:
    """Divide examples, class by class.

    Groups (the text itself where no group is given) are put into an order that depends on the seed and the group
    alone, and are taken for the test until it holds `test_share` of the class. So the order of the file does not
    matter, and an added line moves few others.

    Args:
        examples: different prompts with their classes.
        test_share: part held out, above 0 and at most 0.5.
        seed: another seed gives another split.

    Raises:
        SplitError: fewer than two classes, or a class with too few examples or a single group.
    """
    by_class = _by_class(examples)
    if len(by_class) < 2:
        raise SplitError("only one class in it; training needs two or more")
    train: list[Example] = []
    test: list[Example] = []
    for name, members in sorted(by_class.items()):
        if len(members) < MIN_EXAMPLES:
            raise SplitError(
                f"class '{name}' has {len(members)} different prompts; {MIN_EXAMPLES} are needed: "
                "add some or merge it into another class"
            )
        groups = _groups(members, seed)
        if len(groups) < 2:
            raise SplitError(f"all prompts of class '{name}' are in one group; two are needed, one to test on")
        held = 0
        for position, group in enumerate(groups):
            wanted = held < test_share * len(members) and position < len(groups) - 1
            held += len(group) if wanted else 0
            (test if wanted else train).extend(group)
    return Split(tuple(train), tuple(test))


def _by_class(examples: Iterable[Example]) -> dict[str, list[Example]]:
    found: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        found[example.name].append(example)
    return found


def _groups(members: Iterable[Example], seed: int) -> list[list[Example]]:
    """Groups of one class in their seeded order, each in the order of its texts."""
    found: dict[bytes, list[Example]] = defaultdict(list)
    for example in members:
        found[_digest(seed, example.text if example.group is None else f"group {example.group}")].append(example)
    return [sorted(found[key], key=lambda example: example.text) for key in sorted(found)]


def _digest(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed} {text}".encode("utf-8", "surrogatepass")).digest()
