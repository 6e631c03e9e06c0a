"""Alert definitions: one TOML file per alert in `alerts/`, read and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

from specwatch_alerts.origin import Origin
from specwatch_alerts.slo import objectives

SEVERITIES: Final = ("page", "ticket", "info")
COMPONENTS: Final = ("cost", "draft", "errors", "fallback", "latency", "monitoring", "queue", "scaler")
DASHBOARDS: Final = ("capacity", "draft", "fallback", "latency", "speculation")
_KEYS: Final = frozenset({"component", "summary", "impact", "dashboard", "since"})
_RULE_KEYS: Final = frozenset({"severity", "for", "keep_firing_for", "description", "expr"})


class DefinitionError(ValueError):
    """A definition's file is wrong; the message names the file and the key."""


@dataclass(frozen=True, slots=True)
class AlertRule:
    """One rule of an alert.

    Attributes:
        severity: `page`, `ticket` or `info`.
        wait: how long the expression must hold (`for`), with placeholders.
        keep: how long the alert stays after it has ended (`keep_firing_for`).
        description: annotation, with placeholders.
        expr: expression by origin, with placeholders; empty for the rules of an objective.
        labels: fixed labels of its own; two rules of one severity need them to be told apart.
    """

    severity: str
    wait: str
    keep: str
    description: str
    expr: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)

    def expression(self, origin: Origin) -> str | None:
        """The expression for an origin, or None if it has none."""
        return next((self.expr[key] for key in origin.keys if key in self.expr), None)


@dataclass(frozen=True, slots=True)
class AlertDefinition:
    """One alert.

    Attributes:
        name: alert name, and the name of its file and of its runbook.
        component: what it is about; one of `COMPONENTS`.
        summary: one line without values, so that notifications group.
        impact: what it means to users, in one sentence.
        dashboard: which dashboard to open; one of `DASHBOARDS`.
        since: how far back its link looks.
        rules: one per severity or cause.
        slo: name of the objective whose budget burns, or None.
    """

    name: str
    component: str
    summary: str
    impact: str
    dashboard: str
    since: str
    rules: tuple[AlertRule, ...]
    slo: str | None = None

    @property
    def severities(self) -> tuple[str, ...]:
        """Its severities, the most urgent first."""
        own = {rule.severity for rule in self.rules}
        return tuple(severity for severity in SEVERITIES if severity in own)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Origins that it can be built for."""
        if self.slo is not None:
            objective = next(one for one in objectives() if one.name == self.slo)
            return tuple(origin for origin in Origin if objective.has(origin))
        return tuple(origin for origin in Origin if any(rule.expression(origin) for rule in self.rules))


@cache
def load_definitions() -> tuple[AlertDefinition, ...]:
    """The alerts that come with specwatch, by name.

    Raises:
        DefinitionError: a file is wrong.
    """
    folder = files("specwatch_alerts") / "alerts"
    names = sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))
    return tuple(parse_definition(name, (folder / f"{name}.toml").read_text(encoding="utf-8")) for name in names)


def parse_definition(name: str, text: str) -> AlertDefinition:
    """Read one definition.

    Raises:
        DefinitionError: it is no TOML, or a key is missing, unknown or has an impossible value.
    """
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DefinitionError(f"{name}.toml is not TOML: {error}") from error
    slo = body.pop("slo", None)
    rows = body.pop("rules", [])
    _same_keys(name, body, _KEYS)
    for key, allowed in (("component", COMPONENTS), ("dashboard", DASHBOARDS)):
        if body[key] not in allowed:
            raise DefinitionError(f"{name}.toml: {key} is {body[key]!r}; it must be one of {', '.join(allowed)}")
    if slo is None and not rows:
        raise DefinitionError(f"{name}.toml has neither rules nor an objective")
    rules = tuple(_rule(name, row) for row in rows) if slo is None else _burn_rules(name, slo)
    return AlertDefinition(name, rules=rules, slo=slo, **{key: str(body[key]) for key in sorted(_KEYS)})


def _rule(name: str, row: Mapping[str, Any]) -> AlertRule:
    labels = {key: str(text) for key, text in row.get("labels", {}).items()}
    _same_keys(name, {key: row[key] for key in row if key != "labels"}, _RULE_KEYS)
    if row["severity"] not in SEVERITIES:
        raise DefinitionError(f"{name}.toml: severity is {row['severity']!r}; it must be one of {SEVERITIES}")
    expr = {key: str(text).strip() for key, text in row["expr"].items()}
    odd = set(expr) - {"any", "engine", *Origin}
    if odd:
        raise DefinitionError(f"{name}.toml: unknown origin {', '.join(sorted(odd))}")
    return AlertRule(row["severity"], row["for"], row["keep_firing_for"], row["description"], expr, labels)


def _burn_rules(name: str, slo: str) -> tuple[AlertRule, ...]:
    objective = next((one for one in objectives() if one.name == slo), None)
    if objective is None:
        raise DefinitionError(f"{name}.toml: no objective {slo!r} in slos/")
    said = f"of requests {objective.broken}"
    allowed = f"The objective is @{{slo.{slo}.target}}"
    spent = {
        "page": "at this rate the budget of 30 days is gone within five days",
        "ticket": "at this rate the budget of 30 days does not last",
    }
    return tuple(
        AlertRule(
            severity,
            wait,
            keep,
            f"@{{where}}: {{{{ $value | humanizePercentage }}}} {said}, over the last {span}. "
            f"{allowed}: {spent[severity]}.",
            {},
        )
        for severity, wait, keep, span in (
            ("page", "2m", "5m", "hour or six"),
            ("ticket", "30m", "30m", "three days"),
        )
    )


def _same_keys(name: str, row: Mapping[str, Any], keys: frozenset[str]) -> None:
    missing, odd = sorted(keys - set(row)), sorted(set(row) - keys)
    if missing or odd:
        what = f"missing: {', '.join(missing)}" if missing else f"unknown: {', '.join(odd)}"
        raise DefinitionError(f"{name}.toml: {what}")
