"""Capacity and cost: what is wanted, what is there, what it gives and what it costs."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.dashboard import Dashboard
from specwatch_dashboards.grafana.layout import Row
from specwatch_dashboards.grafana.links import PanelLink
from specwatch_dashboards.grafana.number_panels import stat
from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.table import Column, table
from specwatch_dashboards.grafana.time_series import Look, time_series
from specwatch_dashboards.grafana.values import BAD, GOOD, QUIET, WATCH, steps
from specwatch_dashboards.pages.capacity_gpus import gpu_panels
from specwatch_dashboards.pages.capacity_scaler import scaler_panels
from specwatch_dashboards.pages.frame import CAPACITY, DRAFT, LATENCY, events, variables
from specwatch_dashboards.pages.tau import ACCEPTED, DRAFTED, counted
from specwatch_dashboards.promql import (
    MODEL,
    MODEL_NAME,
    MODELS,
    few,
    idle,
    largest,
    ratio,
    told,
    total,
)
from specwatch_dashboards.source import Source

_TO_DRAFT: Final = (PanelLink("Draft quality", DRAFT),)
_TO_LATENCY: Final = (PanelLink("Tail latency and queue", LATENCY),)
_DEMAND: Final = largest("specwatch:scale_demand:replicas")
_ENGINES: Final = total("specwatch:engines:count")
_TOKENS: Final = total("specwatch:generation_tokens:rate5m")
_COST: Final = largest("specwatch:cost_per_million_tokens:usd1h")
_SPENT: Final = f"sum by ({MODEL}) (rate(specwatch_payoff_rejected_seconds_total{{{MODELS}}}[$__rate_interval]))"
_PRICE: Final = "max(specwatch:gpu_hour:usd)"


def capacity(source: Source) -> Dashboard:
    """Capacity and cost."""
    return Dashboard(
        uid=CAPACITY,
        title="specwatch / Capacity and cost",
        description="Replicas wanted and there, what the scaler sees, GPU use, tokens per GPU second, cost against "
        "budget, and what rejected drafts cost.",
        variables=variables(),
        events=events(source),
        rows=(
            Row("", _now()),
            Row("Demand", _demand()),
            Row("What the scaler sees", scaler_panels()),
            Row("GPUs", gpu_panels()),
            Row("Cost", _cost()),
        ),
        since="now-24h",
        refresh="5m",
    )


def _now() -> tuple[Panel, ...]:
    return (
        stat(
            About("Engines", "That serve each model now. Good: what is wanted.", "none", width=4, height=4),
            [Query(few(_ENGINES, "topk"), MODEL_NAME, instant=True)],
            steps(QUIET),
        ),
        stat(
            About(
                "Replicas wanted",
                "Demand in replicas, the scaler's input. Good: near the engines that are there. No data: no "
                "scaling rules.",
                "none",
                width=4,
                height=4,
            ),
            [Query(few(_DEMAND, "topk"), MODEL_NAME, instant=True)],
            steps(QUIET),
            decimals=1,
        ),
        stat(
            About("Output", "Output tokens a second. Good: follows the load.", "suffix: tok/s", width=4, height=4),
            [Query(told(f"{_TOKENS} > 0", "topk"), MODEL_NAME, instant=True)],
            steps(QUIET),
            decimals=0,
        ),
        stat(
            About(
                "$ per 1M output tokens",
                "Price of all GPUs over the tokens of an hour. Good: below the budget. Without a number: too few "
                "tokens.",
                "currencyUSD",
                width=4,
                height=4,
            ),
            [Query(told(_COST, "topk"), MODEL_NAME, instant=True)],
            steps(QUIET),
            decimals=2,
        ),
        stat(
            About(
                "Cost over budget",
                "Cost per million output tokens over its budget. Good: below 1x.",
                "suffix:x",
                width=4,
                height=4,
            ),
            [
                Query(
                    told(f"{_COST} / on () group_left () max(specwatch:cost_budget:usd)", "topk"),
                    MODEL_NAME,
                    instant=True,
                )
            ],
            steps(GOOD, (0.8, WATCH), (1.0, BAD)),
            decimals=2,
        ),
        stat(
            About(
                "Rejected drafts",
                "Share of draft tokens that were computed and thrown away. Good: stable; weigh it by the speed-up.",
                "percentunit",
                width=4,
                height=4,
                links=_TO_DRAFT,
            ),
            [Query(told(f"1 - {ratio(counted(ACCEPTED), counted(DRAFTED))}", "topk"), MODEL_NAME, instant=True)],
            steps(QUIET),
        ),
    )


def _demand() -> tuple[Panel, ...]:
    part = largest("specwatch:scale_demand_part:replicas", f"{MODEL}, part")
    return (
        time_series(
            About(
                "Replicas wanted and there",
                "Demand in replicas beside the engines that serve (dashed), and how many fewer it would be without "
                "speculation. Good: wanted and there together, nothing freed. Wanted above there for long: at the "
                "maximum, or no GPUs. Freed above 0: cut speculation before adding replicas.",
                "none",
                links=_TO_LATENCY,
            ),
            [
                Query(_DEMAND, f"wanted: {MODEL_NAME}"),
                Query(_ENGINES, f"there: {MODEL_NAME}"),
                Query(
                    largest("specwatch:scale_freed_by_cutting:replicas"), f"freed without speculation: {MODEL_NAME}"
                ),
            ],
            Look(steps=True, marked=(("there.*", None, True), ("freed.*", WATCH, True))),
        ),
        time_series(
            About(
                "Terms of the demand",
                "In replicas; the greatest of them is the demand. arrivals: what comes; running: what is in the "
                "batches; wait: what has waited too long; kv: full caches. Good: arrivals or running leads. wait "
                "leads: users wait already.",
                "none",
                links=_TO_LATENCY,
            ),
            [Query(part, "{{part}} {{model}}")],
        ),
        time_series(
            About(
                "Requests running and waiting",
                "In the batches, and waiting (dashed). Good: waiting near 0.",
                "none",
                links=_TO_LATENCY,
            ),
            [
                Query(total("specwatch:requests_running:sum"), f"running: {MODEL_NAME}"),
                Query(total("specwatch:requests_waiting:sum"), f"waiting: {MODEL_NAME}"),
            ],
            Look(marked=(("waiting.*", None, True),)),
        ),
        time_series(
            About(
                "Running requests per engine",
                "Good: below the batch size at which speculation stops paying, and flat when engines are added.",
                "none",
                links=_TO_DRAFT,
            ),
            [Query(ratio(total("specwatch:requests_running:sum"), _ENGINES), MODEL_NAME)],
        ),
        time_series(
            About(
                "Output per engine",
                "Output tokens a second and engine. Good: rises with the load until the engines are full.",
                "suffix: tok/s",
            ),
            [Query(ratio(f"({_TOKENS} > 0)", _ENGINES), MODEL_NAME), idle()],
        ),
        time_series(
            About("Fullest KV cache", "Use of the fullest cache. Good: below 90 %.", "percentunit"),
            [Query(largest("specwatch:kv_cache_usage:max"), MODEL_NAME)],
            Look(high=1),
        ),
    )


def _cost() -> tuple[Panel, ...]:
    budget = f"0 * group({_COST}) + on () max(specwatch:cost_budget:usd)"
    wasted = f"{counted(DRAFTED)} - {counted(ACCEPTED)}"
    return (
        time_series(
            About(
                "$ per 1M output tokens against budget",
                "Over an hour; dashed, the budget of the values file. Good: below it. It rises when load falls and "
                "engines stay, and when the draft stops paying.",
                "currencyUSD",
            ),
            [Query(_COST, MODEL_NAME), Query(budget, "Budget"), idle()],
            Look(marked=(("Budget", BAD, True),)),
        ),
        time_series(
            About(
                "Draft tokens wasted",
                "Draft tokens a second that were rejected. Good: stable; rising at the same load: the draft fits "
                "less.",
                "suffix: tok/s",
                links=_TO_DRAFT,
            ),
            [Query(wasted, MODEL_NAME), idle()],
        ),
        time_series(
            About(
                "Price of rejected drafts, $ per hour",
                "GPU time that rejected draft tokens took, at the price of the values file. "
                "Good: far below what speculation saves.",
                "currencyUSD",
                links=_TO_DRAFT,
            ),
            [Query(f"{_SPENT} * on () group_left () {_PRICE}", MODEL_NAME), idle()],
        ),
        table(
            About(
                "Models by cost",
                "One row per model: engines, output, cost, budget left, speed-up. Good: cost below budget and "
                "speed-up above 1x.",
                "none",
                width=24,
            ),
            [
                Query(_ENGINES, instant=True, form="table"),
                Query(_TOKENS, instant=True, form="table"),
                Query(_COST, instant=True, form="table"),
                Query(f"{_COST} / on () group_left () max(specwatch:cost_budget:usd)", instant=True, form="table"),
                Query(f"{_SPENT} * on () group_left () {_PRICE}", instant=True, form="table"),
                Query(largest("specwatch:payoff_speedup:median"), instant=True, form="table"),
            ],
            (
                Column("model", "Model"),
                Column("namespace", "Namespace"),
                Column("Value #A", "Engines", "none"),
                Column("Value #B", "Output", "suffix: tok/s"),
                Column("Value #C", "$ per 1M tokens", "currencyUSD"),
                Column("Value #D", "Of budget", "percentunit", 1.0),
                Column("Value #E", "Rejected drafts, $ per hour", "currencyUSD"),
                Column("Value #F", "Speed-up", "suffix:x"),
            ),
            sort_by=("$ per 1M tokens", True),
        ),
    )
