"""The configuration file of the controller: TOML, checked as a whole before anything starts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from specwatch_detectors.fallback.config_table import ConfigError, ConfigTable
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.fallback_source import SourceSettings
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.fallback.page_source import LEVEL_LABEL
from specwatch_detectors.fallback.seen_config import declared_level, label_table, level_named, seen_settings
from specwatch_detectors.fallback.transition_settings import TransitionSettings
from specwatch_detectors.watch.prometheus_address import PrometheusAddress
from specwatch_exporters.sidecar import setting_values

NO_LEVER: Final = "none"
_OF_PROMETHEUS: Final = (
    "match",
    "headers",
    "token_file",
    "ca_file",
    "insecure",
    "level_label",
    "levels",
    "revision_labels",
    "deployments",
    "home_deployments",
)
"""Keys of `[source]` that ask for what pages do not have."""
Settings = TypeVar("Settings", FallbackSettings, TransitionSettings)


@dataclass(frozen=True, slots=True)
class HomeCost:
    """What a step of the home level costs.

    Attributes:
        profile: file, or name of a shipped profile.
        method: of speculation, as the profile calls it.
        depth: K.
    """

    profile: str
    method: str
    depth: int


@dataclass(frozen=True, slots=True)
class FallbackConfig:
    """A whole configuration.

    Attributes:
        model: served name.
        audit_log: where the log is.
        interval_s: seconds from round to round.
        policy: constants of the policy.
        steps: constants of moving traffic.
        seen: what is looked for.
        prometheus: the API that is asked, or None.
        pages: URLs of sidecars' pages by level, asked instead of Prometheus.
        timeout_s: of a page.
        lever: kind of lever; `none` gives advice only.
        lever_table: its own settings.
        leader_table: settings of the leader election, or None for none.
        level: that it is on, where there is no lever to ask.
        home_cost: step-time profile, method and K of home, by which a probe is judged at the batch of the level in
            force; None judges it at its own.
        canary: home is always measured by pods of its own.
        force: the lever is moved although somebody else manages it.
    """

    model: str
    audit_log: Path
    interval_s: float
    policy: FallbackSettings
    steps: TransitionSettings
    seen: SourceSettings
    prometheus: PrometheusAddress | None
    pages: Mapping[Level, tuple[str, ...]]
    timeout_s: float
    lever: str
    lever_table: Mapping[str, Any]
    leader_table: Mapping[str, Any] | None
    level: Level
    home_cost: HomeCost | None
    canary: bool
    force: bool


def load_config(path: Path) -> FallbackConfig:
    """Read a file.

    Raises:
        ConfigError: it cannot be used; one line that names it.
    """
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no text: {error.reason}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is no TOML: {error}") from error
    try:
        return config_of(body)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def config_of(body: Mapping[str, Any]) -> FallbackConfig:
    """Take a configuration apart.

    Raises:
        ConfigError: the first thing that is wrong, in one line.
    """
    top = ConfigTable("", body)
    model = top.text("model")
    names = top.texts("levels") or ("draft", "ngram", "off")
    levels = tuple(level_named(top.key("levels"), name) for name in names)
    policy = _settings(top.table("policy"), FallbackSettings, levels=levels)
    steps = _settings(top.table("steps"), TransitionSettings)
    audit_log = top.path("audit_log")
    if audit_log is None:
        raise ConfigError("audit_log is missing: the path of the file that decisions are written to")
    interval_s = top.duration("interval", "30s")
    canary, lever = top.flag("canary"), top.table("lever")
    kind, force = lever.text("kind"), bool(lever.take("force", default=False))
    level = policy.home
    if kind == NO_LEVER:
        level = declared_level(lever.key("level"), lever.text("level", policy.home.value), policy)
    lever_table = {**lever.rest(), **({"force": True} if force else {})}
    leader = None if "leader" not in body else top.table("leader").rest()
    source = top.table("source")
    seen = seen_settings(top, source, model, policy)
    pages = _pages(source, policy)
    timeout_s = source.duration("timeout", "10s")
    prometheus = _prometheus(source, timeout_s)
    if (prometheus is None) == (not pages):
        raise ConfigError(
            "[source] needs either prometheus, the URL of an API, or pages, URLs of sidecars by level"
        )
    if pages:
        idle = next((name for name in _OF_PROMETHEUS if name in body["source"]), None)
        if idle is not None:
            raise ConfigError(f"{source.key(idle)} means nothing to pages: it is for prometheus")
        seen = replace(seen, rule=LevelRule(label=LEVEL_LABEL))
    source.end()
    home_cost = _home_cost(top.table("home"))
    top.end()
    if kind == NO_LEVER and lever_table:
        raise ConfigError(f"[lever] {next(iter(lever_table))} means nothing to kind = {NO_LEVER!r}")
    return FallbackConfig(
        model=model,
        audit_log=audit_log,
        interval_s=interval_s,
        policy=policy,
        steps=steps,
        seen=seen,
        prometheus=prometheus,
        pages=pages,
        timeout_s=timeout_s,
        lever=kind,
        lever_table=lever_table,
        leader_table=leader,
        level=level,
        home_cost=home_cost,
        canary=canary,
        force=force,
    )


def _settings(table: ConfigTable, kind: type[Settings], **given: Any) -> Settings:
    """Settings whose keys are their attributes, each with its default."""
    values = dict(given)
    for field in fields(kind):
        if field.name in given:
            continue
        value = table.number(field.name, field.default)  # type: ignore[arg-type]  # every one has a number
        if isinstance(field.default, int):
            if value != int(value):
                raise ConfigError(f"{table.key(field.name)} must be a whole number, got {value}")
            value = int(value)
        values[field.name] = value
    table.end()
    try:
        return kind(**values)
    except ValueError as error:
        raise ConfigError(f"{table.key('')}{error}") from error


def _home_cost(table: ConfigTable) -> HomeCost | None:
    if table.empty:
        return None
    depth = table.number("depth", 1)
    if depth < 1 or depth != int(depth):
        raise ConfigError(f"{table.key('depth')} must be a whole number from 1, got {depth:g}")
    cost = HomeCost(table.text("profile"), table.text("method"), int(depth))
    table.end()
    return cost


def _pages(source: ConfigTable, policy: FallbackSettings) -> dict[Level, tuple[str, ...]]:
    table = source.table("pages")
    found: dict[Level, tuple[str, ...]] = {}
    for name in policy.levels:
        value = table.take(name.value, [])
        urls = tuple(value) if isinstance(value, list) else (value,)
        for url in urls:
            _check_url(table.key(name.value), url)
        if urls:
            found[name] = urls
    table.end()
    return found


def _prometheus(source: ConfigTable, timeout_s: float) -> PrometheusAddress | None:
    url = source.take("prometheus")
    headers = label_table(source.key("headers"), source.take("headers", {}))
    token_file, ca_file = source.path("token_file"), source.path("ca_file")
    insecure, matchers = source.flag("insecure"), source.text("match", "")
    if url is None:
        return None
    _check_url(source.key("prometheus"), url)
    return PrometheusAddress(url, headers, token_file, ca_file, insecure, timeout_s, matchers)


def _check_url(key: str, url: Any) -> None:
    try:
        setting_values.page_url(url if isinstance(url, str) else "")
    except ValueError as error:
        raise ConfigError(f"{key} cannot be used as a URL: {error}") from error
