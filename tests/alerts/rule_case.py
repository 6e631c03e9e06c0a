"""Cases of the rules: what is changed in a healthy world, and which alerts fire then; all the others must not."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from alerts.rule_world import World, changed, healthy, input_series
from specwatch_alerts.definition import load_definitions
from specwatch_alerts.durations import seconds_of
from specwatch_alerts.origin import Origin

FOLDER: Final = Path(__file__).parent / "rule_cases"
# What a label is in the healthy worlds; a case names only labels that differ.
USUAL: Final = {
    "namespace": "serving",
    "model": "llama",
    "pod": "vllm-0",
    "instance": "a:9400",
    "horizontalpodautoscaler": "keda-hpa-llama",
    "Hostname": "node-1",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One case.

    Attributes:
        name: what it shows.
        origin: whose world and rules.
        at: when promtool looks, as a duration from the start.
        world: all series.
        fires: labels of every alert that fires, by its name; other alerts are quiet.
        every: evaluation interval.
        values: values of the rules that differ from the shipped ones, as TOML.
    """

    name: str
    origin: Origin
    at: str
    world: World
    fires: Mapping[str, list[dict[str, str]]]
    every: str = "1m"
    values: str = ""

    def as_test(self, names: list[str]) -> dict[str, Any]:
        """The case as a test group of promtool: every alert is asked for."""
        minutes = int(seconds_of(self.at) / 60) + 1
        return {
            "name": f"{self.origin.value}: {self.name}",
            "interval": "1m",
            "input_series": input_series(self.world, minutes),
            "alert_rule_test": [
                {
                    "eval_time": self.at,
                    "alertname": name,
                    "exp_alerts": [{"exp_labels": labels} for labels in self.fires.get(name, [])],
                }
                for name in names
            ],
        }


def read_cases(path: Path) -> list[Case]:
    """All cases of a file; a case that names several origins is one case for each."""
    body = tomllib.loads(path.read_text())
    return [
        Case(
            row["name"],
            origin,
            row.get("at", "2h"),
            changed(
                {} if row.get("empty") else healthy(origin), {**row.get("change", {}), **row.get(origin.value, {})}
            ),
            _fires(path.stem, body.get("labels", []), row.get("fires", [])),
            row.get("every", "1m"),
            row.get("values", ""),
        )
        for row in body["cases"]
        for origin in map(Origin, row["origins"])
    ]


def _fires(name: str, labels: list[str], rows: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    """Full labels: those the alert keeps, those of the rule, and what the row says; an empty one is absent."""
    components = {one.name: one.component for one in load_definitions()}
    found: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        alert = row.get("alert", name)
        kept = {label: USUAL[label] for label in labels} if alert == name else {}
        own = {key: value for key, value in row.items() if key != "alert"}
        whole = {"component": components[alert], **kept, **own}
        found.setdefault(alert, []).append({key: value for key, value in whole.items() if value})
    return found
