"""Draft quality: by class, position, pod and version, and whether the mix or the draft moved."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.dashboard import Dashboard
from specwatch_dashboards.grafana.layout import Row
from specwatch_dashboards.grafana.links import PanelLink
from specwatch_dashboards.grafana.number_panels import bar_gauge, stat
from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.time_series import Look, time_series
from specwatch_dashboards.grafana.values import BAD, GOOD, OTHER, PLAIN, QUIET, WATCH, steps
from specwatch_dashboards.grafana.variables import text_variable
from specwatch_dashboards.pages.draft_by_class import class_panels, request_panels, split_panels
from specwatch_dashboards.pages.draft_by_pod import pod_panels
from specwatch_dashboards.pages.frame import (
    DRAFT,
    SPECULATION,
    events,
    variables,
)
from specwatch_dashboards.pages.tau import (
    ACCEPTED,
    BASELINE,
    DRAFTED,
    DRAFTS,
    LENGTH,
    RATE,
    SCORE,
    at_positions,
    conditional,
    counted,
)
from specwatch_dashboards.promql import (
    MODEL,
    MODEL_NAME,
    MODELS,
    few,
    idle,
    ratio,
    told,
    total,
)
from specwatch_dashboards.source import Source

_TO_FIRST: Final = (PanelLink("Speculation at a glance", SPECULATION),)
_PUBLISHED: Final = "$published"
_OUTPUT_SHARE: Final = ratio(counted(ACCEPTED), total("specwatch:generation_tokens:rate5m"))
# Positions with a line of their own; beyond it hardly a draft goes, and lines would hide each other.
_POSITIONS: Final = 8


def draft(source: Source) -> Dashboard:
    """Draft quality."""
    published = text_variable(
        "published",
        "Published τ",
        "0",
        "Mean acceptance length that the draft's authors publish, bonus token included, for a line to compare "
        "with; 0 draws none.",
    )
    return Dashboard(
        uid=DRAFT,
        title="specwatch / Draft quality",
        description="Whether the draft fits its target: by traffic class, position, pod and version, against its "
        "baseline and the published value, and whether traffic or the draft moved.",
        variables=(*variables(), published),
        events=events(source),
        rows=(
            Row("", _now(source)),
            Row("Acceptance", _acceptance()),
            Row("By position", _positions(source)),
            Row("By traffic class", class_panels()),
            Row("Traffic or draft: which one moved?", split_panels()),
            Row("By request", request_panels()),
            Row("Single pods and versions", pod_panels(source)),
        ),
    )


def _now(source: Source) -> tuple[Panel, ...]:
    per_step = ratio(total(DRAFTED, f"{MODEL}, definition"), total(DRAFTS, f"{MODEL}, definition"))
    speculating = (
        f"quantile by ({MODEL}) (0.5, specwatch_speculating_steps_ratio{{{MODELS}}})"
        if source is Source.SIDECAR
        else f"max by ({MODEL}) (specwatch_drift_calibrated{{{MODELS}}})"
    )
    return (
        stat(
            About(
                "Mean acceptance length τ",
                "Tokens per draft step, bonus token included. Good: near its baseline.",
                "none",
                width=4,
                height=4,
            ),
            [Query(told(LENGTH, "bottomk"), MODEL_NAME, instant=True)],
            steps(GOOD),
            decimals=2,
        ),
        stat(
            About(
                "Baseline of τ",
                "What τ is judged against: learned here, or from a calibrated profile. Good: there is one.",
                "none",
                width=4,
                height=4,
            ),
            [Query(few(BASELINE, "bottomk"), MODEL_NAME, instant=True)],
            steps(QUIET),
            decimals=2,
        ),
        stat(
            About(
                "Acceptance rate",
                "Draft tokens kept over proposed. Good: depends on K; compare with itself, not with another K.",
                "percentunit",
                width=4,
                height=4,
            ),
            [Query(told(RATE, "bottomk"), MODEL_NAME, instant=True)],
            steps(GOOD),
        ),
        stat(
            About(
                "Drift score",
                "Evidence over its threshold. Good: below 0.5; 1 is an alarm.",
                "none",
                links=_TO_FIRST,
                width=4,
                height=4,
            ),
            [Query(few(SCORE, "topk"), MODEL_NAME, instant=True)],
            steps(GOOD, (0.5, WATCH), (1.0, BAD)),
            decimals=2,
        ),
        stat(
            About(
                "Draft tokens per step",
                "Proposed per draft step: K, or less where the engine adapts. Good: what was configured.",
                "none",
                width=4,
                height=4,
            ),
            [Query(told(f"max by ({MODEL}) ({per_step})", "bottomk"), MODEL_NAME, instant=True)],
            steps(QUIET),
            decimals=1,
        ),
        stat(
            About(
                "Steps that speculate",
                "Share of request steps that verified a draft, median of the pods. Good: near 100 %; low: n-gram "
                "finds nothing, or the engine has stopped drafting.",
                "percentunit",
                width=4,
                height=4,
            )
            if source is Source.SIDECAR
            else About(
                "Baseline calibrated",
                "1: the baseline comes from a profile checked on history; 0: learned here. Good: 1.",
                "none",
                width=4,
                height=4,
            ),
            [Query(few(speculating, "bottomk"), MODEL_NAME, instant=True)],
            steps(QUIET),
        ),
    )


def _acceptance() -> tuple[Panel, ...]:
    proposed, kept = f"sum({counted(DRAFTED)})", f"sum({counted(ACCEPTED)})"
    return (
        time_series(
            About(
                "Mean acceptance length τ",
                "Tokens per draft step; dashed, the baseline and the published value (type it at the top; "
                "measured by its authors on other text: a level to aim at, not a limit). Good: near the baseline.",
                "none",
                width=6,
            ),
            [
                Query(LENGTH, MODEL_NAME),
                Query(BASELINE, f"baseline: {MODEL_NAME}"),
                Query(f"0 * group({LENGTH}) + {_PUBLISHED} > 0", "published"),
                idle(),
            ],
            Look(low=1, marked=(("baseline.*", None, True), ("published", OTHER, True))),
        ),
        time_series(
            About("Acceptance rate", "Draft tokens kept over proposed. Good: flat.", "percentunit", width=6),
            [Query(RATE, MODEL_NAME), idle()],
            Look(high=1),
        ),
        time_series(
            About(
                "Output that drafts gave",
                "Share of output tokens that were draft tokens. Good: flat. 0 %: nothing drafts.",
                "percentunit",
                width=6,
            ),
            [Query(_OUTPUT_SHARE, MODEL_NAME), idle()],
            Look(high=1),
        ),
        time_series(
            About(
                "Draft tokens and steps",
                "A second, all selected models. Good: kept is a fair part of proposed. What is rejected was "
                "computed for nothing.",
                "suffix:/s",
                links=_TO_FIRST,
                width=6,
            ),
            [
                Query(proposed, "proposed"),
                Query(kept, "kept"),
                Query(f"{proposed} - {kept}", "rejected"),
                Query(f"sum({counted(DRAFTS)})", "draft steps"),
            ],
            Look(
                marked=(
                    ("proposed", PLAIN, False),
                    ("kept", GOOD, False),
                    ("rejected", BAD, True),
                    ("draft steps", OTHER, False),
                )
            ),
        ),
    )


def _positions(source: Source) -> tuple[Panel, ...]:
    return (
        bar_gauge(
            About(
                "Kept up to position, now",
                "Share of drafts that were kept up to the position, of those that proposed it where the engine "
                "tells. Good: falls smoothly; position 0 above half.",
                "percentunit",
                width=6,
            ),
            [Query(at_positions(source), "{{position}} {{model}}", instant=True)],
            steps(GOOD),
            0,
            1,
        ),
        time_series(
            About(
                "Kept up to position (unconditional)",
                "Divided by the drafts that proposed the position where the engine tells, so that a smaller K "
                "does not look like a worse draft. Good: flat lines.",
                "percentunit",
                width=9,
            ),
            [Query(at_positions(source), "position {{position}} {{model}}"), idle()],
            Look(high=1),
        ),
        time_series(
            About(
                "Kept if the one before was (conditional)",
                "Acceptance of a position among drafts that kept the one before. Good: lines together, flat. The "
                "first one low: the head does not fit the target. Late ones low: it is bad at its own output.",
                "percentunit",
                width=9,
            ),
            [*(Query(conditional(at), f"position {at} {{{{model}}}}") for at in range(_POSITIONS)), idle()],
            Look(high=1),
        ),
    )
