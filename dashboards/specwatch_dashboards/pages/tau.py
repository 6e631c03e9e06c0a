"""Queries of acceptance that more than one dashboard draws."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.promql import MODEL, MODELS, largest, ratio, smallest, total
from specwatch_dashboards.source import Source

# Counts of two definitions are never added up: divide within each, then show the larger.
_DEFINED: Final = f"{MODEL}, definition"
ACCEPTED: Final = "specwatch:accepted_tokens:rate5m"
DRAFTS: Final = "specwatch:drafts:rate5m"
DRAFTED: Final = "specwatch:draft_tokens:rate5m"
AT_POSITION: Final = "specwatch:accepted_tokens_per_position:rate5m"
DRAFTED_AT: Final = "specwatch:draft_tokens_per_position:rate5m"

LENGTH: Final = f"1 + max by ({MODEL}) ({ratio(total(ACCEPTED, _DEFINED), total(DRAFTS, _DEFINED))})"
RATE: Final = f"max by ({MODEL}) ({ratio(total(ACCEPTED, _DEFINED), total(DRAFTED, _DEFINED))})"
BASELINE: Final = largest("specwatch_drift_baseline_length_tokens", MODEL, f'traffic_class="", {MODELS}')
SCORE: Final = largest("specwatch:drift_score:max", MODEL, f'traffic_class="", {MODELS}')
OVER: Final = smallest("specwatch_drift_over_ratio", MODEL, f'traffic_class="", {MODELS}')
VERDICT: Final = largest("specwatch:drift_state:worst", MODEL, f'traffic_class="", {MODELS}')
SPEEDUP: Final = largest("specwatch:payoff_speedup:median")

_BY_POSITION: Final = f"{_DEFINED}, position"
_UNDER_ALL: Final = f"on ({_DEFINED}) group_left ()"


def counted(series: str) -> str:
    """A recorded rate per model, of one definition where two sources count the same engine."""
    return f"max by ({MODEL}) ({total(series, _DEFINED)})"


def at_positions(source: Source, offset: str = "") -> str:
    """Unconditional acceptance by position: of the drafts that proposed it where the engine tells, else of all."""
    where = f"{{{MODELS}}}{' offset ' + offset if offset else ''}"
    kept = f"sum by ({_BY_POSITION}) ({AT_POSITION}{where})"
    of_all = ratio(kept, f"sum by ({_DEFINED}) ({DRAFTS}{where})", _UNDER_ALL)
    if source is Source.ENGINE:
        return f"max by ({MODEL}, position) ({of_all})"
    of_those = ratio(kept, f"sum by ({_BY_POSITION}) ({DRAFTED_AT}{where})")
    return f"max by ({MODEL}, position) (\n  {of_those}\n  or on ({_BY_POSITION}) {of_all}\n)"


def conditional(position: int) -> str:
    """Acceptance of a position among drafts that kept the one before it."""
    kept = total(AT_POSITION, _DEFINED, f'position="{position}", {MODELS}')
    before = (
        total(AT_POSITION, _DEFINED, f'position="{position - 1}", {MODELS}')
        if position
        else total(DRAFTS, _DEFINED)
    )
    return f"max by ({MODEL}) ({ratio(kept, before)})"
