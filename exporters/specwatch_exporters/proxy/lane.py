"""One of several pools, as a request that goes to it sees it."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_exporters.proxy.http_head import Route
from specwatch_exporters.proxy.pool_ledger import PoolLedger


@dataclass(frozen=True, eq=False, slots=True)
class Lane:
    """A pool.

    Attributes:
        name: of the pool.
        method: of its speculation, for the label of its requests.
        route: how requests name it.
        ledger: what it got and how it did.
    """

    name: str
    method: str
    route: Route
    ledger: PoolLedger
