"""The pools of a request sidecar put together from its settings."""

from __future__ import annotations

import ssl

from prometheus_client import CollectorRegistry

from specwatch_exporters.proxy.engine_pool import EnginePool, EngineTarget
from specwatch_exporters.proxy.engine_pools import EnginePools
from specwatch_exporters.proxy.http_head import Route
from specwatch_exporters.proxy.lane import Lane
from specwatch_exporters.proxy.pool_ledger import PoolCollector, PoolLedger
from specwatch_exporters.proxy.pool_weights import PoolWeights, WeightsError
from specwatch_exporters.proxy.pools_site import PoolsPage
from specwatch_exporters.proxy.proxy_limits import ProxyLimits
from specwatch_exporters.proxy.settings import ProxySettings
from specwatch_exporters.proxy.sparse_log import SparseLog
from specwatch_exporters.proxy.upstreams import Upstream
from specwatch_exporters.sidecar.settings import SettingsError


class PoolSet:
    """Weights, lanes and figures of several pools.

    Args:
        settings: with two or more pools, or one that has a name.
        registry: where their metrics are registered.
        tls: how to speak https, or None.

    Raises:
        SettingsError: the file of the weights cannot be read.
    """

    def __init__(self, settings: ProxySettings, registry: CollectorRegistry, tls: ssl.SSLContext | None) -> None:
        pools = settings.pools
        self._tls = tls
        try:
            self._weights = PoolWeights(
                [pool.name for pool in pools], [pool.weight for pool in pools], settings.pool_state
            )
        except WeightsError as error:
            raise SettingsError(f"--pool-state: {error}") from None
        self._pools = pools
        self._lanes = tuple(_lane(pool, rewrite_host=settings.rewrite_host) for pool in pools)
        self.page = PoolsPage(
            pools, self._lanes, self._weights, settings.admin_token_file, anywhere=settings.pool_control
        )
        registry.register(PoolCollector(self._weights, [lane.ledger for lane in self._lanes]))

    def connections(self, limits: ProxyLimits, log: SparseLog) -> EnginePools:
        """Make the connections of a data path."""
        made = []
        for pool, lane in zip(self._pools, self._lanes, strict=True):
            tls = self._tls if pool.endpoint.scheme == "https" else None
            target = EngineTarget(pool.endpoint.host, pool.endpoint.port, tls)
            made.append((lane, EnginePool(target, limits, log, lane)))
        return EnginePools(made, self._weights)


def route_to(upstream: Upstream, *, rewrite_host: bool) -> Route:
    """How requests name an engine."""
    prefix, authority = upstream.endpoint.path.rstrip("/").encode(), upstream.endpoint.authority.encode()
    return Route(prefix, authority, rewrite_host)


def _lane(upstream: Upstream, *, rewrite_host: bool) -> Lane:
    return Lane(upstream.name, upstream.method or "", route_to(upstream, rewrite_host=rewrite_host), PoolLedger())
