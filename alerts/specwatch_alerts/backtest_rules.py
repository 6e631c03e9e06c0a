"""The rules that a backtest runs, read from a rule file, a PrometheusRule object, or what was just built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from specwatch_alerts.durations import seconds_of

_INTERVAL: Final = "1m"


class BacktestError(ValueError):
    """The backtest cannot be done; the message is one line."""


@dataclass(frozen=True, slots=True)
class AlertingRule:
    """One alerting rule.

    Attributes:
        name: of the alert; several rules may share it.
        expression: PromQL; what it gives is an alert.
        labels: that the rule adds, `severity` among them.
        for_s: seconds that it must hold before it fires.
        keep_firing_s: seconds that it fires on after it has ended.
    """

    name: str
    expression: str
    labels: Mapping[str, str] = field(default_factory=dict)
    for_s: float = 0.0
    keep_firing_s: float = 0.0

    @property
    def severity(self) -> str:
        """The label, or nothing."""
        return self.labels.get("severity", "")


@dataclass(frozen=True, slots=True)
class RecordingRule:
    """One recording rule.

    Attributes:
        name: of the series.
        expression: PromQL.
        labels: that it adds.
        interval: of its group, as Prometheus writes durations: the spacing of its samples.
    """

    name: str
    expression: str
    labels: Mapping[str, str] = field(default_factory=dict)
    interval: str = _INTERVAL


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Alerting rules, and the recording rules that they may read."""

    alerts: tuple[AlertingRule, ...]
    recordings: tuple[RecordingRule, ...] = ()


def read_rules(path: Path) -> RuleSet:
    """Read a rule file of Prometheus, or a PrometheusRule object.

    Raises:
        BacktestError: it cannot be read, or is neither.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BacktestError(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise BacktestError(f"{path} is not YAML: {' '.join(str(error).split())[:160]}") from error
    try:
        return rule_set(document)
    except BacktestError as error:
        raise BacktestError(f"{path}: {error}") from error


def rule_set(document: Any) -> RuleSet:
    """Rules of plain data: `groups`, at the top or under `spec`.

    Raises:
        BacktestError: there are no groups, or a rule lacks what it must have.
    """
    if isinstance(document, Mapping) and isinstance(document.get("spec"), Mapping):
        document = document["spec"]
    groups = document.get("groups") if isinstance(document, Mapping) else None
    if not isinstance(groups, list):
        raise BacktestError("no `groups` in it: it is neither a rule file nor a PrometheusRule")
    alerts, recordings = [], []
    for interval, rule in _rules(groups):
        if "alert" in rule:
            alerts.append(_alerting(rule))
        else:
            recordings.append(RecordingRule(rule["record"], rule["expr"], _labels(rule), interval))
    if not alerts:
        raise BacktestError("no alerting rule in it")
    return RuleSet(tuple(alerts), tuple(recordings))


def _rules(groups: list[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for group in groups:
        rules = group.get("rules") if isinstance(group, Mapping) else None
        if not isinstance(rules, list):
            raise BacktestError("a group without `rules`")
        for rule in rules:
            known = isinstance(rule, Mapping) and ("alert" in rule) != ("record" in rule)
            if not known or not isinstance(rule.get("expr"), str | int | float):
                raise BacktestError(
                    f"in group {group.get('name', '?')}: a rule needs `alert` or `record`, and `expr`"
                )
            yield str(group.get("interval", _INTERVAL)), {**rule, "expr": str(rule["expr"]).strip()}


def _alerting(rule: Mapping[str, Any]) -> AlertingRule:
    name = str(rule["alert"])
    return AlertingRule(
        name,
        rule["expr"],
        _labels(rule),
        _seconds(name, "for", rule),
        _seconds(name, "keep_firing_for", rule),
    )


def _labels(rule: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in (rule.get("labels") or {}).items()}


def _seconds(name: str, key: str, rule: Mapping[str, Any]) -> float:
    try:
        return seconds_of(str(rule.get(key, "0s")))
    except ValueError as error:
        raise BacktestError(f"{name}, {key}: {error}") from error
