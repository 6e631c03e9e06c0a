"""The first page: is it paying, who is hurt, what changed."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.dashboard import Dashboard
from specwatch_dashboards.grafana.layout import Row
from specwatch_dashboards.grafana.links import PanelLink
from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.state_timeline import state_timeline
from specwatch_dashboards.grafana.table import Column, table
from specwatch_dashboards.grafana.text import text
from specwatch_dashboards.grafana.time_series import Look, time_series
from specwatch_dashboards.grafana.values import BAD, WATCH
from specwatch_dashboards.pages.burn import burn
from specwatch_dashboards.pages.frame import (
    CAPACITY,
    DRAFT,
    DRIFT_TEXTS,
    FALLBACK,
    LATENCY,
    LEVEL,
    LEVEL_TEXTS,
    SPECULATION,
    events,
    variables,
)
from specwatch_dashboards.pages.speculation_now import verdicts_now
from specwatch_dashboards.pages.tau import BASELINE, LENGTH, OVER, SCORE, SPEEDUP, VERDICT, at_positions
from specwatch_dashboards.promql import (
    CLASS,
    CLASSES,
    MODEL,
    MODEL_NAME,
    MODELS,
    idle,
    largest,
    limit,
    quantile,
    total,
)
from specwatch_dashboards.source import Source

_TO_DRAFT: Final = (PanelLink("Draft quality", DRAFT),)
_TO_LATENCY: Final = (PanelLink("Tail latency and queue", LATENCY),)
_TO_FALLBACK: Final = (PanelLink("Fallback and canary", FALLBACK),)
_TO_CAPACITY: Final = (PanelLink("Capacity and cost", CAPACITY),)

_BURN_NOW: Final = burn("5m")
_BREAK_EVEN: Final = largest("specwatch:payoff_break_even:median")
_TOKENS_PER_STEP: Final = largest("specwatch:tokens_per_step:median")


def speculation(source: Source) -> Dashboard:
    """Speculation at a glance."""
    return Dashboard(
        uid=SPECULATION,
        title="specwatch / Speculation at a glance",
        description="Is speculation paying, who is hurt, what changed: the first page for the person on call.",
        variables=variables(),
        events=events(source),
        rows=(
            Row("", verdicts_now()),
            Row("Is it paying?", _paying(source)),
            Row("Who is hurt?", _hurt()),
            Row(
                "What changed? Marks on every panel: deploys, restarts, drift alarms, fallback, scaling",
                _changed(source),
            ),
            Row("How to read this", (_reading(),), collapsed=True),
        ),
    )


def _reading() -> Panel:
    words = (
        "- **No traffic**: engines are there and generate nothing. **Cannot tell**: there is traffic, and nobody "
        "knows. **No data**: nothing is there, or the recording rules are not loaded.\n"
        "- Speed-up below 1x and Draft *OK*: the load is too large for speculation, not the draft too bad.\n"
        "- Draft *Drifted* and speed-up above 1x: it still pays; a ticket, not a page.\n"
        "- Every panel links to the page with the details; variables and time come along."
    )
    return text("How to read this", "What the words on these pages mean.", words, 24, 5)


def _paying(source: Source) -> tuple[Panel, ...]:
    return (
        time_series(
            About(
                "Speed-up over time",
                "Median over pods and batch sizes; the named line is break-even. Good: above it. Below it every "
                "request is slower and every token dearer than without speculation.",
                "suffix:x",
                links=_TO_CAPACITY,
                height=7,
            ),
            [Query(SPEEDUP, MODEL_NAME), Query(limit(1, SPEEDUP), "Break-even at 1x"), idle()],
            Look(soft_high=2, marked=(("Break-even.*", BAD, True),)),
        ),
        time_series(
            About(
                "Tokens per step against break-even",
                "Tokens that a request gets per engine step, and how many it takes to pay at the present batch "
                "size (dashed). Good: the solid line above the dashed one of its model."
                + (
                    ""
                    if source is Source.SIDECAR
                    else " Engines count draft steps only: steps without a draft are left out."
                ),
                "none",
                links=_TO_DRAFT,
                height=7,
            ),
            [
                Query(_TOKENS_PER_STEP if source is Source.SIDECAR else LENGTH, f"got: {MODEL_NAME}"),
                Query(_BREAK_EVEN, f"needed: {MODEL_NAME}"),
                idle(),
            ],
            Look(low=0, marked=(("needed.*", None, True),)),
        ),
        time_series(
            About(
                "Mean acceptance length τ",
                "Tokens per draft step, bonus token included; dashed, the baseline that drift is measured against. "
                "Good: near its baseline.",
                "none",
                links=_TO_DRAFT,
                height=7,
            ),
            [Query(LENGTH, MODEL_NAME), Query(BASELINE, f"baseline: {MODEL_NAME}"), idle()],
            Look(low=1, marked=(("baseline.*", None, True),)),
        ),
    )


def _hurt() -> tuple[Panel, ...]:
    return (
        time_series(
            About(
                "Error budget burn, 5 min",
                "Share of bad requests over the share that the objective allows, worst model of each objective. "
                "Good: below 1x. The named lines are where paging begins when it lasts.",
                "suffix:x",
                links=_TO_LATENCY,
                width=7,
                height=7,
            ),
            [
                Query(_BURN_NOW, "{{slo}}"),
                Query(limit(14.4, _BURN_NOW), "Pages in 1 h (14.4x)"),
                Query(limit(1, _BURN_NOW), "Budget lasts (1x)"),
                idle(),
            ],
            Look(marked=(("Pages.*", BAD, True), ("Budget.*", WATCH, True))),
        ),
        time_series(
            About(
                "Queue wait, 95th percentile",
                "Of requests: from queued to scheduled, as the request sidecar or the plugin says; of the engine: "
                "seen only when a request ends, and not finer than its first bucket. Good: below the objective, 1 "
                "s unless changed.",
                "s",
                links=_TO_LATENCY,
                width=7,
                height=7,
            ),
            [
                Query(
                    quantile(0.95, "specwatch:request_queue_wait_class_bucket:rate5m", MODEL, MODELS),
                    f"requests: {MODEL_NAME}",
                ),
                Query(
                    quantile(0.95, "specwatch:engine_queue_wait_bucket:rate5m", MODEL, MODELS),
                    f"engine: {MODEL_NAME}",
                ),
                idle(),
            ],
            Look(marked=(("engine.*", None, True),)),
        ),
        table(
            About(
                "By model and class, now",
                "95th percentiles of the last minutes, slowest first token on top. Good: every row inside its "
                "objective. A class apart is who is hurt; a model apart is where.",
                "s",
                links=_TO_LATENCY,
                width=10,
                height=7,
            ),
            [
                Query(_tail("ttft"), instant=True, form="table"),
                Query(_tail("inter_token"), instant=True, form="table"),
                Query(_tail("queue_wait"), instant=True, form="table"),
                Query(total("specwatch:request_finished:rate5m", CLASS, CLASSES), instant=True, form="table"),
            ],
            (
                Column("model", "Model"),
                Column("traffic_class", "Class"),
                Column("Value #A", "First token", "s"),
                Column("Value #B", "Per token", "s"),
                Column("Value #C", "Queue wait", "s"),
                Column("Value #D", "Requests", "reqps"),
            ),
            hidden=("namespace", "cluster"),
            sort_by=("First token", True),
        ),
    )


def _tail(what: str) -> str:
    return quantile(0.95, f"specwatch:request_{what}_class_bucket:rate5m", CLASS, CLASSES)


def _changed(source: Source) -> tuple[Panel, ...]:
    now, then = at_positions(source), at_positions(source, "1d")
    health = (
        Query(f"sum by (state) (specwatch:speculation_state:sum{{{MODELS}}})", "{{state}}")
        if source is Source.SIDECAR
        else Query(total("specwatch:engines:count"), f"engines: {MODEL_NAME}")
    )
    return (
        state_timeline(
            About(
                "Verdict on the draft",
                "Worst pod of each model over time. Good: OK all along.",
                "none",
                links=_TO_DRAFT,
                height=7,
            ),
            [Query(VERDICT, MODEL_NAME)],
            DRIFT_TEXTS,
        ),
        state_timeline(
            About(
                "Level in force over time",
                "What the fallback lets the engines do. Good: Draft; a change has a reason on the next page.",
                "none",
                links=_TO_FALLBACK,
                height=7,
            ),
            [Query(LEVEL, MODEL_NAME)],
            LEVEL_TEXTS,
        ),
        time_series(
            About(
                "Drift score over threshold",
                "Evidence that the draft no longer fits, over its threshold. Good: below 0.5. At 1 it is an alarm. "
                "Dashed, in a drift: evidence that it is over, of the pod farthest from it; 1 ends it. "
                "Absent while nothing can be judged.",
                "none",
                links=_TO_DRAFT,
                height=7,
            ),
            [
                Query(SCORE, MODEL_NAME),
                Query(OVER, f"way to the end: {MODEL_NAME}"),
                Query(limit(1, SCORE), "Alarm at 1"),
                idle(),
            ],
            Look(soft_high=1.2, marked=(("Alarm.*", BAD, True), ("way to the end.*", None, True))),
        ),
        table(
            About(
                "Acceptance by position against a day ago",
                "Share of drafts that were kept up to a position, now and at this hour a day ago. Good: no change "
                "beyond a few points. All positions down: the draft is stale. Late ones only: longer or other "
                "text.",
                "percentunit",
                links=_TO_DRAFT,
                width=12,
            ),
            [
                Query(now, instant=True, form="table"),
                Query(then, instant=True, form="table"),
                Query(f"100 * ({now} - {then})", instant=True, form="table"),
            ],
            (
                Column("model", "Model"),
                Column("namespace", "Namespace"),
                Column("position", "Position"),
                Column("Value #A", "Now", "percentunit", 1.0),
                Column("Value #B", "A day ago", "percentunit", 1.0),
                Column("Value #C", "Change", "suffix: points"),
            ),
            sort_by=("Position", False),
        ),
        time_series(
            About(
                "Engines by state" if source is Source.SIDECAR else "Engines",
                "Models on engines by what they do: active drafts; off generates without drafts; idle; unknown: "
                "the engine does not say; stale: no fresh page. Good: active or idle, and as many as before."
                if source is Source.SIDECAR
                else "Engines that serve each model. Good: as many as before, or as many as the scaler wants.",
                "none",
                links=_TO_CAPACITY,
                width=12,
            ),
            [health],
            Look(stacked=True, steps=True),
        ),
    )
