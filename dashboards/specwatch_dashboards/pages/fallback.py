"""Fallback and canary: what was decided, why, and what it saved."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.dashboard import Dashboard
from specwatch_dashboards.grafana.layout import Row
from specwatch_dashboards.grafana.links import PanelLink
from specwatch_dashboards.grafana.number_panels import stat
from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.state_timeline import state_timeline
from specwatch_dashboards.grafana.table import Column, table
from specwatch_dashboards.grafana.time_series import Look, time_series
from specwatch_dashboards.grafana.values import BAD, GOOD, PLAIN, QUIET, WATCH, Shown, steps
from specwatch_dashboards.pages.fallback_pools import pool_panels
from specwatch_dashboards.pages.frame import (
    DRAFT,
    FALLBACK,
    LEVEL,
    LEVEL_TEXTS,
    SPECULATION,
    events,
    variables,
)
from specwatch_dashboards.promql import (
    MODEL,
    MODEL_NAME,
    MODELS,
    few,
    largest,
)
from specwatch_dashboards.source import Source

_TO_FIRST: Final = (PanelLink("Speculation at a glance", SPECULATION),)
_TO_DRAFT: Final = (PanelLink("Draft quality", DRAFT),)
_YES_NO: Final = (Shown(0, "No", GOOD), Shown(1, "Yes", BAD))
_ACTING: Final = (Shown(0, "Advises only", WATCH), Shown(1, "Acts", GOOD))
_STEPS: Final = (Shown(0, "Steady", GOOD), Shown(1, "Moving traffic", PLAIN), Shown(2, "Probing", WATCH))
_OFF_DRAFT: Final = f'(1 - max by ({MODEL}) (specwatch_fallback_share_ratio{{level="draft", {MODELS}}}))'
# What the draft would cost now is unknown while it is not used: its lowest speed-up of the last day stands for it.
_LOWEST: Final = f"max by ({MODEL}) (min_over_time(specwatch:payoff_speedup:median{{{MODELS}}}[1d]))"
_WOULD_LOSE: Final = f"clamp_min(1 - {_LOWEST}, 0)"
_AVOIDED: Final = f"{_OFF_DRAFT} * on ({MODEL}) {_WOULD_LOSE}"


def fallback(source: Source) -> Dashboard:
    """Fallback and canary."""
    return Dashboard(
        uid=FALLBACK,
        title="specwatch / Fallback and canary",
        description="Which level of speculation is in force, what the controller decided and why, the pools side "
        "by side, and what it saved.",
        variables=variables(),
        events=events(source),
        rows=(
            Row("", _now()),
            Row("Levels", _levels()),
            Row("Decisions", _decisions()),
            Row("What it saved", _saved()),
            Row("Pools side by side", pool_panels()),
        ),
    )


def _now() -> tuple[Panel, ...]:
    def one(
        title: str,
        description: str,
        expr: str,
        thresholds: dict[str, object],
        shown: tuple[Shown, ...] = (),
        unit: str = "none",
    ) -> Panel:
        about = About(title, description, unit, width=4, height=4, links=_TO_FIRST)
        return stat(about, [Query(expr, MODEL_NAME, instant=True)], thresholds, shown)

    return (
        one("Level in force", "Good: Draft.", few(LEVEL, "topk"), steps(QUIET), LEVEL_TEXTS),
        one(
            "Controller",
            "Advises only: a dry run, it moves nothing. Good: what you meant it to do.",
            few(largest("specwatch_fallback_acting"), "bottomk"),
            steps(QUIET),
            _ACTING,
        ),
        one(
            "Latched",
            "Yes: too many switches in a day, nothing moves until somebody has looked. Good: No.",
            few(largest("specwatch_fallback_latched"), "topk"),
            steps(QUIET),
            _YES_NO,
        ),
        one(
            "Switches left today",
            "What the limit of a day still allows. Good: more than one.",
            few(f"min by ({MODEL}) (specwatch_fallback_switches_left{{{MODELS}}})", "bottomk"),
            steps(BAD, (1.0, WATCH), (2.0, GOOD)),
        ),
        one(
            "Since the last round",
            "Age of the controller's last round. Good: below a minute. It grows when the controller is dead.",
            few(f"time() - {largest('specwatch_fallback_round_timestamp_seconds')}", "topk"),
            steps(GOOD, (120.0, WATCH), (300.0, BAD)),
            unit="s",
        ),
        one(
            "Since the last decision",
            "Age of the last decision that was more than to stay. Good: hours. No data: none so far.",
            few(f"time() - {largest('specwatch_fallback_decision_timestamp_seconds')}", "bottomk"),
            steps(QUIET),
            unit="s",
        ),
    )


def _levels() -> tuple[Panel, ...]:
    moving = (
        f"max by ({MODEL}) (2 * (specwatch_fallback_probe_under_way{{{MODELS}}} == 1)\n"
        f"or specwatch_fallback_transition_under_way{{{MODELS}}})"
    )
    return (
        state_timeline(
            About("Level in force", "Good: Draft, and few changes.", "none", width=12, height=6, links=_TO_DRAFT),
            [Query(LEVEL, MODEL_NAME)],
            LEVEL_TEXTS,
        ),
        state_timeline(
            About(
                "Moving or probing",
                "Probing: a share of traffic, or a canary, tries the level above. Good: Steady, with probes after "
                "a fallback.",
                "none",
                width=12,
                height=6,
            ),
            [Query(moving, MODEL_NAME)],
            _STEPS,
        ),
        time_series(
            About(
                "Share of traffic by level",
                "What the lever gives to each level. Good: all on one level but while moving or probing.",
                "percentunit",
                width=12,
            ),
            [Query(f"max by ({MODEL}, level) (specwatch_fallback_share_ratio{{{MODELS}}})", "{{level}} {{model}}")],
            Look(high=1, steps=True),
        ),
        time_series(
            About(
                "Speed-up by speculation",
                "Why a level is left: below 1 it costs more than it gives. Good: above the named line.",
                "suffix:x",
                width=12,
                links=_TO_DRAFT,
            ),
            [
                Query(largest("specwatch:payoff_speedup:median"), MODEL_NAME),
                Query("0 * group(specwatch:payoff_speedup:median) + 1", "Break-even at 1x"),
            ],
            Look(soft_high=2, marked=(("Break-even.*", BAD, True),)),
        ),
    )


def _decisions() -> tuple[Panel, ...]:
    def counted(series: str, by: str) -> str:
        now = f"sum by ({by}) ({series}{{{MODELS}}})"
        return f"(({now} - {now[:-1]} offset $__range)) >= 0 or {now}) > 0"

    moves = "cluster, namespace, model, from, to, reason"
    vetoes = "cluster, namespace, model, veto"
    return (
        table(
            About(
                "Moves of the time range, with reasons",
                "Finished movements of traffic. Good: none, or a probe that ended home. not_paying: it lost; "
                "pays_again: it came back; undone: taken back. The whole record: `specwatch fallback history`.",
                "none",
                no_value="No move",
                width=12,
            ),
            [Query(counted("specwatch_fallback_transitions_total", moves), instant=True, form="table")],
            (
                Column("model", "Model"),
                Column("namespace", "Namespace"),
                Column("from", "From"),
                Column("to", "To"),
                Column("reason", "Reason"),
                Column("Value", "Times", "none"),
            ),
            hidden=("cluster",),
            sort_by=("Times", True),
        ),
        table(
            About(
                "Refusals of the time range, with reasons",
                "Why the controller stood still. Good: none, or `regret`: not enough was lost yet to be worth a "
                "switch. latched, lever, foreign: somebody must look.",
                "none",
                no_value="None refused",
                width=12,
            ),
            [Query(counted("specwatch_fallback_refused_total", vetoes), instant=True, form="table")],
            (
                Column("model", "Model"),
                Column("namespace", "Namespace"),
                Column("veto", "Veto"),
                Column("Value", "Times", "none"),
            ),
            hidden=("cluster",),
            sort_by=("Times", True),
        ),
        state_timeline(
            About(
                "Veto in force",
                "Why the controller stood still in its last round. Good: none, or short ones.",
                "none",
                no_value="No veto",
                width=12,
                height=6,
            ),
            [Query(f"max by ({MODEL}, veto) (specwatch_fallback_veto{{{MODELS}}}) > 0", "{{veto}} {{model}}")],
            (Shown(1, "Vetoed", WATCH),),
        ),
        state_timeline(
            About(
                "Trouble",
                "What fails: source, lever, health, audit, command, leader, clock, internal. Good: nothing.",
                "none",
                no_value="No trouble",
                width=12,
                height=6,
            ),
            [Query(f"max by ({MODEL}, kind) (specwatch_fallback_trouble{{{MODELS}}}) > 0", "{{kind}} {{model}}")],
            (Shown(1, "Fails", BAD),),
        ),
    )


def _saved() -> tuple[Panel, ...]:
    return (
        stat(
            About(
                "Regret avoided in the time range, estimate",
                "Seconds of the whole capacity that the draft would have lost while traffic was off it, if its "
                "lowest speed-up of the last day still held. Good: more than the switches cost. 0: it was never "
                "off, or the draft paid.",
                "s",
                width=6,
            ),
            [Query(few(f"300 * sum_over_time(({_AVOIDED})[$__range:5m])", "topk"), MODEL_NAME, instant=True)],
            steps(QUIET, (1.0, GOOD)),
            decimals=0,
        ),
        time_series(
            About(
                "Capacity saved now, estimate",
                "Share of capacity that the draft would lose now, at its lowest speed-up of the last day, for the "
                "traffic that is off it. Good: above 0 while the level is not Draft; else the fallback no longer "
                "earns its place.",
                "percentunit",
                width=9,
            ),
            [Query(_AVOIDED, MODEL_NAME)],
        ),
        time_series(
            About(
                "Regret on the level in force",
                "Seconds of the whole capacity lost against the best other level since this one was entered. "
                "Good: 0. A switch comes when it passes the cost of one.",
                "s",
                width=9,
            ),
            [Query(largest("specwatch_fallback_regret_seconds"), MODEL_NAME)],
        ),
    )
