"""Which groups fell and which did not: the worst group sets the size of fall that the others are tested against.

For every group two explanations are compared: it fell by 0.6 times as much as the worst one, or not at all. With
its change x, standard error s and the expected fall e, the log-likelihood ratio is e (2 x - e) / (2 s^2); beyond 2
nats on either side the group is judged, between them it stays unclear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from specwatch_detectors.explain.comparison import Comparison, mean
from specwatch_detectors.window import Window

_PART_OF_WORST: Final = 0.6
_DECIDED: Final = 2.0
_SURE: Final = 3.0
_LEAST_FALL: Final = 0.01
_FLAT: Final = 0.03


@dataclass(frozen=True, slots=True)
class GroupChange:
    """One group's relative change of accepted tokens per draft, with its standard error.

    Attributes:
        name: of the group.
        relative: change over the mean before, -0.1 for a tenth less.
        error: its standard error.
        drafts: after.
    """

    name: str
    relative: float
    error: float
    drafts: float


@dataclass(frozen=True, slots=True)
class GroupChanges:
    """All groups of one dimension, judged; each group in one of the three, in order of name.

    Attributes:
        fell: clearly worse.
        flat: clearly not.
        unclear: too few drafts to say, or drafts on one side only.
    """

    fell: tuple[GroupChange, ...] = ()
    flat: tuple[GroupChange, ...] = ()
    unclear: tuple[str, ...] = ()

    @property
    def decided(self) -> bool:
        """There is a group that fell, and another one that is judged."""
        return bool(self.fell) and len(self.fell) + len(self.flat) > 1

    @property
    def words(self) -> str:
        """The groups with their changes, for a person."""
        listed = [f"{group.name} {group.relative:+.1%}" for group in (*self.fell, *self.flat)]
        unclear = [f"{name} unclear" for name in self.unclear]
        shown = (listed + unclear)[:6]
        rest = len(listed) + len(unclear) - len(shown)
        return ", ".join(shown) + (f" and {rest} more" if rest else "")


def judge(
    groups: Mapping[str, Comparison],
    design: float,
    designs: Mapping[str, float] | None = None,
    *,
    reference: Window | None = None,
) -> GroupChanges:
    """Judge the groups of one dimension.

    Args:
        groups: by name.
        design: design effect where `designs` has none.
        designs: by group.
        reference: stands for the time before of a group that is new (a pod after a rollout); None where groups
            serve different traffic.
    """
    own = {} if designs is None else designs
    found = {}
    for name, pair in sorted(groups.items()):
        whole = pair if pair.both or reference is None else Comparison(reference, pair.after)
        change = _change(name, whole, own.get(name, design))
        if change is not None:
            found[name] = change
    unclear = tuple(name for name, pair in sorted(groups.items()) if name not in found and pair.after.drafts > 0.0)
    return _judged(found, unclear)


def _change(name: str, pair: Comparison, design: float) -> GroupChange | None:
    old, relative = mean(pair.before), pair.relative
    if old is None or relative is None:
        return None
    return GroupChange(name, relative, pair.error(design) / old, pair.after.drafts)


def _judged(found: Mapping[str, GroupChange], unclear: tuple[str, ...]) -> GroupChanges:
    worst = min(found.values(), key=lambda group: group.relative / group.error, default=None)
    if worst is None:
        return GroupChanges(unclear=unclear)
    if worst.relative > -_SURE * worst.error or worst.relative > -_LEAST_FALL:
        flat = tuple(group for group in found.values() if group.relative - 2.0 * group.error > -_FLAT)
        names = {group.name for group in flat}
        return GroupChanges((), flat, (*unclear, *(name for name in found if name not in names)))
    expected = _PART_OF_WORST * worst.relative
    fell: list[GroupChange] = []
    level: list[GroupChange] = []
    open_ = list(unclear)
    for group in found.values():
        ratio = expected * (2.0 * group.relative - expected) / (2.0 * group.error**2)
        if ratio >= _DECIDED:
            fell.append(group)
        elif ratio <= -_DECIDED:
            level.append(group)
        else:
            open_.append(group.name)
    return GroupChanges(tuple(fell), tuple(level), tuple(open_))
