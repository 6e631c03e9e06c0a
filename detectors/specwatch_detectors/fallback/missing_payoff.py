"""Why nothing is known of the level in force: what a person has to mend first."""

from __future__ import annotations

from collections.abc import Sequence

from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.watch.source import RawSeries
from specwatch_exporters.payoff_catalog import SPEEDUP


def missing_payoff(found: Sequence[RawSeries], model: str, rule: LevelRule, level: Level) -> str:
    """What is missing, in one clause; empty if a level's speed-up is there, and only old.

    Args:
        found: all series of the speed-up that the source gives.
        model: that is looked after.
        rule: tells levels apart.
        level: in force.
    """
    if not found:
        return f"there is no {SPEEDUP.name}: have the sidecars a step-time profile, and does [source] fit?"
    models = sorted({str(one["metric"].get("model", "")) for one in found})
    if model not in models:
        return f"{SPEEDUP.name} is there of {', '.join(models[:3])}, not of {model}"
    own = [one["metric"] for one in found if one["metric"].get("model") == model]
    if any(rule.level(labels, level) is level for labels in own):
        return ""
    if rule.label and not rule.match:
        return f"no {SPEEDUP.name} of {model} has the label {rule.label}={level.value}"
    return f"no {SPEEDUP.name} of {model} has the labels of [source.levels] {level.value}"
