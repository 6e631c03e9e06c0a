"""What an engine's own counters say about a cell, from its page before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp

from specwatch_exporters.inspection import Content, InspectionError, inspect

_TIMEOUT = 20.0
_SURE = 4.0
_MEAN_APART = 0.05


@dataclass(frozen=True, slots=True)
class PageCounts:
    """Drafts of the measured time.

    Attributes:
        drafts: draft steps.
        per_position: share of them that accepted each position.
        length: mean acceptance length, bonus included.
    """

    drafts: float
    per_position: tuple[float | None, ...]
    length: float


async def fetch_page(url: str) -> str | None:
    """The engine's metrics page, None when it has none."""
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(f"{url}/metrics") as response:
            return await response.text() if response.status == 200 else None
    except (aiohttp.ClientError, TimeoutError, OSError):
        return None


def counts_between(before: str | None, after: str | None) -> PageCounts | None:
    """Drafts between two pages; None without both, without drafts, or with more than one model."""
    if before is None or after is None:
        return None
    try:
        report = inspect(Content("after", after.encode()), Content("before", before.encode()))
    except InspectionError:
        return None
    if len(report.models) != 1:
        return None
    tally = report.models[0].tally
    if not tally.drafts or tally.mean_acceptance_length is None:
        return None
    return PageCounts(tally.drafts, tally.per_position, tally.mean_acceptance_length)


def off_the_set_rates(counts: PageCounts | None, rates: Sequence[float]) -> str | None:
    """One line when the engine's counts do not fit the synthetic acceptance that was set, else None.

    Steps are independent draws there, so a share has the standard error sqrt(p (1 - p) / drafts); four of them, and
    0.01 for what was in flight between the two pages. An engine that counts no positions (SGLang) is judged by its
    mean length: it draws one whole number beside the mean for all requests of a step, and counts at their end.
    """
    if counts is None:
        return "the engine's page does not tell whether the synthetic acceptance was applied"
    asked = 1.0 + sum(rates)
    if not counts.per_position and abs(counts.length / asked - 1.0) > _MEAN_APART:
        return f"a mean length of {counts.length:.2f} was counted, and {asked:.2f} was set"
    for position, (seen, rate) in enumerate(zip(counts.per_position, rates, strict=False), start=1):
        if seen is None:
            continue
        if abs(seen - rate) > _SURE * (rate * (1.0 - rate) / counts.drafts) ** 0.5 + 0.01:
            return f"position {position} was accepted in {seen:.3f} of the steps, and {rate:.3f} was set"
    return None
