"""Which pool the next request goes to: smooth weighted round robin, so 5 % is every twentieth and not luck."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specwatch_exporters.proxy.pool_weights import Weights


class WeightedChoice:
    """Deterministic: every pool gains its weight, the one with the most is chosen and pays the sum.

    Over any number of choices a pool gets its exact share, less or more than one request for each other pool. It is
    the algorithm that nginx calls smooth. New weights begin anew, the heaviest pool first.
    """

    def __init__(self) -> None:
        self._weights: Weights | None = None
        self._credit: list[float] = []

    def next(self, weights: Weights, among: Callable[[int], bool] = lambda _pool: True) -> int | None:
        """Index of the pool, or None if none with a weight is left.

        Args:
            weights: in force now.
            among: whether a pool may be chosen; the others keep what they have.
        """
        if weights is not self._weights:
            self._weights = weights
            self._credit = [0.0] * len(weights.values)
        open_pools = [pool for pool, weight in enumerate(weights.values) if weight > 0.0 and among(pool)]
        return self._taken(open_pools, weights.values) if open_pools else None

    def _taken(self, pools: Sequence[int], weights: Sequence[float]) -> int:
        for pool in pools:
            self._credit[pool] += weights[pool]
        chosen = max(pools, key=lambda pool: self._credit[pool])  # the first of equals
        self._credit[chosen] -= sum(weights[pool] for pool in pools)
        return chosen
