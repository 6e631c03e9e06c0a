"""What KEDA makes of a Prometheus trigger: a value for the HPA, an error, or the fallback.

Source: KEDA 2.20.2, pkg/scalers/prometheus_scaler.go and pkg/fallback/fallback.go.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from specwatch_deploy.scale.hpa_metric import ExternalTarget, Replicas, TargetType, Tolerance


class FallbackBehavior(StrEnum):
    """Which replicas the fallback asks for."""

    STATIC = "static"
    CURRENT = "currentReplicas"
    CURRENT_IF_HIGHER = "currentReplicasIfHigher"
    CURRENT_IF_LOWER = "currentReplicasIfLower"

    def replicas(self, own: int, current: int) -> int:
        """Replicas, from those of the fallback's own field and those now."""
        return {
            FallbackBehavior.STATIC: own,
            FallbackBehavior.CURRENT: current,
            FallbackBehavior.CURRENT_IF_HIGHER: max(own, current),
            FallbackBehavior.CURRENT_IF_LOWER: min(own, current),
        }[self]


@dataclass(frozen=True, slots=True)
class Fallback:
    """What holds while the trigger fails.

    Attributes:
        failures: consecutive errors that are borne; the next one brings the fallback.
        replicas: of the fallback.
        behavior: how they are combined with those now.
    """

    failures: int
    replicas: int
    behavior: FallbackBehavior = FallbackBehavior.STATIC


@dataclass(slots=True)
class KedaTrigger:
    """One trigger with its count of errors.

    Attributes:
        target: threshold and metric type.
        ignore_null: `ignoreNullValues`; True makes nothing, NaN and Inf a 0.
        fallback: or None. KEDA supports it for `AverageValue` only.
    """

    target: ExternalTarget
    ignore_null: bool = True
    fallback: Fallback | None = None
    _errors: int = 0

    def proposal(self, answer: Sequence[float] | None, replicas: Replicas, tolerance: Tolerance) -> int | None:
        """Replicas that the HPA reads from the trigger, or None for an error.

        Args:
            answer: elements of the instant vector; None if Prometheus did not answer.
            replicas: as the HPA sees them.
            tolerance: of the HPA.
        """
        value = None if answer is None else query_value(answer, ignore_null=self.ignore_null)
        if value is not None:
            self._errors = 0
            return self.target.proposal(value, replicas, tolerance)
        self._errors += 1
        spare = self.fallback
        if spare is None or self._errors <= spare.failures or self.target.kind is not TargetType.AVERAGE_VALUE:
            return None
        wanted = spare.behavior.replicas(spare.replicas, replicas.spec)
        return self.target.proposal(wanted * self.target.value, replicas, tolerance)


def query_value(answer: Sequence[float], *, ignore_null: bool) -> float | None:
    """The value of an instant vector; None is an error of the scaler.

    Several elements are an error; none, NaN and Inf are an error or 0; negative values are 0 since 2.20.2.
    """
    if len(answer) > 1:
        return None
    if not answer or not math.isfinite(answer[0]):
        return 0.0 if ignore_null else None
    return max(answer[0], 0.0)
