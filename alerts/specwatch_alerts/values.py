"""The values file: every parameter of the rules, with its default, checked against what the default is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from specwatch_alerts.durations import seconds_of
from specwatch_alerts.value_limits import fault_of, severity_fault

# Tables whose keys are the user's own.
_FREE: Final = frozenset({"alerts.severity", "labels", "prometheusrule.labels"})
# Labels that the rules set themselves.
_OURS: Final = frozenset({"alertname", "component", "severity", "signal"})
_NOWHERE: Final = "example.com"
_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class ValuesError(ValueError):
    """The values cannot be used; the message is one line and names the key."""


@dataclass(frozen=True, slots=True)
class Values:
    """Parameters by dotted name, such as `slo.ttft.seconds`."""

    flat: Mapping[str, Any]
    tables: Mapping[str, Mapping[str, str]]

    def text(self, name: str) -> str:
        """The parameter as text."""
        return str(self.flat[name])

    def number(self, name: str) -> float:
        """The parameter as a number."""
        return float(self.flat[name])

    def names(self, name: str) -> tuple[str, ...]:
        """The parameter as a list of names."""
        return tuple(self.flat[name])

    @property
    def example_links(self) -> tuple[str, ...]:
        """Links that still are the shipped examples and lead nowhere."""
        hosts = {name: urlsplit(self.text(name)).hostname or "" for name in ("links.runbook", "links.dashboard")}
        return tuple(name for name, host in hosts.items() if host == _NOWHERE or host.endswith(f".{_NOWHERE}"))

    def seconds(self, name: str) -> float:
        """The parameter, a duration, in seconds."""
        return seconds_of(self.text(name))


def load_values(path: Path | None = None) -> Values:
    """The shipped values, with those of a file laid over them.

    Raises:
        ValuesError: the file cannot be read, or a key is unknown or has an impossible value.
    """
    shipped = (files("specwatch_alerts") / "values.toml").read_text(encoding="utf-8")
    own = "" if path is None else _read(path)
    return parse_values(shipped, own, "the values" if path is None else path.name)


def parse_values(shipped: str, own: str, where: str) -> Values:
    """Lay `own` over `shipped`, both TOML.

    Raises:
        ValuesError: see `load_values`.
    """
    defaults = dict(_flatten(tomllib.loads(shipped)))
    try:
        given = dict(_flatten(tomllib.loads(own)))
    except tomllib.TOMLDecodeError as error:
        raise ValuesError(f"{where} is not TOML: {error}") from error
    tables = {name: {**defaults.pop(name, {}), **_labels(where, name, given.pop(name, {}))} for name in _FREE}
    for name, value in given.items():
        if name not in defaults:
            raise ValuesError(f"{where}: unknown key {name}")
        defaults[name] = _like(where, name, value, defaults[name])
    severities = {name: str(defaults[f"severities.{name}"]) for name in ("page", "ticket", "info")}
    faults = (*(fault_of(name, value) for name, value in defaults.items()), severity_fault(severities))
    for fault in faults:
        if fault is not None:
            raise ValuesError(f"{where}: {fault}")
    return Values(defaults, tables)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ValuesError(f"cannot read {path}: {reason}") from error


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and name not in _FREE:
            yield from _flatten(value, f"{name}.")
        else:
            yield name, value


def _labels(where: str, name: str, table: Any) -> dict[str, str]:
    if not isinstance(table, dict):
        raise ValuesError(f"{where}: {name} must be a table of labels")
    for key, value in table.items():
        if not isinstance(value, str) or (name == "labels" and not _LABEL.fullmatch(key)):
            raise ValuesError(f"{where}: {name}.{key} must be a label's name with a text")
        if "{{" in value:
            raise ValuesError(f"{where}: {name}.{key} must be a fixed text; a label that changes makes a new alert")
        if name == "labels" and key in _OURS:
            raise ValuesError(f"{where}: labels.{key} is set by the rules; see [severities] and [alerts.severity]")
    return dict(table)


def _like(where: str, name: str, value: Any, default: Any) -> Any:
    """The value, if it is of the kind of the default."""
    if isinstance(default, list):
        fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
        kind = "a list of names"
    elif isinstance(default, str):
        fits, kind = isinstance(value, str), "text"
    else:
        fits, kind = isinstance(value, int | float) and not isinstance(value, bool), "a number"
    if not fits:
        raise ValuesError(f"{where}: {name} must be {kind}, not {value!r}")
    return value
