"""The catalogue's rows of the fallback controller: which level is in force, what moved, what was forbidden."""

from __future__ import annotations

from typing import Final

from specwatch_exporters.metric import Kind, Metric, Source

_MODEL: Final = ("model",)


def _gauge(name: str, labels: tuple[str, ...], text: str) -> Metric:
    return Metric(name, Kind.GAUGE, labels, text, Source.DETECT)


LEVEL: Final = _gauge(
    "specwatch_fallback_level",
    ("model", "level"),
    "1 for the level in force, 0 for the others that the deployment has: draft, fewer (tokens), ngram, off.",
)
SHARE: Final = _gauge(
    "specwatch_fallback_share_ratio",
    ("model", "level"),
    "Share of the traffic that the lever gives to a level, 0 to 1. No sample while the lever cannot be read.",
)
TRANSITIONS: Final = Metric(
    "specwatch_fallback_transitions_total",
    Kind.COUNTER,
    ("model", "from", "to", "reason"),
    "Finished movements of traffic. reason: not_paying, pays_again, new_revision, estimate_wrong, operator, probe, "
    "probe_end, or undone when it was taken back.",
    Source.DETECT,
)
REFUSED: Final = Metric(
    "specwatch_fallback_refused_total",
    Kind.COUNTER,
    ("model", "veto"),
    "Times that a veto began: of the policy (latched, stale, unknown, low_volume, rollout, scaling, dwell, flips, "
    "adapts, regret) or of acting (dry_run, foreign, lever).",
    Source.DETECT,
)
VETO: Final = _gauge(
    "specwatch_fallback_veto", ("model", "veto"), "1 for the veto of the last round. No sample without one."
)
REGRET: Final = _gauge(
    "specwatch_fallback_regret_seconds",
    _MODEL,
    "Seconds of the whole capacity lost on the level in force against the best other one, since it was entered.",
)
LATCHED: Final = _gauge(
    "specwatch_fallback_latched",
    _MODEL,
    "1 while nothing is switched because too many switches were made in a day: somebody must look and unlatch.",
)
PROBE: Final = _gauge(
    "specwatch_fallback_probe_under_way",
    _MODEL,
    "1 while a share of the traffic, or a canary, probes home; else 0.",
)
MOVING: Final = _gauge(
    "specwatch_fallback_transition_under_way", _MODEL, "1 while traffic is being moved step by step; else 0."
)
ACTING: Final = _gauge(
    "specwatch_fallback_acting", _MODEL, "1 if the controller moves traffic; 0 for a dry run that only advises."
)
LEADER: Final = _gauge(
    "specwatch_fallback_leader", _MODEL, "1 if this controller is the one that may act; 0 while it stands by."
)
SWITCHES_LEFT: Final = _gauge(
    "specwatch_fallback_switches_left", _MODEL, "Switches that the limit of a day still allows."
)
TROUBLE: Final = _gauge(
    "specwatch_fallback_trouble",
    ("model", "kind"),
    "1 for each thing that fails now. kind: source, lever, health, audit, command, leader, clock, internal.",
)
ROUND_TIME: Final = _gauge(
    "specwatch_fallback_round_timestamp_seconds",
    _MODEL,
    "Unix time of the last finished round. time() minus it grows when the controller is dead.",
)
DECISION_TIME: Final = _gauge(
    "specwatch_fallback_decision_timestamp_seconds",
    _MODEL,
    "Unix time of the last decision that was more than to stay. No sample before the first.",
)

FALLBACK_CATALOG: Final[tuple[Metric, ...]] = (
    LEVEL,
    SHARE,
    TRANSITIONS,
    REFUSED,
    VETO,
    REGRET,
    LATCHED,
    PROBE,
    MOVING,
    ACTING,
    LEADER,
    SWITCHES_LEFT,
    TROUBLE,
    ROUND_TIME,
    DECISION_TIME,
)
