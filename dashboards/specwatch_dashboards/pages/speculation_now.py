"""The top line of the first page: the answer in ten seconds."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.links import PanelLink
from specwatch_dashboards.grafana.number_panels import stat
from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.table import Column, table
from specwatch_dashboards.grafana.values import BAD, GOOD, QUIET, WATCH, Shown, steps
from specwatch_dashboards.pages.burn import burn
from specwatch_dashboards.pages.frame import (
    DRAFT,
    DRIFT_TEXTS,
    FALLBACK,
    LATENCY,
    LEVEL,
    LEVEL_TEXTS,
)
from specwatch_dashboards.pages.tau import SPEEDUP, VERDICT
from specwatch_dashboards.promql import (
    MODEL_NAME,
    NAMESPACE_PODS,
    few,
    or_idle,
    told,
)

_TO_DRAFT: Final = (PanelLink("Draft quality", DRAFT),)
_TO_LATENCY: Final = (PanelLink("Tail latency and queue", LATENCY),)
_TO_FALLBACK: Final = (PanelLink("Fallback and canary", FALLBACK),)
SEVERITIES: Final = (Shown(3, "page", BAD), Shown(2, "ticket", WATCH), Shown(1, "info", QUIET))
# An alert about a pod or a node names no model; Grafana would say "None firing" in an empty cell.
_NAMED: Final = 'alertname=~"Specwatch.+", namespace=~"$namespace|", model=~"$model|"'
_RANKED: Final = "\nor ".join(
    f"{one.value} * group by (alertname, model, namespace) "
    f'(ALERTS{{alertstate="firing", severity="{one.text}", {_NAMED}}})'
    for one in SEVERITIES
)
FIRING: Final = f'label_replace(\n{_RANKED},\n"model", "-", "model", "")'
_OLDEST: Final = f"max(specwatch_request_oldest_waiting_seconds{{{NAMESPACE_PODS}}})"


def verdicts_now() -> tuple[Panel, ...]:
    """Six answers in one line: paying, draft, level, budget, oldest request, alerts."""
    return (
        stat(
            About(
                "Speed-up by speculation",
                "Tokens per second with speculation over those without, median over pods and batch sizes seen, "
                "worst models first. Good: above 1; at 1.00x it only costs. Cannot tell: no step times with and "
                "without speculation are known.",
                "suffix:x",
                links=_TO_DRAFT,
                width=4,
                height=5,
            ),
            [Query(told(SPEEDUP, "bottomk"), MODEL_NAME, instant=True)],
            steps(BAD, (1.0, WATCH), (1.05, GOOD)),
            decimals=2,
        ),
        stat(
            About(
                "Draft",
                "Verdict on the draft, worst pod of each model. Good: OK. Watch: evidence grows or only the mix "
                "of traffic moved. Drifted: acceptance has dropped. Cannot tell: learning, testing a deploy, or "
                "no data.",
                "none",
                links=_TO_DRAFT,
                width=3,
                height=5,
            ),
            [Query(few(VERDICT, "topk"), MODEL_NAME, instant=True)],
            steps(QUIET),
            DRIFT_TEXTS,
        ),
        stat(
            About(
                "Level in force",
                "What the fallback lets the engines do. Good: Draft. No data: no fallback controller is there.",
                "none",
                links=_TO_FALLBACK,
                width=3,
                height=5,
            ),
            [Query(few(LEVEL, "topk"), MODEL_NAME, instant=True)],
            steps(QUIET),
            LEVEL_TEXTS,
        ),
        stat(
            About(
                "Budget burn, 1 h",
                "How many times faster than the budget of 30 days allows, worst model of each objective. Good: "
                "below 1x. From 6x on somebody is paged when it lasts 6 h, from 14.4x on within the hour.",
                "suffix:x",
                links=_TO_LATENCY,
                width=4,
                height=5,
            ),
            [Query(or_idle(burn("1h")), "{{slo}}", instant=True)],
            steps(GOOD, (1.0, WATCH), (6.0, BAD)),
            decimals=1,
        ),
        stat(
            About(
                "Oldest wait",
                "Age of the oldest request that still has no first token, over all pods. Good: below a second or "
                "two. Histograms do not show it: they count what has ended.",
                "s",
                links=_TO_LATENCY,
                width=3,
                height=5,
            ),
            [Query(_OLDEST, "oldest", instant=True)],
            steps(GOOD, (5.0, WATCH), (30.0, BAD)),
            decimals=1,
        ),
        _alerts(),
    )


def _alerts() -> Panel:
    return table(
        About(
            "Alerts firing",
            "What fires now, pages first; - is of no single model. Good: nothing. The runbook of an alert: "
            "`specwatch alerts runbook NAME`.",
            "none",
            no_value="None firing",
            width=7,
            height=5,
        ),
        [Query(FIRING, instant=True, form="table")],
        (
            Column("Value", "Severity", "none", shown=SEVERITIES),
            Column("alertname", "Alert"),
            Column("model", "Model"),
        ),
        hidden=("namespace",),
        sort_by=("Severity", True),
    )
