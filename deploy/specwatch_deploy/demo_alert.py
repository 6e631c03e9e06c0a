"""The alert that a person gets for what the demonstration shows: the shipped alert as Slack shows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry
from rich.console import Group, RenderableType
from rich.text import Text

from specwatch_alerts.definition import AlertDefinition, load_definitions
from specwatch_alerts.slack.block_view import render_blocks
from specwatch_alerts.slack.evidence import Evidence, Pair, Payoff
from specwatch_alerts.slack.group_view import AlertView, GroupView
from specwatch_alerts.slack.message import compose
from specwatch_alerts.slack.payload import Status
from specwatch_deploy.demo_counts import CountLog
from specwatch_exporters.demo.moment import Moment
from specwatch_exporters.payoff_catalog import SPEEDUP

NAMESPACE: Final = "demo"
_LOOK_S: Final = 4.0
"""A verdict is this old before it is shown: by then its evidence is more than a second's."""
_PAYS: Final = "SpecwatchDraftDrifted"
_PAYS_NOT: Final = "SpecwatchDraftDriftedNotPaying"
_LINKS: Final = {
    "runbook_url": "https://example.com/specwatch/runbooks/{name}.md",
    "dashboard_url": "https://grafana.example.com/d/specwatch-speculation?var-namespace=demo&var-model={model}",
}


class DemoAlert:
    """Shows the alert once, with the figures of the moment.

    Args:
        wall: seconds since the epoch.
    """

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._classes: dict[str, float | None] = {}
        self._counts = CountLog()
        self._shown = False

    def look(self, moment: Moment, registry: CollectorRegistry) -> RenderableType | None:
        """What a person is told now, or None.

        Args:
            moment: what the demonstration shows.
            registry: the scrape sidecar's metrics, from which the alert's own series are read.
        """
        judged = moment.judgement
        if judged is None or self._shown:
            return None
        self._counts.add(moment.elapsed_s, registry.collect(), judged.model)
        if judged.state == "ok":
            self._classes = {row.name: row.length for row in moment.classes}
        if judged.state != "drifted" or not judged.cause or (judged.since_s or 0.0) < _LOOK_S:
            return None
        self._shown = True
        payoff = _payoff(registry, judged.model)
        pays_not = payoff is not None and payoff.upper is not None and payoff.upper < 1.0
        definition = next(one for one in load_definitions() if one.name == (_PAYS_NOT if pays_not else _PAYS))
        now = self._wall()
        message = compose(_group(definition, moment, now), self._evidence(moment, payoff), now)
        rule = definition.rules[0]
        said = Text(
            f"In Slack, once this has lasted {rule.wait}: {definition.name} ({rule.severity})", style="bold"
        )
        return Group(said, render_blocks(message.blocks))

    def _evidence(self, moment: Moment, payoff: Payoff | None) -> Evidence:
        """Length and positions since the drift began, as the verdict has them; classes of the last seconds."""
        judged = moment.judgement
        counts = self._counts.since(moment.elapsed_s - ((judged and judged.since_s) or 0.0))
        rates = zip(moment.baseline, counts.rates, strict=False)
        last = f", last {moment.window_s:.0f} s"
        return Evidence(
            length=Pair("all", counts.baseline or moment.baseline_length, counts.length),
            positions=tuple(Pair(str(at), before, after) for at, (before, after) in enumerate(rates)),
            classes=tuple(Pair(row.name + last, self._classes.get(row.name), row.length) for row in moment.classes),
            payoff=payoff,
            waiting=None if moment.report is None else moment.report.waiting,
            changes=tuple(f"{moment.elapsed_s - at:.0f} s ago: {text}" for at, text in _changes(moment))[-3:],
        )


def _changes(moment: Moment) -> list[tuple[float, str]]:
    """What happened to the engine; the verdict is what the alert is about and no change."""
    return [(one.at_s, one.text) for one in moment.events if one.alarming and not one.text.startswith("verdict")]


def _payoff(registry: CollectorRegistry, model: str) -> Payoff | None:
    """Where speculation pays least."""
    bounds: dict[str, dict[str, float]] = {}
    for family in registry.collect():
        for sample in family.samples if family.name == SPEEDUP.name else ():
            if sample.labels["model"] == model:
                bounds.setdefault(sample.labels["batch"], {})[sample.labels["bound"]] = sample.value
    known = {batch: own for batch, own in bounds.items() if "estimate" in own}
    if not known:
        return None
    batch = min(known, key=lambda name: known[name]["estimate"])
    own = known[batch]
    return Payoff(batch, own.get("lower"), own["estimate"], own.get("upper"))


def _group(definition: AlertDefinition, moment: Moment, now: float) -> GroupView:
    judged = moment.judgement
    model = "" if judged is None else judged.model
    labels = {
        "alertname": definition.name,
        "severity": definition.rules[0].severity,
        "component": definition.component,
        "model": model,
        "namespace": NAMESPACE,
    }
    annotations = {
        "summary": definition.summary,
        "impact": definition.impact,
        "description": "" if judged is None else judged.headline,
        "cause": "" if judged is None else judged.cause,
        **{name: link.format(name=definition.name, model=model) for name, link in _LINKS.items()},
    }
    began = now if judged is None else now - (judged.since_s or 0.0)
    return GroupView(
        group="demo",
        receiver="demo",
        group_labels={name: labels[name] for name in ("alertname", "model", "namespace")},
        common_labels=labels,
        external_url="https://alertmanager.example.com",
        firing=1,
        resolved=0,
        truncated=0,
        began=began,
        ended=None,
        pages=definition.rules[0].severity == "page",
        alerts=(AlertView(Status.FIRING, began, None, labels, annotations),),
        pods=("vllm-0",),
        pod_count=1,
    )
