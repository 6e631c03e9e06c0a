"""What a configuration says of what is looked for: levels, their labels, estimates, and what adapts."""

from __future__ import annotations

from typing import Any

from specwatch_detectors.fallback.config_table import ConfigError, ConfigTable
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.fallback_source import SourceSettings
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.payoff.payoff import Bounds


def seen_settings(top: ConfigTable, source: ConfigTable, model: str, policy: FallbackSettings) -> SourceSettings:
    """What is looked for.

    Args:
        top: the whole configuration.
        source: its table `source`.
        model: served name.
        policy: constants of the policy.

    Raises:
        ConfigError: the first thing that is wrong, in one line.
    """
    match = source.table("levels")
    matched = {
        declared_level(match.key(name), name, policy): label_table(match.key(name), own)
        for name, own in match.rest().items()
    }
    return SourceSettings(
        model=model,
        home=policy.home,
        rule=LevelRule(source.text("level_label", ""), matched),
        estimates=_estimates(top.table("estimates"), policy),
        adapts=_adapts(top),
        revision_labels=source.texts("revision_labels"),
        deployments=source.texts("deployments"),
        home_deployments=source.texts("home_deployments"),
        fresh_s=policy.stale_after_s,
    )


def _adapts(table: ConfigTable) -> str | None:
    """What the operator says that the engine adapts: empty for nothing, None where nothing is said."""
    value = table.take("adapts")
    if value is None or (isinstance(value, str) and value):
        return value
    if value is False:
        return ""
    raise ConfigError(
        f"{table.key('adapts')} must be what the engine changes by itself, as in 'K by batch', or false"
        f" to act although it does, got {value!r}"
    )


def _estimates(table: ConfigTable, policy: FallbackSettings) -> dict[Level, Bounds]:
    found: dict[Level, Bounds] = {}
    for name, value in table.rest().items():
        level = declared_level(table.key(name), name, policy)
        if level is policy.home or level is Level.OFF:
            why = "home is measured" if level is policy.home else "off is 1 by definition"
            raise ConfigError(f"{table.key(name)} cannot be stated: {why}")
        numbers = value if isinstance(value, list) else []
        whole = len(numbers) == 3 and all(isinstance(one, int | float) for one in numbers)
        if not whole or not 0.0 < numbers[0] <= numbers[1] <= numbers[2]:
            raise ConfigError(f"{table.key(name)} must be lower bound, estimate and upper bound, got {value!r}")
        found[level] = Bounds(*map(float, numbers))
    return found


def declared_level(key: str, name: str, policy: FallbackSettings) -> Level:
    """A level that `levels` declares, by its name.

    Raises:
        ConfigError: it is none.
    """
    level = level_named(key, name)
    if level not in policy.levels:
        raise ConfigError(f"{key}: levels does not declare {name}")
    return level


def level_named(key: str, name: str) -> Level:
    """A level by its name.

    Raises:
        ConfigError: there is none of that name.
    """
    try:
        return Level(name)
    except ValueError:
        names = ", ".join(level.value for level in Level)
        raise ConfigError(f"{key}: {name!r} is no level; there are {names}") from None


def label_table(key: str, value: Any) -> dict[str, str]:
    """Labels or headers.

    Raises:
        ConfigError: it is no table of texts.
    """
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise ConfigError(f"{key} must be a table of texts, got {value!r}")
    return dict(value)
