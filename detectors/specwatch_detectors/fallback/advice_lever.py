"""The lever of those who want advice only: it is where it was said to be, and cannot be moved."""

from __future__ import annotations

from specwatch_detectors.fallback.actuator import ActuatorError, Health, Plan, Position, Shares
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.transition import shares_text


class AdviceLever:
    """No lever.

    Args:
        levels: that the deployment could have.
        level: that it is on.
    """

    def __init__(self, levels: tuple[Level, ...], level: Level) -> None:
        self._levels = levels
        self._shares: Shares = {level: 1.0}

    @property
    def levels(self) -> tuple[Level, ...]:
        """As they were declared."""
        return self._levels

    @property
    def steps(self) -> tuple[float, ...]:
        """All or nothing."""
        return (1.0,)

    def describe(self) -> Position:
        """Where it was said to be."""
        return Position(self._shares, settled=True)

    def plan(self, shares: Shares) -> Plan:
        """What a person would do."""
        return Plan("advice", shares, self._shares, (), f"by hand: {shares_text(shares)}")

    def apply(self, plan: Plan) -> None:
        """Refuse."""
        raise ActuatorError(f"there is no lever to set {shares_text(plan.shares)} with", retry=False)

    def verify(self, plan: Plan) -> Position:  # noqa: ARG002 - the interface has it
        """Where it was said to be."""
        return self.describe()

    def health(self) -> Health:
        """Nothing is known."""
        return Health(ok=True, reason="nothing watches the traffic", known=False)

    def undo(self, plan: Plan) -> None:
        """Refuse."""
        raise ActuatorError(f"there is no lever to set {shares_text(plan.before)} with", retry=False)
