"""Writes rule groups as YAML: a Prometheus rule file, or a PrometheusRule of the Prometheus Operator."""

from __future__ import annotations

from typing import Any, Final

import yaml

from specwatch_alerts.values import Values

_HEADER: Final = (
    "# Made by: specwatch alerts build {arguments}\n# Change the values and build again; changes here are lost.\n"
)


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, lists indented."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        del indentless
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def rule_file(groups: dict[str, Any], arguments: str) -> str:
    """The groups as a Prometheus rule file."""
    return _HEADER.format(arguments=arguments) + _dump(groups)


def prometheus_rule(groups: dict[str, Any], values: Values, arguments: str) -> str:
    """The groups as a PrometheusRule, `monitoring.coreos.com/v1`."""
    metadata: dict[str, Any] = {"name": values.text("prometheusrule.name")}
    if values.text("prometheusrule.namespace"):
        metadata["namespace"] = values.text("prometheusrule.namespace")
    metadata["labels"] = dict(values.tables["prometheusrule.labels"])
    whole = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": metadata,
        "spec": groups,
    }
    return _HEADER.format(arguments=arguments) + _dump(whole)


def _dump(data: dict[str, Any]) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=1_000_000, allow_unicode=True)
