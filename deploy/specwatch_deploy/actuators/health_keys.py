"""The settings of `[lever]` by which levers judge health."""

from __future__ import annotations

from typing import Final

from specwatch_deploy.actuators.health_change import HealthLimits
from specwatch_deploy.actuators.lever_table import LeverTable

LIMIT_KEYS: Final = ("health_requests", "health_error_rise", "health_p99_ratio")


def health_limits(read: LeverTable) -> HealthLimits:
    """What still counts as no worse.

    Raises:
        ValueError: a setting is wrong; one line.
    """
    given = HealthLimits()
    return HealthLimits(
        read.count("health_requests", given.requests),
        read.number("health_error_rise", given.error_rise),
        read.number("health_p99_ratio", given.p99_ratio),
    )
