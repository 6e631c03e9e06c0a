"""What the policy remembers between rounds: plain values, so that a restarted controller goes on where it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from specwatch_detectors.fallback.level import Level


@dataclass(frozen=True, slots=True)
class FallbackState:
    """Memory of the policy; a new one for every round.

    Attributes:
        level: in force.
        since: when it was entered, seconds.
        regret_s: seconds of the whole capacity lost on this level against the best other one.
        flips: times of the switches of the last 24 hours.
        latched: nothing is switched until somebody unlatches.
        probe_began: start of the probe under way, or None.
        probe_at: when the next probe is due; None at home.
        probe_wait_s: wait before it.
        wins: probes in a row that paid.
        revision: version of target and draft that was seen last.
        last: time of the last round, or None.
        left: lower bound of the home level's speed-up when it was left; 0 at home or if it was not left by choice.
        doubted: level whose estimate turned out wrong, or None.
        doubted_at: when, seconds.
    """

    level: Level
    since: float
    regret_s: float = 0.0
    flips: tuple[float, ...] = ()
    latched: bool = False
    probe_began: float | None = None
    probe_at: float | None = None
    probe_wait_s: float = 0.0
    wins: int = 0
    revision: str = ""
    last: float | None = None
    left: float = 0.0
    doubted: Level | None = None
    doubted_at: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """As JSON; `from_json` reads it."""
        doubted = None if self.doubted is None else self.doubted.value
        return {**asdict(self), "level": self.level.value, "flips": list(self.flips), "doubted": doubted}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> FallbackState:
        """Read what `as_json` wrote.

        Raises:
            ValueError: it is not a state of the policy.
        """
        try:
            values = {**body, "level": Level(body["level"]), "flips": tuple(float(at) for at in body["flips"])}
            if body.get("doubted") is not None:
                values["doubted"] = Level(body["doubted"])
            return cls(**values)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a state of the fallback policy: {error}") from error
