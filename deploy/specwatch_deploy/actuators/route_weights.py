"""Weights of the backendRefs of one rule of an HTTPRoute, as shares and back."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from specwatch_deploy.actuators.cluster import Json
from specwatch_detectors.fallback.actuator import ActuatorError, Shares
from specwatch_detectors.fallback.level import Level

TOTAL: Final = 1000
"""Sum of the weights that are written, where the rule has no other backend."""
LEAST_TOTAL: Final = 100
"""Beside other backends our sum is kept, so that theirs keep their share; below this it cannot be split finely."""

Weights = Mapping[Level, int]


class RouteRule:
    """One rule of a route, and in it the backendRefs of the levels.

    Args:
        route: an HTTPRoute.
        services: by level, `name` or `name:port` of a Service in the route's namespace.
        rule: name of the rule; empty for the only one that has all these backends.

    Raises:
        ActuatorError: the route has no such rule, or several.
    """

    def __init__(self, route: Json, services: Mapping[Level, str], rule: str = "") -> None:
        self._rules: list[Json] = route.get("spec", {}).get("rules") or []
        self._services = services
        self._at = self._find(rule)
        refs = self._rules[self._at]["backendRefs"]
        self._refs = {level: _places(refs, service)[0] for level, service in services.items()}

    @property
    def weights(self) -> dict[Level, int]:
        """Weights as they are; the API's default is 1."""
        refs = self._rules[self._at]["backendRefs"]
        return {level: _weight(refs[at]) for level, at in self._refs.items()}

    @property
    def shares(self) -> dict[Level, float]:
        """Shares of what goes to the levels.

        Raises:
            ActuatorError: all weights are 0.
        """
        weights = self.weights
        total = sum(weights.values())
        if not total:
            raise ActuatorError("all weights of the levels are 0: the route answers 500 for them", retry=False)
        return {level: weight / total for level, weight in weights.items()}

    @property
    def elsewhere(self) -> int:
        """Sum of the weights of backends that are no level's."""
        refs = self._rules[self._at]["backendRefs"]
        return sum(_weight(ref) for at, ref in enumerate(refs) if at not in self._refs.values())

    @property
    def total(self) -> int:
        """Sum that new weights have.

        Raises:
            ActuatorError: other backends are in the rule, and our sum is too small to be split.
        """
        if not self.elsewhere:
            return TOTAL
        found = sum(self.weights.values())
        if found < LEAST_TOTAL:
            raise ActuatorError(
                f"the rule has other backends too, and the levels' weights add up to {found}: give them at least"
                f" {LEAST_TOTAL} together, or the others a rule of their own",
                retry=False,
            )
        return found

    def with_weights(self, weights: Weights) -> list[Json]:
        """All rules, with these weights; nothing else differs."""
        rules = deepcopy(self._rules)
        for level, weight in weights.items():
            rules[self._at]["backendRefs"][self._refs[level]]["weight"] = weight
        return rules

    def _find(self, name: str) -> int:
        fits = [
            at
            for at, rule in enumerate(self._rules)
            if (not name or rule.get("name") == name)
            and all(len(_places(rule.get("backendRefs") or [], one)) == 1 for one in self._services.values())
        ]
        if len(fits) == 1:
            return fits[0]
        wanted = ", ".join(self._services.values())
        which = f"rule {name}" if name else f"{len(fits) or 'no'} rules"
        raise ActuatorError(
            f"{which} with each of {wanted} once among its backendRefs: "
            + ("name the rule" if len(fits) > 1 else "one is needed"),
            retry=False,
        )


def split(shares: Shares, total: int) -> dict[Level, int]:
    """Shares as whole weights that add up to the total (largest remainder)."""
    exact = {level: share * total for level, share in shares.items()}
    weights = {level: int(value) for level, value in exact.items()}
    by_remainder = sorted(exact, key=lambda level: weights[level] - exact[level])
    for level in by_remainder[: total - sum(weights.values())]:
        weights[level] += 1
    return weights


def _places(refs: list[Json], service: str) -> list[int]:
    name, _, port = service.partition(":")
    return [at for at, ref in enumerate(refs) if _is(ref, name, port)]


def _is(ref: Json, name: str, port: str) -> bool:
    """Whether a backendRef is this Service of the route's own namespace."""
    service = ref.get("kind", "Service") == "Service" and not ref.get("group") and not ref.get("namespace")
    return service and ref.get("name") == name and port in {"", str(ref.get("port"))}


def _weight(ref: Mapping[str, Any]) -> int:
    weight = ref.get("weight")
    return 1 if weight is None else int(weight)
