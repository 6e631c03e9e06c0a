"""Facts about traffic: did acceptance fall, by the mix or within groups, and in which groups."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from specwatch_detectors.explain.comparison import mean
from specwatch_detectors.explain.evidence import WORDS, Dimension
from specwatch_detectors.explain.fact import Fact, lacking, no, undecided, yes
from specwatch_detectors.explain.group_changes import GroupChange
from specwatch_detectors.explain.kitagawa import Split
from specwatch_detectors.explain.picture import Picture

_SIDE_NATS: Final = 3.0
_SMALLEST_FALL: Final = 0.02
_LARGE: Final = -0.3
_SMALL: Final = -0.15
_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmM]?)")
_PLAIN: Final = {
    Dimension.TEMPERATURE: frozenset({"0", "0.0", "greedy", "t=0", "no"}),
    Dimension.ADAPTER: frozenset({"", "none", "base", "no"}),
    Dimension.LANGUAGE: frozenset({"en", "english"}),
    Dimension.FORMAT: frozenset({"text", "free", "none", ""}),
    Dimension.ROLE: frozenset({"both", "mixed", "aggregated", ""}),
}
"""Groups that a cause leaves alone: greedy sampling, no adapter, English, free text, no disaggregation."""


def acceptance_fell(picture: Picture) -> Fact:
    """The total, or the classes within, accept less than before."""
    evidence, total = picture.evidence, picture.evidence.total
    change, old = total.change, mean(total.before)
    if change is None or old is None:
        return lacking("drafts before or after")
    error, length = total.error(evidence.design), 1.0 + old
    words = f"acceptance length {length:.2f} → {length + change:.2f} (± {error:.2f})"
    if evidence.alarmed:
        return yes(f"{words}; the detector's own test says that it fell")
    if change < -max(4.0 * error, 0.01 * length):
        return yes(words)
    split = picture.splits.get(Dimension.CLASS)
    if split is not None and split.within.real(length) and split.within.value < 0.0:
        return yes(f"{words}; inside the classes {split.within.value:+.3f}")
    if change - 2.0 * error > -_SMALLEST_FALL * length:
        return no(words)
    return undecided(f"{words}: too uncertain")


def large_fall(picture: Picture) -> Fact:
    """More than 30 % of the accepted tokens are gone."""
    relative = picture.evidence.total.relative
    return lacking("drafts on both sides") if relative is None else Fact(relative < _LARGE, _size(relative))


def small_fall(picture: Picture) -> Fact:
    """Less than 15 % of the accepted tokens are gone."""
    relative = picture.evidence.total.relative
    return lacking("drafts on both sides") if relative is None else Fact(relative > _SMALL, _size(relative))


def _size(relative: float) -> str:
    return f"accepted tokens per draft changed by {relative:+.1%}"


def within_fell(picture: Picture) -> Fact:
    """Classes accept less, whatever their shares."""
    split = picture.splits.get(Dimension.CLASS)
    if split is None:
        return lacking("traffic classes")
    if split.within.value < 0.0 and (split.within.real(split.length) or _for_within(split) >= _SIDE_NATS):
        return yes(_terms(split))
    return Fact(False if _for_within(split) <= -_SIDE_NATS else None, _terms(split))


def mix_explains(picture: Picture) -> Fact:
    """The changed shares of the classes alone account for the fall."""
    split = picture.splits.get(Dimension.CLASS)
    if split is None:
        return lacking("traffic classes")
    if split.within.value < 0.0 and split.within.real(split.length):
        return no(_terms(split))
    if _for_within(split) <= -_SIDE_NATS and split.mix.value < 0.0:
        return yes(_terms(split))
    return Fact(False if _for_within(split) >= _SIDE_NATS else None, _terms(split))


def _for_within(split: Split) -> float:
    """Nats for "all of it lies within" over "nothing of it does"."""
    change, within = split.total.value, split.within
    return change * (2.0 * within.value - change) / (2.0 * max(within.error, 1e-9) ** 2)


def _terms(split: Split) -> str:
    return (
        f"of {split.total.value:+.3f} accepted tokens per draft the mix explains {split.mix.value:+.3f}, "
        f"change inside the classes {split.within.value:+.3f} (± {split.within.error:.3f})"
    )


def every_class_fell(picture: Picture) -> Fact:
    """Every class that can be judged fell, and there are several."""
    changes = picture.changes.get(Dimension.CLASS)
    if changes is None:
        return lacking("traffic classes")
    words = f"classes: {changes.words}"
    if changes.fell and changes.flat:
        return no(words)
    judged = sum(group.drafts for group in changes.fell)
    enough = len(changes.fell) > 1 and judged >= 0.6 * picture.evidence.total.after.drafts
    return Fact(True if enough else None, words)


def canary_fell(picture: Picture) -> Fact:
    """A fixed set of prompts accepts less too."""
    canary = picture.evidence.canary
    if canary is None or canary.relative is None:
        return lacking("canary prompts")
    error = canary.error(picture.evidence.design) / (mean(canary.before) or 1.0)
    words = f"canary prompts {canary.relative:+.1%} (± {error:.1%})"
    if canary.relative < -3.0 * error:
        return yes(words)
    total = picture.evidence.total.relative or 0.0
    return Fact(False if canary.relative - 2.0 * error > 0.7 * total else None, words)


def only(dimension: Dimension, affected: Callable[[str], bool]) -> Callable[[Picture], Fact]:
    """Make the fact "in this dimension only the affected groups fell, and the others did not"."""

    def find(picture: Picture) -> Fact:
        changes = picture.changes.get(dimension)
        if changes is None:
            return lacking(WORDS[dimension])
        words = f"{WORDS[dimension]}: {changes.words}"
        if not changes.decided:
            return undecided(words)
        right = all(affected(group.name) for group in changes.fell)
        return Fact(right and _left_alone(changes.flat, affected), words)

    return find


def _left_alone(flat: tuple[GroupChange, ...], affected: Callable[[str], bool]) -> bool:
    return bool(flat) and not any(affected(group.name) for group in flat)


def special(dimension: Dimension) -> Callable[[str], bool]:
    """Groups other than the plain one: sampled, with an adapter, another language, structured, disaggregated."""
    plain = _PLAIN[dimension]
    return lambda name: name.strip().lower() not in plain


def one_group_only(dimension: Dimension) -> Callable[[Picture], Fact]:
    """Make the fact "some groups of this dimension fell and others did not"."""

    def find(picture: Picture) -> Fact:
        changes = picture.changes.get(dimension)
        if changes is None:
            return lacking(WORDS[dimension])
        words = f"{WORDS[dimension]}: {changes.words}"
        return Fact(bool(changes.fell and changes.flat) if changes.decided else None, words)

    return find


def only_end(dimension: Dimension, *, largest: bool) -> Callable[[Picture], Fact]:
    """Make the fact "the largest (or smallest) buckets fell, and those at the other end did not"."""

    def find(picture: Picture) -> Fact:
        changes = picture.changes.get(dimension)
        if changes is None:
            return lacking(WORDS[dimension])
        words = f"{WORDS[dimension]}: {changes.words}"
        if not changes.decided:
            return undecided(words)
        fell, flat = ([bucket_start(group.name) for group in side] for side in (changes.fell, changes.flat))
        if not flat:
            return no(words)
        return Fact(min(fell) > max(flat) if largest else max(fell) < min(flat), words)

    return find


def more_of(dimension: Dimension, affected: Callable[[str], bool]) -> Callable[[Picture], Fact]:
    """Make the fact "the affected groups have a larger share than before, and that alone lowers acceptance"."""

    def find(picture: Picture) -> Fact:
        split = picture.splits.get(dimension)
        if split is None:
            return lacking(WORDS[dimension])
        before, after = (
            sum(part.share_before for part in split.parts if affected(part.name)),
            sum(part.share_after for part in split.parts if affected(part.name)),
        )
        words = (
            f"share {before:.0%} → {after:.0%}; the mix of {WORDS[dimension]} explains {split.mix.value:+.3f} "
            f"of {split.total.value:+.3f} accepted tokens per draft"
        )
        most = split.mix.real(split.length) and split.mix.value < 0.5 * min(0.0, split.total.value)
        return Fact(after > before and most, words)

    return find


def longer_prompts(picture: Picture) -> Fact:
    """Prompts are longer than before, and that alone lowers acceptance."""
    split = picture.splits.get(Dimension.PROMPT_LENGTH)
    if split is None:
        return lacking(WORDS[Dimension.PROMPT_LENGTH])
    middle = sorted(bucket_start(part.name) for part in split.parts)[len(split.parts) // 2]
    return more_of(Dimension.PROMPT_LENGTH, lambda name: bucket_start(name) >= middle)(picture)


def bucket_start(name: str) -> float:
    """The lower end of a bucket from its name: 2,048 for `2k-8k`, 512 for `512`, and for `<512` a bit less."""
    found = _NUMBER.search(name)
    if found is None:
        return 0.0
    start = float(found[1]) * {"": 1.0, "k": 1024.0, "m": 1024.0**2}[found[2].lower()]
    return start * 0.5 if name.lstrip().startswith("<") else start
