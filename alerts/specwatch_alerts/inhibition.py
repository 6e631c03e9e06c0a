"""Which alert mutes which: the inhibition rules of Alertmanager.

Two traps. Alertmanager takes a missing label for an empty one, so `equal: [model]` matches two alerts that both
lack it, and one would mute the whole fleet: each label that must be equal is asked to be there, on both sides. And
an alert that is both source and target of a rule is not muted by others of its kind, so no rule matches an alert
twice. `cluster` may be missing: where several clusters share an Alertmanager it keeps them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

OURS: Final = 'alertname=~"Specwatch.+"'
"""Matches every alert of specwatch, and nobody else's."""

FALLBACK: Final = "SpecwatchFallbackActive"
MUTED_BY_FALLBACK: Final = (
    "SpecwatchAcceptanceCollapsed",
    "SpecwatchDraftDrifted",
    "SpecwatchDraftDriftedNotPaying",
    "SpecwatchEngineGateLatched",
    "SpecwatchSpeculationNoData",
    "SpecwatchSpeculationSlower",
    "SpecwatchTTFTBurn",
    "SpecwatchTokenLatencyBurn",
    "SpecwatchZeroDepthTax",
)
"""Acceptance and latency: what a fallback explains. Queue wait, errors and KV pressure still call: users wait."""

SCRAPE: Final = "SpecwatchScrapeFailing"
HEARD_WITHOUT_SCRAPE: Final = ("SpecwatchEngineRestartLoop", "SpecwatchOldestWaitingTooOld")
"""They say why a scrape fails, and may come from another process of the pod: a ticket must not mute them."""


def inhibit_rules(page: str = "page", ticket: str = "ticket") -> list[dict[str, Any]]:
    """The rules, as Alertmanager's `inhibit_rules`.

    Args:
        page: value of `severity` for what wakes somebody.
        ticket: value of `severity` for what waits until morning.
    """
    scrape = [f'alertname="{SCRAPE}"']
    of_pod = [OURS, f'alertname!~"{"|".join((SCRAPE, *HEARD_WITHOUT_SCRAPE))}"']
    explained = [f'alertname=~"{"|".join(MUTED_BY_FALLBACK)}"']
    return [
        _rule([f'alertname="{FALLBACK}"'], explained, ("namespace", "model")),
        _rule(scrape, of_pod, ("namespace", "pod")),
        _rule(scrape, of_pod, ("instance",)),
        _rule(
            [OURS, f'severity="{page}"'],
            [OURS, f'severity="{ticket}"'],
            ("alertname", "namespace", "model"),
            present=("namespace", "model"),
        ),
    ]


def _rule(
    source: Sequence[str], target: Sequence[str], equal: Sequence[str], present: Sequence[str] | None = None
) -> dict[str, Any]:
    there = [f'{label}!=""' for label in (equal if present is None else present)]
    return {
        "source_matchers": [*source, *there],
        "target_matchers": [*target, *there],
        "equal": ["cluster", *equal],
    }
