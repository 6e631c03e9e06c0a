"""Which levers there are; each is imported when a configuration names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, cast

from specwatch_detectors.fallback.actuator import Actuator
from specwatch_detectors.fallback.fallback_assembly import LeverFactory
from specwatch_detectors.fallback.fallback_config import FallbackConfig
from specwatch_detectors.fallback.leadership import Leadership
from specwatch_detectors.fallback.level import Level

_BUILDERS: Final = {
    "local": ("specwatch_deploy.actuators.local", "build"),
    "pools": ("specwatch_deploy.actuators.kube_levers", "build_pools"),
    "rollout": ("specwatch_deploy.actuators.kube_levers", "build_rollout"),
    "selector": ("specwatch_deploy.actuators.kube_levers", "build_selector"),
    "webhook": ("specwatch_deploy.actuators.webhook", "build"),
}
_LEASED: Final = frozenset({"pools", "rollout", "selector"})
"""Levers that ask before each write whether this controller still leads."""


def levers(leadership: Leadership | None = None) -> dict[str, LeverFactory]:
    """Factories of levers by the kind that a configuration names.

    Args:
        leadership: of the controller; None where it is alone.
    """
    require = getattr(leadership, "require", None)
    return {
        kind: _factory(module, name, require if kind in _LEASED else None)
        for kind, (module, name) in _BUILDERS.items()
    }


def leader(table: Mapping[str, Any]) -> Leadership:
    """The leader election that a configuration asks for.

    Raises:
        ValueError: its table is wrong; one line.
    """
    module = import_module("specwatch_deploy.actuators.kube_levers")
    return cast("Leadership", module.build_leader(table))


def roles(config: FallbackConfig) -> str:
    """The Kubernetes Roles that a configuration needs, as YAML.

    Raises:
        ValueError: it needs none, or a table is wrong; one line.
    """
    module = import_module("specwatch_deploy.actuators.kube_role")
    return cast("str", module.roles(config))


def _factory(module: str, name: str, require: Callable[[], None] | None) -> LeverFactory:
    def build(table: Mapping[str, Any], levels: tuple[Level, ...]) -> Actuator:
        more = {} if require is None else {"before_write": require}
        return cast("Actuator", getattr(import_module(module), name)(table, levels, **more))

    return build
