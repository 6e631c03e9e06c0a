"""A controller put together from its configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from specwatch_detectors.fallback.actuator import Actuator
from specwatch_detectors.fallback.advice_lever import AdviceLever
from specwatch_detectors.fallback.audit_log import AuditLog
from specwatch_detectors.fallback.config_table import ConfigError
from specwatch_detectors.fallback.controller import Controller
from specwatch_detectors.fallback.controller_rules import Rules
from specwatch_detectors.fallback.fallback_config import NO_LEVER, FallbackConfig
from specwatch_detectors.fallback.fallback_source import SeriesSource, readable
from specwatch_detectors.fallback.leadership import Leadership
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.observation import ObservationSource
from specwatch_detectors.fallback.operator_command import control_path
from specwatch_detectors.fallback.page_source import PageSource, page
from specwatch_detectors.fallback.probe_batch import ProbeAtBatch
from specwatch_detectors.payoff.profile_file import ProfileError, load_profile
from specwatch_detectors.payoff.step_cost import Cost, Load
from specwatch_detectors.watch.source import Source

LeverFactory = Callable[[Mapping[str, Any], tuple[Level, ...]], Actuator]
"""Makes a lever from its table of the configuration and the levels; raises ValueError with one line."""
LeaderFactory = Callable[[Mapping[str, Any]], Leadership]
"""Makes a leader election from its table of the configuration; raises ValueError with one line."""


def make_lever(config: FallbackConfig, levers: Mapping[str, LeverFactory]) -> Actuator:
    """The lever that the configuration names.

    Raises:
        ConfigError: there is no such lever, its table is wrong, or it lacks a level.
    """
    if config.lever == NO_LEVER:
        return AdviceLever(config.policy.levels, config.level)
    if config.lever not in levers:
        names = ", ".join(sorted({*levers, NO_LEVER}))
        raise ConfigError(f"[lever] kind {config.lever!r} is no lever; there are {names}")
    try:
        lever = levers[config.lever](config.lever_table, config.policy.levels)
    except ConfigError:
        raise
    except ValueError as error:
        text = str(error)
        raise ConfigError(text if text.startswith("[") else f"[lever] {text}") from error
    missing = [level for level in config.policy.levels if level not in lever.levels]
    if missing:
        raise ConfigError(f"[lever] does not know the level {missing[0].value}, which levels declares")
    return lever


def make_series(config: FallbackConfig) -> Source:
    """What gives samples: the API of Prometheus, or sidecars' pages.

    Raises:
        ModuleNotFoundError: the API of Prometheus is asked, and the extra that can do so is not installed.
    """
    if config.prometheus is not None:
        from specwatch_detectors.watch.prometheus_source import PrometheusSource  # noqa: PLC0415 - an extra

        return PrometheusSource(config.prometheus)
    return PageSource(
        {level: [page(url, config.timeout_s) for url in urls] for level, urls in config.pages.items()}
    )


def make_source(config: FallbackConfig, series: Source) -> ObservationSource:
    """What looks at the levels; with a profile of home, probes are judged at the batch of the level in force.

    Args:
        config: the whole of it.
        series: gives samples.

    Raises:
        ConfigError: the profile cannot be used, or does not know the method.
    """
    unreadable = series.unreadable if isinstance(series, PageSource) else readable
    seen = SeriesSource(series, config.seen, unreadable=unreadable)
    if config.home_cost is None:
        return seen
    try:
        profile = load_profile(config.home_cost.profile)
    except ProfileError as error:
        raise ConfigError(f"[home] profile: {error}") from error
    cost = profile.cost_of(config.home_cost.method)
    found = cost.at(Load(1.0, float(config.home_cost.depth)))
    if not isinstance(found, Cost):
        raise ConfigError(f"[home] profile {config.home_cost.profile}: {found.reason}")
    return ProbeAtBatch(seen, config.policy.home, cost, config.home_cost.depth)


def make_controller(
    config: FallbackConfig,
    lever: Actuator,
    source: ObservationSource,
    clock: Callable[[], float],
    *,
    acting: bool,
    leadership: Leadership | None = None,
) -> Controller:
    """The controller.

    Raises:
        ConfigError: it shall act and has no lever, or its log has no directory.
    """
    if acting and config.lever == NO_LEVER:
        raise ConfigError(f"[lever] kind = {NO_LEVER!r} gives advice only, so --act has nothing to move")
    if not config.audit_log.parent.is_dir():
        raise ConfigError(f"audit_log {config.audit_log}: its directory does not exist")
    rules = Rules(
        config.model,
        config.policy,
        config.steps,
        acting=acting,
        canary=config.canary,
        force=config.force,
        control=control_path(config.audit_log),
    )
    return Controller(rules, lever, source, AuditLog(config.audit_log), clock, leadership)
