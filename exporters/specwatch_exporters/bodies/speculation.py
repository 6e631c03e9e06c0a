"""What one response says about speculation, checked for contradictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from specwatch_exporters.acceptance import Tally, from_histogram
from specwatch_exporters.bodies.tally_sum import TallySum
from specwatch_exporters.notices import Notice

MAX_DEPTH = 1024


@dataclass(frozen=True, slots=True)
class Speculation:
    """Speculative counts of one request.

    Attributes:
        tally: counts; a count that another one contradicts is None, and so are the ratios that need it.
        definition: tag of how the engine counts.
        histogram: index j holds the verify steps that accepted exactly j tokens; empty if not told.
        per_step_accepted: accepted tokens of each verify step, in order; empty if not told.
        per_step_drafted: proposed tokens of each verify step; empty if not told.
        speculative_tokens: K, or None.
        length: mean acceptance length as reported, where counts do not give it.
        rate: acceptance rate in specwatch's definition, likewise.
        notices: what the user must know.
    """

    tally: Tally
    definition: str
    histogram: tuple[int, ...] = ()
    per_step_accepted: tuple[int, ...] = ()
    per_step_drafted: tuple[int, ...] = ()
    speculative_tokens: int | None = None
    length: float | None = None
    rate: float | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def drafted_per_position(self) -> tuple[int, ...]:
        """Steps whose draft reached position j: the true denominators; empty without per-step counts."""
        deepest = min(max(self.per_step_drafted, default=0), MAX_DEPTH)
        return tuple(sum(drafted > j for drafted in self.per_step_drafted) for j in range(deepest))


@dataclass(frozen=True, slots=True)
class Claims:
    """Counts as an engine sent them, before any check.

    Attributes:
        drafts: verify steps.
        draft_tokens: proposed tokens.
        accepted: accepted tokens, bonus excluded.
        depth: K.
        histogram: see `Speculation`.
        per_step_accepted: see `Speculation`.
        per_step_drafted: see `Speculation`.
    """

    drafts: int | None = None
    draft_tokens: int | None = None
    accepted: int | None = None
    depth: int | None = None
    histogram: tuple[int, ...] = ()
    per_step_accepted: tuple[int, ...] = ()
    per_step_drafted: tuple[int, ...] = ()


def check(claims: Claims) -> tuple[Tally, tuple[Notice, ...]]:
    """Keep the counts that nothing contradicts.

    Returns:
        The tally, with None for every count in doubt, and one notice that lists the contradictions.
    """
    doubts = [(field, text) for rule in _RULES for field, text in rule(claims)]
    doubted = {field for field, _ in doubts}
    shape_is_sound = claims.drafts is not None and not doubted & {"drafts", "accepted", "histogram"}
    steps = from_histogram(claims.histogram) if claims.histogram and shape_is_sound else ()
    tally = Tally(
        drafts=None if "drafts" in doubted else _real(claims.drafts),
        draft_tokens=None if "draft_tokens" in doubted else _real(claims.draft_tokens),
        accepted_tokens=None if "accepted" in doubted else _real(claims.accepted),
        accepted_per_position=steps,
    )
    if not doubts:
        return tally, ()
    text = "; ".join(dict.fromkeys(text for _, text in doubts))
    return tally, (Notice("inconsistent_counts", f"Counts contradict each other: {text}."),)


def combine(parts: Sequence[Speculation]) -> Speculation:
    """Add the records of several choices; per-step lists are dropped, for they have no common order."""
    if len(parts) == 1:
        return parts[0]
    depths = {part.speculative_tokens for part in parts}
    sums = TallySum()
    for part in parts:
        sums.add(part.tally, part.speculative_tokens)
    histograms = zip_longest(*(part.histogram for part in parts), fillvalue=0)
    return Speculation(
        sums.total() if not sums.left_out else Tally(),
        parts[0].definition,
        histogram=tuple(map(sum, histograms)),
        speculative_tokens=depths.pop() if len(depths) == 1 else None,
        notices=tuple(dict.fromkeys(notice for part in parts for notice in part.notices)),
    )


def _real(value: int | None) -> float | None:
    return None if value is None else float(value)


_Doubts = list[tuple[str, str]]


def _histogram_steps(claims: Claims) -> _Doubts:
    total = sum(claims.histogram)
    if not claims.histogram or claims.drafts is None or total == claims.drafts:
        return []
    return [("drafts", f"the histogram holds {total} steps, the record {claims.drafts}")]


def _histogram_accepted(claims: Claims) -> _Doubts:
    total = sum(index * steps for index, steps in enumerate(claims.histogram))
    if not claims.histogram or claims.accepted is None or total == claims.accepted:
        return []
    return [("accepted", f"the histogram holds {total} accepted tokens, the record {claims.accepted}")]


def _histogram_depth(claims: Claims) -> _Doubts:
    deepest = max((index for index, steps in enumerate(claims.histogram) if steps), default=0)
    if claims.depth is None or deepest <= claims.depth:
        return []
    return [("histogram", f"a step accepted {deepest} tokens of {claims.depth}")]


def _accepted_of_drafted(claims: Claims) -> _Doubts:
    if claims.accepted is None or claims.draft_tokens is None or claims.accepted <= claims.draft_tokens:
        return []
    told = sum(index * steps for index, steps in enumerate(claims.histogram))
    field = "draft_tokens" if claims.histogram and told == claims.accepted else "accepted"
    return [(field, f"{claims.accepted} accepted of {claims.draft_tokens} draft tokens")]


def _drafted_of_steps(claims: Claims) -> _Doubts:
    if claims.drafts is None or claims.draft_tokens is None or claims.depth is None:
        return []
    if claims.draft_tokens <= claims.drafts * claims.depth:
        return []
    return [("draft_tokens", f"{claims.draft_tokens} draft tokens in {claims.drafts} steps of {claims.depth}")]


def _accepted_of_steps(claims: Claims) -> _Doubts:
    if claims.drafts is None or claims.accepted is None or claims.depth is None:
        return []
    if claims.accepted <= claims.drafts * claims.depth:
        return []
    return [("accepted", f"{claims.accepted} accepted in {claims.drafts} steps of {claims.depth}")]


def _per_step(claims: Claims) -> _Doubts:
    doubts: _Doubts = []
    taken, proposed = claims.per_step_accepted, claims.per_step_drafted
    for steps, label in ((taken, "per_step_accepted"), (proposed, "per_step_drafted")):
        if steps and claims.drafts is not None and len(steps) != claims.drafts:
            doubts.append(("drafts", f"{label} lists {len(steps)} steps, the record has {claims.drafts}"))
    if taken and claims.accepted is not None and sum(taken) != claims.accepted:
        doubts.append(("accepted", f"per_step_accepted sums to {sum(taken)}, the record has {claims.accepted}"))
    if proposed and claims.draft_tokens is not None and sum(proposed) != claims.draft_tokens:
        doubts.append(
            ("draft_tokens", f"per_step_drafted sums to {sum(proposed)}, the record has {claims.draft_tokens}")
        )
    if _any_over(taken, proposed):
        doubts.append(("accepted", "a step accepted more tokens than it drafted"))
    return doubts


def _any_over(taken: Sequence[int], proposed: Sequence[int]) -> bool:
    return any(kept > drafted for kept, drafted in zip(taken, proposed, strict=False))


_RULES: tuple[Callable[[Claims], _Doubts], ...] = (
    _histogram_steps,
    _histogram_accepted,
    _histogram_depth,
    _accepted_of_drafted,
    _drafted_of_steps,
    _accepted_of_steps,
    _per_step,
)
