"""What a controller needs in Kubernetes: what `specwatch fallback role` prints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from specwatch_deploy.actuators.cluster import Cluster
from specwatch_deploy.actuators.kube_levers import build_leader, build_pools, build_rollout, build_selector
from specwatch_deploy.actuators.permission import Permission
from specwatch_deploy.actuators.role import role_text
from specwatch_detectors.fallback.fallback_config import FallbackConfig

NAME: Final = "specwatch-fallback"
BUILDERS: Final[Mapping[str, Callable[..., Any]]] = {
    "pools": build_pools,
    "rollout": build_rollout,
    "selector": build_selector,
}


def roles(config: FallbackConfig) -> str:
    """One Role per namespace, as YAML; no cluster is asked.

    Raises:
        ValueError: a table is wrong, or nothing in the configuration calls Kubernetes; one line.
    """
    needed: dict[str, set[Permission]] = defaultdict(set)
    if config.lever in BUILDERS:
        lever = BUILDERS[config.lever](config.lever_table, config.policy.levels, connect_to=_nowhere)
        needed[config.lever_table["namespace"]].update(lever.permissions)
    if config.leader_table is not None:
        leader = build_leader(config.leader_table, connect_to=_nowhere)
        needed[config.leader_table["namespace"]].update(leader.permissions)
    if not needed:
        raise ValueError(
            f"lever {config.lever} calls no Kubernetes API, and there is no [leader]: no Role is needed"
        )
    return "---\n".join(role_text(NAME, namespace, found) for namespace, found in sorted(needed.items()))


def _nowhere(*_: object) -> Cluster:
    """A lever that is only asked what it needs has no cluster."""
    return cast("Cluster", None)
