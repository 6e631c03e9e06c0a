"""The Kubernetes levers and the leader from their tables in a settings file."""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from specwatch_deploy.actuators.cluster import Cluster
from specwatch_deploy.actuators.health_keys import LIMIT_KEYS, health_limits
from specwatch_deploy.actuators.http_route import STEPS, HttpRoutePools
from specwatch_deploy.actuators.kube_api import TIMEOUT_S, TRIES, KubeApi, connect
from specwatch_deploy.actuators.lease import LeaseElection, LeaseTimes
from specwatch_deploy.actuators.lease_leader import LeaseLeader
from specwatch_deploy.actuators.lever_table import LeverTable
from specwatch_deploy.actuators.moved_health import KINDS, HealthMaker, HealthWatch
from specwatch_deploy.actuators.rollout import Rollout
from specwatch_deploy.actuators.service_selector import ServiceSelector
from specwatch_deploy.actuators.spec_flags import ENGINES
from specwatch_deploy.actuators.spec_place import ConfigMapVolume, ContainerArgs, SpecPlace
from specwatch_detectors.fallback.level import Level

Connect = Callable[[LeverTable, Callable[[], None]], Cluster]
CLUSTER_KEYS: Final = ("kubeconfig", "context", "timeout_s")
HEALTH_KEYS: Final = ("health", *LIMIT_KEYS)
POOL_KEYS: Final = ("namespace", "route", "services", "rule", "steps", "force", "least_ready")
SELECTOR_KEYS: Final = ("namespace", "service", "label", "values", "force", "least_ready")
ROLLOUT_KEYS: Final = (
    "namespace",
    "deployment",
    "container",
    "engine",
    "arguments",
    "volume",
    "config_maps",
    "force",
)
LEADER_KEYS: Final = ("namespace", "name", "identity", "duration_s", "renew_deadline_s", "retry_s")


def connected(table: LeverTable, before_write: Callable[[], None], tries: int = TRIES) -> Cluster:
    """The cluster that a table names, or the one that this runs in.

    Raises:
        ActuatorError: there is none.
    """
    api = connect(table.text("kubeconfig", ""), table.text("context", ""))
    timeout_s = table.number("timeout_s", TIMEOUT_S)
    return KubeApi(api, timeout_s=timeout_s, tries=tries, before_write=before_write)


def connected_once(table: LeverTable, before_write: Callable[[], None]) -> Cluster:
    """The same for the leader, who tries again by itself and must not be held up."""
    return connected(table, before_write, tries=1)


def build_pools(
    table: Mapping[str, Any],
    levels: tuple[Level, ...],
    health: HealthMaker | None = None,
    *,
    before_write: Callable[[], None] = lambda: None,
    connect_to: Connect = connected,
) -> HttpRoutePools:
    """Kind `pools`: weights of an HTTPRoute.

    Args:
        table: of the settings file, without `kind`.
        levels: that the policy uses.
        health: makes what watches the traffic; None watches nothing.
        before_write: raises to forbid a write: `LeaseLeader.require`.
        connect_to: makes the client; given by tests.

    Raises:
        ValueError: what is wrong in the table, in one line.
    """
    read = LeverTable("lever", table, (*POOL_KEYS, *HEALTH_KEYS, *CLUSTER_KEYS))
    make = partial(
        HttpRoutePools,
        namespace=read.text("namespace"),
        route=read.text("route"),
        services=read.words_by_level("services", levels),
        rule=read.text("rule", ""),
        steps=read.steps("steps", STEPS),
        force=read.flag("force"),
        least_ready=read.count("least_ready", 1),
        health=_health(read, health),
    )
    return make(connect_to(read, before_write))


def build_selector(
    table: Mapping[str, Any],
    levels: tuple[Level, ...],
    health: HealthMaker | None = None,
    *,
    before_write: Callable[[], None] = lambda: None,
    connect_to: Connect = connected,
) -> ServiceSelector:
    """Kind `selector`: one label of a Service's selector; arguments as for `build_pools`."""
    read = LeverTable("lever", table, (*SELECTOR_KEYS, *HEALTH_KEYS, *CLUSTER_KEYS))
    make = partial(
        ServiceSelector,
        namespace=read.text("namespace"),
        service=read.text("service"),
        label=read.text("label"),
        values=read.words_by_level("values", levels),
        force=read.flag("force"),
        least_ready=read.count("least_ready", 1),
        health=_health(read, health),
    )
    return make(connect_to(read, before_write))


def build_rollout(
    table: Mapping[str, Any],
    levels: tuple[Level, ...],
    health: HealthMaker | None = None,
    *,
    before_write: Callable[[], None] = lambda: None,
    connect_to: Connect = connected,
) -> Rollout:
    """Kind `rollout`: speculative settings of a Deployment; arguments as for `build_pools`."""
    read = LeverTable("lever", table, (*ROLLOUT_KEYS, *HEALTH_KEYS, *CLUSTER_KEYS))
    make = partial(
        Rollout,
        namespace=read.text("namespace"),
        deployment=read.text("deployment"),
        place=_place(read, levels),
        force=read.flag("force"),
        health=_health(read, health),
    )
    return make(connect_to(read, before_write))


def build_leader(table: Mapping[str, Any], *, connect_to: Connect = connected_once) -> LeaseLeader:
    """The leader from the table `[leader]`.

    Raises:
        ValueError: what is wrong in the table, in one line.
    """
    read = LeverTable("leader", table, (*LEADER_KEYS, *CLUSTER_KEYS))
    times = LeaseTimes(
        duration_s=read.count("duration_s", LeaseTimes().duration_s),
        renew_deadline_s=read.number("renew_deadline_s", LeaseTimes().renew_deadline_s),
        retry_s=read.number("retry_s", LeaseTimes().retry_s),
        call_s=read.number("timeout_s", TIMEOUT_S),
    )
    namespace, name = read.text("namespace"), read.text("name", "specwatch-fallback")
    identity = read.text("identity", "") or f"{socket.gethostname()}_{uuid.uuid4().hex[:8]}"
    cluster = connect_to(read, lambda: None)
    return LeaseLeader(LeaseElection(cluster, namespace, name, identity, clock=time.monotonic, times=times))


def _health(read: LeverTable, make: HealthMaker | None) -> HealthWatch | None:
    kind, limits = read.text("health", KINDS[0]), health_limits(read)
    if kind not in KINDS:
        raise ValueError(f"[lever] health must be one of {', '.join(KINDS)}, got {kind!r}")
    return None if make is None else make(kind, limits)


def _place(read: LeverTable, levels: tuple[Level, ...]) -> SpecPlace:
    if read.has("config_maps"):
        return ConfigMapVolume(read.text("volume"), read.words_by_level("config_maps", levels))
    engine = read.text("engine")
    if engine not in ENGINES:
        raise ValueError(f"[lever] engine must be one of {', '.join(ENGINES)} (or give volume and config_maps)")
    return ContainerArgs(read.text("container"), read.lists_by_level("arguments", levels), ENGINES[engine])
