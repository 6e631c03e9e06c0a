"""Several pools of engines: each request goes to one of them, by weight.

A request that has been sent is never sent again. One that could not be sent, because no connection could be made,
goes to another pool that has a weight; the pool that could not be reached is left out for a moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from specwatch_exporters.proxy.engine_connection import EngineConnection
from specwatch_exporters.proxy.engine_pool import Applicant, EnginePool
from specwatch_exporters.proxy.lane import Lane
from specwatch_exporters.proxy.own_address import Ends
from specwatch_exporters.proxy.own_answers import Refusal
from specwatch_exporters.proxy.pool_weights import PoolWeights
from specwatch_exporters.proxy.weighted_choice import WeightedChoice
from specwatch_exporters.request_metrics import Outcome

LEFT_OUT_S: Final = 1.0
"""Time for which a pool that could not be reached gets no new request: one try a second finds it again."""


class EnginePools:
    """Gives connections out, as `EnginePool` does for one.

    Args:
        pools: with the lane of each, in the order of the weights.
        weights: in force.
    """

    def __init__(self, pools: Sequence[tuple[Lane, EnginePool]], weights: PoolWeights) -> None:
        self._pools = tuple(pools)
        self._weights = weights
        self._choice = WeightedChoice()
        self._left_out_until = [0.0] * len(self._pools)

    @property
    def open_count(self) -> int:
        """Connections, idle and in use, and those being made."""
        return sum(pool.open_count for _, pool in self._pools)

    def is_own(self, client: Ends | None) -> bool:
        """Whether a client's connection is the other side of one of these pools'."""
        return any(pool.is_own(client) for _, pool in self._pools)

    def request(self, applicant: Applicant) -> None:
        """Give a connection to the pool whose turn it is, now or as soon as it is made."""
        _Errand(self, applicant).go()

    def give_back(self, connection: EngineConnection) -> None:
        """Take a connection back behind a complete response."""
        connection.give_back()

    async def close(self) -> None:
        """Close every connection, wait for those being made."""
        for _, pool in self._pools:
            await pool.close()

    def choose(self, tried: Sequence[int]) -> int | None:
        """The pool whose turn it is; one that cannot be reached only if there is no other, and none twice.

        Args:
            tried: pools that this request could not reach.
        """
        weights, now = self._weights.now, asyncio.get_running_loop().time()
        chosen = self._choice.next(weights, lambda pool: pool not in tried)
        if chosen is None or now >= self._left_out_until[chosen]:
            return chosen
        other = self._choice.next(weights, lambda pool: pool not in tried and now >= self._left_out_until[pool])
        if other is None:
            return chosen
        self.lane(chosen).ledger.passed_over += 1
        return other

    def lane(self, pool: int) -> Lane:
        """The lane of a pool."""
        return self._pools[pool][0]

    def apply_to(self, pool: int, applicant: Applicant) -> None:
        """Ask one pool for a connection."""
        self._pools[pool][1].request(applicant)

    def reached(self, pool: int) -> None:
        """A pool gave a connection."""
        self._left_out_until[pool] = 0.0

    def not_reached(self, pool: int) -> None:
        """A pool could not be reached."""
        self._left_out_until[pool] = asyncio.get_running_loop().time() + LEFT_OUT_S


class _Errand:
    """One request's way to a connection: the pool whose turn it is, and then those that are left.

    Args:
        pools: see `EnginePools`.
        applicant: who wants the connection.
    """

    def __init__(self, pools: EnginePools, applicant: Applicant) -> None:
        self._pools = pools
        self._applicant = applicant
        self._tried: list[int] = []

    @property
    def over(self) -> bool:
        """Whether no connection is needed any more."""
        return self._applicant.over

    def go(self) -> None:
        """Ask the next pool; the first one's weights have just been looked at, so there is one."""
        pool = self._pools.choose(self._tried)
        if pool is not None:
            self._tried.append(pool)
            self._pools.apply_to(pool, self)

    def engine_ready(self, connection: EngineConnection) -> None:
        """Here it is."""
        self._pools.reached(self._tried[-1])
        self._applicant.engine_ready(connection)

    def engine_unreachable(self, refusal: Refusal) -> None:
        """There is none here: another pool may have one, for nothing was sent."""
        last = self._tried[-1]
        self._pools.not_reached(last)
        if self.over:
            return
        tries = len(self._tried)
        self.go()
        if len(self._tried) > tries:
            self._pools.lane(last).ledger.passed_over += 1
        else:
            self._pools.lane(last).ledger.finished(Outcome.UNREACHABLE)
            self._applicant.engine_unreachable(refusal)
