"""Prints what a controller needs in Kubernetes: `python -m specwatch_deploy.actuators.kube_role fallback.toml`."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from specwatch_deploy.actuators.cluster import Cluster
from specwatch_deploy.actuators.kube_levers import build_leader, build_pools, build_rollout, build_selector
from specwatch_deploy.actuators.permission import Permission
from specwatch_deploy.actuators.role import role_text
from specwatch_detectors.fallback.config_table import ConfigError
from specwatch_detectors.fallback.fallback_config import FallbackConfig, load_config

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


def main(arguments: Sequence[str]) -> int:
    """Print the Roles of one configuration file; 2 for a mistake in it."""
    if len(arguments) != 1:
        print("usage: python -m specwatch_deploy.actuators.kube_role FILE", file=sys.stderr)  # noqa: T201 - a program
        return 2
    try:
        text = roles(load_config(Path(arguments[0])))
    except (ConfigError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 2
    print(text, end="")  # noqa: T201
    return 0


def _nowhere(*_: object) -> Cluster:
    """A lever that is only asked what it needs has no cluster."""
    return cast("Cluster", None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
