"""Speculative counts of one model, refused where they contradict each other."""

from __future__ import annotations

from itertools import pairwise

from specwatch_exporters import catalog
from specwatch_exporters.acceptance import Tally
from specwatch_exporters.counts import Counts
from specwatch_exporters.page import Page

# A page is written while the engine counts; its parts may differ by a step.
_SLACK = 0.01
_V0 = "vllm-v0-any-position"


def tally(counts: Counts) -> Tally:
    """Counts as they are.

    A draft has at least one token, so as many tokens as drafts means one token each: then position 0 is known
    even if the page has no positions. Each accepted token is counted once at its position, so an excerpt that has
    all positions and no total has one all the same; unless positions are counted over other drafts.
    """
    positions = counts.by_position(catalog.ACCEPTED_PER_POSITION.name)
    drafts, tokens = counts.total(catalog.DRAFTS.name), counts.total(catalog.DRAFT_TOKENS.name)
    accepted = counts.total(catalog.ACCEPTED_TOKENS.name)
    if not positions and drafts and drafts == tokens and accepted is not None:
        positions = (accepted,)
    drafted = counts.by_position(catalog.DRAFTED_PER_POSITION.name)
    if accepted is None and positions and not drafted and None not in positions:
        accepted = sum(value for value in positions if value is not None)
    return Tally(
        drafts=drafts,
        draft_tokens=tokens,
        accepted_tokens=accepted,
        accepted_per_position=positions,
        position_drafts=drafted[0] if drafts is None and drafted else None,
        drafted_per_position=drafted,
    )


def checked(page: Page, model: str, own: Tally) -> Tally:
    """The counts without those that cannot be: more kept than proposed, a later position kept more often."""
    positions = own.accepted_per_position
    if not _falling(own):
        page.note("inconsistent_counts", f"{model}: a later position is accepted more often than an earlier one.")
        positions = ()
    accepted, tokens = own.accepted_tokens, own.draft_tokens
    if accepted is not None and tokens is not None and accepted > tokens and page.definition != _V0:
        page.note("inconsistent_counts", f"{model}: {accepted:g} accepted of {tokens:g} draft tokens cannot be.")
        return Tally(drafts=own.drafts, accepted_per_position=positions)
    _check_sum(page, model, own)
    _check_depth(page, model, own)
    if positions is own.accepted_per_position:
        return own
    return Tally(own.drafts, tokens, accepted)


def _falling(own: Tally) -> bool:
    base = own.drafts if own.position_drafts is None else own.position_drafts
    chain = [value for value in (base, *own.accepted_per_position) if value is not None]
    return all(later <= earlier * (1 + _SLACK) + 1 for earlier, later in pairwise(chain))


def _check_sum(page: Page, model: str, own: Tally) -> None:
    """Each accepted token is counted once in total and once at its position."""
    if own.drafts is None or own.accepted_tokens is None or None in own.accepted_per_position:
        return
    total = sum(value for value in own.accepted_per_position if value is not None)
    if own.accepted_per_position and abs(total - own.accepted_tokens) > _SLACK * own.accepted_tokens + 16:
        page.note(
            "inconsistent_counts",
            f"{model}: the positions add up to {total:g}, but {own.accepted_tokens:g} tokens were accepted.",
        )


def _check_depth(page: Page, model: str, own: Tally) -> None:
    """Say so when drafts are often shorter than K: the later positions are then biased low."""
    depth = page.speculative_tokens.get(model)
    if not depth or not own.drafts or own.draft_tokens is None or own.drafted_per_position:
        return
    mean = own.draft_tokens / own.drafts
    if mean < depth * (1 - 2 * _SLACK):
        page.note(
            "variable_depth",
            f"{model}: drafts have {mean:.2f} tokens on average, K is {depth}; acceptance of later positions reads "
            "low, because it is taken over all drafts.",
        )
