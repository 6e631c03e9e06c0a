"""Which levers there are; each is imported when a configuration names it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from specwatch_detectors.fallback.actuator import Actuator
    from specwatch_detectors.fallback.fallback_assembly import LeverFactory
    from specwatch_detectors.fallback.fallback_config import FallbackConfig
    from specwatch_detectors.fallback.leadership import Leadership
    from specwatch_detectors.fallback.level import Level
    from specwatch_detectors.watch.source import Source

_BUILDERS: Final = {
    "local": ("specwatch_deploy.actuators.local", "build"),
    "pools": ("specwatch_deploy.actuators.kube_levers", "build_pools"),
    "rollout": ("specwatch_deploy.actuators.kube_levers", "build_rollout"),
    "selector": ("specwatch_deploy.actuators.kube_levers", "build_selector"),
    "webhook": ("specwatch_deploy.actuators.webhook", "build"),
}
_KUBE: Final = frozenset({"pools", "rollout", "selector"})
"""Levers that ask before each write whether this controller still leads, and read health from series."""


def levers(
    leadership: Leadership | None = None, config: FallbackConfig | None = None, series: Source | None = None
) -> dict[str, LeverFactory]:
    """Factories of levers by the kind that a configuration names.

    Args:
        leadership: of the controller; None where it is alone.
        config: whose lever is made; None where nothing watches its traffic.
        series: gives samples of the traffic.
    """
    more: dict[str, Any] = {}
    require = getattr(leadership, "require", None)
    if require is not None:
        more["before_write"] = require
    if config is not None and series is not None and config.lever in _KUBE:
        more["health"] = import_module("specwatch_deploy.actuators.moved_health").health_maker(config, series)
    return {
        kind: _factory(module, name, more if kind in _KUBE else {}) for kind, (module, name) in _BUILDERS.items()
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


def _factory(module: str, name: str, more: Mapping[str, Any]) -> LeverFactory:
    def build(table: Mapping[str, Any], levels: tuple[Level, ...]) -> Actuator:
        return cast("Actuator", getattr(import_module(module), name)(table, levels, **more))

    return build
