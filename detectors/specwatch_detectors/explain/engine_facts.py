"""Facts about the draft and the engine: shape over positions, depth, step time, batch, uptime."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from specwatch_detectors.explain.comparison import mean, mean_variance
from specwatch_detectors.explain.event import EventKind
from specwatch_detectors.explain.evidence import Dimension
from specwatch_detectors.explain.fact import Fact, lacking, no, undecided, yes
from specwatch_detectors.explain.picture import Picture
from specwatch_detectors.explain.shape import Shape, ShapeKind

_NOTHING: Final = -0.9
_DEPTH_MOVED: Final = 0.05
_COST_MOVED: Final = 1.05
_COST_SAME: Final = 1.02
_BATCH_RELATED: Final = -0.4
_BATCH_UNRELATED: Final = -0.2
_LEAST_PODS: Final = 4


def shaped(*kinds: ShapeKind) -> Callable[[Picture], Fact]:
    """Make the fact "the positions have one of these shapes"."""

    def find(picture: Picture) -> Fact:
        found = picture.shape
        if found.kind is ShapeKind.UNKNOWN:
            if not picture.evidence.total.before.accepted or not picture.evidence.total.after.accepted:
                return lacking("acceptance by position")
            return undecided("too few drafts at each position, or drafts of different depths")
        return Fact(found.kind in kinds, shape_words(found))

    return find


def nothing_accepted(picture: Picture) -> Fact:
    """Hardly any draft token is accepted any more; told from the total where there are no positions."""
    fact = shaped(ShapeKind.ALL_ZERO)(picture)
    relative = picture.evidence.total.relative
    if fact.holds is None and relative is not None and relative < _NOTHING:
        return yes(f"accepted tokens per draft changed by {relative:+.1%}")
    return fact


def shape_words(shape: Shape) -> str:
    """The shape with its numbers, for a person."""
    ratios = " ".join(f"{math.exp(row.value):.2f}" for row in shape.ratios)
    return f"{shape.kind} (conditional acceptance by position, after over before: {ratios})"


def conditionals_flat(picture: Picture) -> Fact:
    """No position accepts less than before: then fewer tokens were drafted, or they are counted otherwise."""
    fact = shaped(ShapeKind.NO_CHANGE)(picture)
    split = picture.splits.get(Dimension.CLASS)
    return undecided(fact.words) if fact.holds and split is not None and split.mix.real(split.length) else fact


def depth_fell(picture: Picture) -> Fact:
    """Fewer tokens are drafted per draft than before."""
    depth = picture.evidence.depth
    if depth is not None and min(depth) > 0.0:
        words = f"draft tokens per draft {depth[0]:.2f} → {depth[1]:.2f}"
        return Fact(depth[1] < (1.0 - _DEPTH_MOVED) * depth[0], words)
    if picture.near is not None and any(event.kind is EventKind.DEPTH for event in picture.near):
        return yes("the number of draft tokens (K) was changed near the fall")
    total = picture.evidence.total
    if total.after.censored and not total.before.censored:
        return yes("since the fall drafts are of different depths")
    return lacking("draft tokens per draft")


def adapts(picture: Picture) -> Fact:
    """The engine changes the number of draft tokens by itself."""
    adaptive = picture.evidence.adaptive
    if adaptive is None:
        return lacking("whether the engine adapts its depth by itself")
    words = "the engine adapts the number of draft tokens by itself" if adaptive else "the depth is fixed"
    return Fact(adaptive, words)


def not_speculating(picture: Picture) -> Fact:
    """The engine has turned drafting off; SGLang still counts each decode step as a verification."""
    speculating = picture.evidence.speculating
    if speculating is None and picture.evidence.engine not in {"", "sglang"}:
        return no(f"{picture.evidence.engine} counts only steps that had a draft")
    if speculating is None:
        return lacking("whether the engine drafts at present (SGLang: spec_num_steps)")
    words = "the engine drafts" if speculating else "the engine has turned drafting off (spec_num_steps is 0)"
    return Fact(not speculating, words)


def step_cost_rose(picture: Picture) -> Fact:
    """A step with speculation costs more than before."""
    cost = picture.evidence.step_cost
    if cost is None or min(cost) <= 0.0:
        return lacking("step times")
    ratio = cost[1] / cost[0]
    words = f"time per step {ratio - 1.0:+.1%}"
    return Fact(True if ratio >= _COST_MOVED else False if ratio <= _COST_SAME else None, words)


def follows_batch(picture: Picture) -> Fact:
    """Acceptance falls when more requests run, which it should not."""
    value = picture.evidence.batch_correlation
    if value is None:
        return lacking("how acceptance goes with the batch size")
    words = f"correlation of acceptance length with running requests {value:+.2f}"
    return Fact(True if value <= _BATCH_RELATED else False if value >= _BATCH_UNRELATED else None, words)


def older_pods_worse(picture: Picture) -> Fact:
    """Pods that have run longer accept less; a straight line through accepted tokens per draft over uptime."""
    evidence = picture.evidence
    pods = evidence.groups.get(Dimension.POD, {})
    rows = [
        (hours, value, 1.0 / mean_variance(pair.after, evidence.design))
        for name, pair in sorted(pods.items())
        if (hours := (evidence.uptimes or {}).get(name)) is not None and (value := mean(pair.after)) is not None
    ]
    if len(rows) < _LEAST_PODS:
        return lacking("uptimes of four pods or more")
    weight = sum(w for _, _, w in rows)
    age = sum(w * x for x, _, w in rows) / weight
    height = sum(w * y for _, y, w in rows) / weight
    width = sum(w * (x - age) ** 2 for x, _, w in rows)
    if width <= 0.0:
        return undecided("all pods are equally old")
    slope = sum(w * (x - age) * (y - height) for x, y, w in rows) / width
    errors = slope * math.sqrt(width)
    words = (
        f"accepted tokens per draft change by {slope * 3600.0:+.4f} per hour of a pod's uptime ({errors:+.1f} se)"
    )
    return Fact(True if errors <= -3.0 else False if errors >= -1.0 else None, words)
