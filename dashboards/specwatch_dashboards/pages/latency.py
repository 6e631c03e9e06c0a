"""Tail latency and queue: who waits, how long, and whether speculation helps the tail."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.dashboard import Dashboard
from specwatch_dashboards.grafana.heat_map import heat_map
from specwatch_dashboards.grafana.layout import Row
from specwatch_dashboards.grafana.links import PanelLink
from specwatch_dashboards.grafana.number_panels import stat
from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.plain_json import Json
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.time_series import Look, time_series
from specwatch_dashboards.grafana.values import BAD, GOOD, OTHER, PLAIN, WATCH, steps
from specwatch_dashboards.grafana.variables import custom_variable
from specwatch_dashboards.pages.frame import DRAFT, LATENCY, SPECULATION, events, variables
from specwatch_dashboards.pages.latency_queue import pod_panels, queue_panels
from specwatch_dashboards.promql import (
    CLASSES,
    MODELS,
    NAMESPACE_PODS,
    idle,
    or_idle,
    quantile,
    ratio,
)
from specwatch_dashboards.source import Source

_TO_DRAFT: Final = (PanelLink("Draft quality", DRAFT),)
_TO_FIRST: Final = (PanelLink("Speculation at a glance", SPECULATION),)

# By class; `_of` has the same by batch size or method.
_TTFT: Final = "specwatch:request_ttft_class_bucket:rate5m"
_TOKEN: Final = "specwatch:request_inter_token_class_bucket:rate5m"  # noqa: S105  # a metric, no secret
_CHUNK: Final = "specwatch:request_inter_chunk_method_bucket:rate5m"
_E2E: Final = "specwatch:request_e2e_class_bucket:rate5m"
# Of panels by batch size or method: hundreds of series.
_FEWER: Final = 180
_FEWEST: Final = 90
_QUANTILE: Final = "$quantile"
_KINDS: Final = (
    ("Time to first token", _TTFT, "From the whole request to its first text."),
    ("Time per token", _TOKEN, "Time per output token after the first, steps of several tokens shared out."),
    ("Whole request", _E2E, "From the whole request to the end of its answer."),
)
# The same colour for a quantile on every panel.
_QUANTILES: Final = ((0.5, "p50", PLAIN), (0.95, "p95", WATCH), (0.99, "p99", BAD))
_QUANTILE_MARKS: Final = tuple((f"{name}.*", color, False) for _, name, color in _QUANTILES)
_SPECULATED: Final = f'speculation!~"off|unknown", {MODELS}'
_PLAIN: Final = f'speculation="off", {MODELS}'
_ENDED: Final = "specwatch:request_finished:rate5m"
_BAD_SHARE: Final = ratio(
    f'(sum({_ENDED}{{outcome=~"rejected|error|cut|unreachable", {CLASSES}}}) or 0 * sum({_ENDED}{{{CLASSES}}}))',
    f'sum({_ENDED}{{outcome!="aborted", {CLASSES}}})',
)


def latency(source: Source) -> Dashboard:
    """Tail latency and queue."""
    return Dashboard(
        uid=LATENCY,
        title="specwatch / Tail latency and queue",
        description="What users wait for: distributions, tails by batch size and class, the queue, and the tail "
        "with speculation beside the tail without.",
        variables=(*variables(), _which_quantile()),
        events=events(source),
        rows=(
            Row("", _now()),
            Row("Distributions", _distributions()),
            Row("Tails", tuple(_tail(*kind) for kind in _KINDS)),
            Row("By traffic class, quantile $quantile", tuple(_by_class(*kind) for kind in _KINDS)),
            Row("By batch size, quantile $quantile", tuple(_by_batch(*kind) for kind in _KINDS)),
            Row("With speculation and without", _compared()),
            Row("Queue", queue_panels()),
            Row("Single pods: the outliers", pod_panels()),
            Row("The engine's own histograms", _engine(), collapsed=True),
        ),
    )


def _which_quantile() -> Json:
    return custom_variable(
        "quantile", "Quantile", ("0.5", "0.95", "0.99"), "0.95", "Of the panels by class and by batch size."
    )


def _now() -> tuple[Panel, ...]:
    return (
        *(
            stat(
                About(
                    f"{name}, p95",
                    f"{words} All selected models and classes together. Good: inside the objective.",
                    "s",
                    width=4,
                    height=4,
                ),
                [Query(or_idle(_overall(bucket)), "p95", instant=True)],
                steps(GOOD, (watch, WATCH), (bad, BAD)),
            )
            for (name, bucket, words), (watch, bad) in zip(
                _KINDS, ((1.0, 2.5), (0.05, 0.1), (30.0, 60.0)), strict=True
            )
        ),
        stat(
            About(
                "Oldest without a token",
                "Age of the oldest request that still has no first token. Good: below a second or two.",
                "s",
                width=4,
                height=4,
            ),
            [
                Query(
                    f'max(specwatch_request_oldest_waiting_seconds{{traffic_class=~"$class", {NAMESPACE_PODS}}})',
                    "oldest",
                    instant=True,
                )
            ],
            steps(GOOD, (5.0, WATCH), (30.0, BAD)),
            decimals=1,
        ),
        stat(
            About("Waiting", "Requests queued in the engines. Good: near 0.", "none", width=4, height=4),
            [Query(f"sum(specwatch:requests_waiting:sum{{{MODELS}}})", "waiting", instant=True)],
            steps(GOOD, (10.0, WATCH), (100.0, BAD)),
        ),
        stat(
            About(
                "Refused or failed",
                "Share of requests that did not end well: refused, failed, cut off, or without an engine. Clients "
                "that left do not count. Good: 0 %.",
                "percentunit",
                links=_TO_FIRST,
                width=4,
                height=4,
            ),
            [
                Query(
                    or_idle(_BAD_SHARE),
                    "share",
                    instant=True,
                )
            ],
            steps(GOOD, (0.001, WATCH), (0.01, BAD)),
        ),
    )


def _of(bucket: str, what: str) -> str:
    """The series by batch size, by method, or by both, all classes together."""
    return bucket.replace("_class_bucket", f"_{what}_bucket")


def _overall(bucket: str) -> str:
    return f"histogram_quantile(0.95, sum by (le) ({bucket}{{{CLASSES}}})) >= 0"


def _distributions() -> tuple[Panel, ...]:
    return tuple(
        heat_map(
            About(
                name,
                f"{words} Darker cells hold more. Good: one band that stays where it is. Two bands: two kinds of "
                "requests. An empty grid: no traffic.",
                "s",
                height=9,
            ),
            Query(f"sum by (le) ({bucket}{{{CLASSES}}})", "{{le}}", form="heatmap"),
            "cps" if bucket == _TOKEN else "reqps",
        )
        for name, bucket, words in _KINDS
    )


def _tail(name: str, bucket: str, words: str) -> Panel:
    return time_series(
        About(
            name, f"{words} All selected models and classes. Good: p99 within a few times p50, and both flat.", "s"
        ),
        [
            *(
                Query(f"histogram_quantile({share}, sum by (le) ({bucket}{{{CLASSES}}})) >= 0", short)
                for share, short, _ in _QUANTILES
            ),
            idle(),
        ],
        Look(marked=_QUANTILE_MARKS),
    )


def _by_class(name: str, bucket: str, words: str) -> Panel:
    return time_series(
        About(name, f"{words} Good: every class inside its objective; one class apart says who is hurt.", "s"),
        [Query(quantile(_QUANTILE, bucket, "traffic_class", CLASSES), "{{traffic_class}}"), idle()],
    )


def _by_batch(name: str, bucket: str, words: str) -> Panel:
    return time_series(
        About(
            name,
            f"{words} One line per batch size, up to the number; + is above 128; all classes. Good: close "
            "together. Speculation makes steps longer: where batches are large, time per token shows it first.",
            "s",
        ),
        [Query(quantile(_QUANTILE, _of(bucket, "batch"), "batch", MODELS), "batch {{batch}}"), idle()],
        Look(points=_FEWER),
    )


def _compared() -> tuple[Panel, ...]:
    def pair(bucket: str, share: float) -> list[Query]:
        return [
            Query(quantile(share, bucket, "speculation", _SPECULATED), "{{speculation}}"),
            Query(quantile(share, bucket, "speculation", _PLAIN), "without speculation"),
            idle(),
        ]

    look = Look(points=_FEWER, marked=(("without.*", OTHER, True),))
    return (
        time_series(
            About(
                "Time per token, p99",
                "Requests that ran with speculation beside those that ran without (dashed), whatever the batch. "
                "Good: with is below without. Nothing to compare until both have run.",
                "s",
                links=_TO_DRAFT,
            ),
            pair(_of(_TOKEN, "method"), 0.99),
            look,
        ),
        time_series(
            About(
                "Gap between pieces of text, p99",
                "What a reader sees: with speculation text comes in larger pieces, further apart. Good: below a "
                "tenth of a second; above it, text stutters.",
                "s",
            ),
            pair(_CHUNK, 0.99),
            look,
        ),
        time_series(
            About(
                "Time per token at equal batch, p99",
                "Like beside like: by method and batch size. Good: at each batch the method is below off. Where "
                "it is not, speculation hurts the tail at that load.",
                "s",
            ),
            [
                Query(
                    quantile(0.99, _of(_TOKEN, "batch_method"), "speculation, batch", MODELS),
                    "{{speculation}}, batch {{batch}}",
                ),
                idle(),
            ],
            Look(points=_FEWEST, marked=(("off.*", None, True),)),
        ),
    )


def _engine() -> tuple[Panel, ...]:
    rows = (
        ("Time to first token", "specwatch:engine_ttft_bucket:rate5m", "As the engine measures it."),
        (
            "Time per token",
            "specwatch:engine_token_latency_bucket:rate5m",
            "Mean of each request, seen when it ends.",
        ),
        ("Whole request", "specwatch:engine_e2e_bucket:rate5m", "Seen when it ends."),
        (
            "Queue wait",
            "specwatch:engine_queue_wait_bucket:rate5m",
            "Seen when a request ends: late, and not finer than the engine's first bucket.",
        ),
    )
    return tuple(
        time_series(
            About(f"{name}, engine", f"{words} Good: near what requests say above.", "s", width=6),
            [
                *(
                    Query(f"histogram_quantile({share}, sum by (le) ({bucket}{{{MODELS}}})) >= 0", short)
                    for share, short, _ in _QUANTILES
                ),
                idle(),
            ],
            Look(marked=_QUANTILE_MARKS),
        )
        for name, bucket, words in rows
    )
