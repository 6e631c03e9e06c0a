"""Events over all panels of a dashboard: what changed."""

from __future__ import annotations

from dataclasses import dataclass

from specwatch_dashboards.grafana.datasource import BUILT_IN, DATASOURCE
from specwatch_dashboards.grafana.plain_json import Json


@dataclass(frozen=True, slots=True)
class Event:
    """A kind of event.

    Attributes:
        name: what it is called.
        expr: has a sample in the minute of an event, and none else.
        title: heading of one event, with `{{label}}`.
        text: the rest, with `{{label}}`.
        color: of its lines.
    """

    name: str
    expr: str
    title: str
    text: str
    color: str

    def body(self) -> Json:
        """Its JSON."""
        return {
            "name": self.name,
            "datasource": DATASOURCE,
            "enable": True,
            "hide": False,
            "iconColor": self.color,
            "expr": self.expr,
            "step": "60s",
            "titleFormat": self.title,
            "textFormat": self.text,
            "tagKeys": "",
            "useValueForTime": False,
        }


def event_list(events: tuple[Event, ...]) -> Json:
    """All events of a dashboard, with those that people write down by hand."""
    by_hand = {
        "name": "Annotations & Alerts",
        "builtIn": 1,
        "datasource": BUILT_IN,
        "enable": True,
        "hide": True,
        "iconColor": "rgba(0, 211, 255, 1)",
        "type": "dashboard",
    }
    return {"list": [by_hand, *(event.body() for event in events)]}
