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
    "SpecwatchTokenLatencyBurn",
    "SpecwatchZeroDepthTax",
)
"""Acceptance and time per token: what a fallback explains.

First token, queue wait, errors and KV pressure still call: a draft has no part in prefill, so that a fallback is
rarely why users see nothing.
"""

COLLAPSED: Final = "SpecwatchAcceptanceCollapsed"
"""Its page. Its ticket is about a few pods of many, and explains nothing of the others."""

MUTED_BY_COLLAPSE: Final = ("SpecwatchDraftDrifted", "SpecwatchDraftDriftedNotPaying", "SpecwatchSpeculationSlower")
"""What follows from a draft that is broken: one page for one broken draft."""

WAITING: Final = "SpecwatchOldestWaitingTooOld"
STUCK: Final = "SpecwatchEngineStuck"
"""A stuck engine with requests behind it fires both: one page for one pod, the one that comes first."""

SCRAPE: Final = "SpecwatchScrapeFailing"
HEARD_WITHOUT_SCRAPE: Final = ("SpecwatchEngineRestartLoop", WAITING)
"""They say why a scrape fails, and may come from another process of the pod: a ticket must not mute them."""


def inhibit_rules(page: str = "page", ticket: str = "ticket") -> list[dict[str, Any]]:
    """The rules, as Alertmanager's `inhibit_rules`.

    Args:
        page: value of `severity` for what wakes somebody.
        ticket: value of `severity` for what waits until morning.
    """
    scrape = [f'alertname="{SCRAPE}"']
    of_pod = [OURS, f'alertname!~"{"|".join((SCRAPE, *HEARD_WITHOUT_SCRAPE))}"']
    model = ("namespace", "model")
    return [
        _rule([f'alertname="{FALLBACK}"'], _one_of(MUTED_BY_FALLBACK), model),
        _rule([f'alertname="{COLLAPSED}"', f'severity="{page}"'], _one_of(MUTED_BY_COLLAPSE), model),
        _rule([f'alertname="{WAITING}"'], [f'alertname="{STUCK}"'], ("namespace", "pod")),
        _rule(scrape, of_pod, ("namespace", "pod")),
        _rule(scrape, of_pod, ("namespace", "instance"), present=("instance",)),
        _rule(
            [OURS, f'severity="{page}"'],
            [OURS, f'severity="{ticket}"'],
            ("alertname", "namespace", "model"),
            present=model,
        ),
    ]


def _one_of(names: Sequence[str]) -> list[str]:
    return [f'alertname=~"{"|".join(names)}"']


def _rule(
    source: Sequence[str], target: Sequence[str], equal: Sequence[str], present: Sequence[str] | None = None
) -> dict[str, Any]:
    there = [f'{label}!=""' for label in (equal if present is None else present)]
    return {
        "source_matchers": [*source, *there],
        "target_matchers": [*target, *there],
        "equal": ["cluster", *equal],
    }
