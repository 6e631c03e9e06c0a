"""Draft quality by traffic class and by request, and which of traffic and draft moved."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.heat_map import heat_map
from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.state_timeline import state_timeline
from specwatch_dashboards.grafana.time_series import Look, time_series
from specwatch_dashboards.grafana.values import BAD, GOOD, WATCH, Shown
from specwatch_dashboards.pages.frame import (
    DRIFT_TEXTS,
)
from specwatch_dashboards.pages.mix_split import mix_effect, within_effect
from specwatch_dashboards.promql import (
    CLASS,
    CLASSES,
    MODEL,
    MODEL_NAME,
    idle,
    largest,
    limit,
    ratio,
    smallest,
    total,
)

_MIX_TEXTS: Final = (Shown(0, "No shift", GOOD), Shown(1, "Mix only", WATCH))
_CLASS_NAME: Final = "{{traffic_class}} {{model}}"
_CLASS_KEPT: Final = total("specwatch:request_accepted_tokens:rate5m", CLASS, CLASSES)
_CLASS_LENGTH: Final = f"1 + {ratio(_CLASS_KEPT, total('specwatch:request_drafts:rate5m', CLASS, CLASSES))}"


def class_panels() -> tuple[Panel, ...]:
    """Acceptance, score and verdict of each class."""
    rate = ratio(
        total("specwatch:request_accepted_tokens:rate5m", CLASS, CLASSES),
        total("specwatch:request_draft_tokens:rate5m", CLASS, CLASSES),
    )
    score = largest("specwatch:drift_score:max", CLASS, f'traffic_class!="", {CLASSES}')
    over = smallest("specwatch_drift_over_ratio", CLASS, f'traffic_class!="", {CLASSES}')
    verdict = largest("specwatch:drift_state:worst", CLASS, f'traffic_class!="", {CLASSES}')
    return (
        time_series(
            About(
                "τ by class",
                "Tokens per draft step of each class. Good: flat. One falls alone: its text changed, or the draft "
                "never learned it.",
                "none",
                width=12,
            ),
            [Query(_CLASS_LENGTH, _CLASS_NAME), idle()],
            Look(low=1),
        ),
        time_series(
            About(
                "Acceptance rate by class", "Draft tokens kept over proposed. Good: flat.", "percentunit", width=12
            ),
            [Query(rate, _CLASS_NAME), idle()],
            Look(high=1),
        ),
        time_series(
            About(
                "Drift score by class",
                "Evidence over its threshold, worst pod. Good: below 0.5. Dashed, in a drift: evidence that it is "
                "over; 1 ends it.",
                "none",
                width=12,
            ),
            [
                Query(score, _CLASS_NAME),
                Query(over, f"way to the end: {_CLASS_NAME}"),
                Query(limit(1, score), "Alarm at 1"),
                idle(),
            ],
            Look(soft_high=1.2, marked=(("Alarm.*", BAD, True), ("way to the end.*", None, True))),
        ),
        state_timeline(
            About("Verdict by class", "Worst pod. Good: OK all along.", "none", width=12),
            [Query(verdict, _CLASS_NAME)],
            DRIFT_TEXTS,
        ),
    )


def split_panels() -> tuple[Panel, ...]:
    """The mix, and whether it or the draft moved τ."""
    drafts = total("specwatch:request_drafts:rate5m", CLASS, CLASSES)
    return (
        time_series(
            About(
                "Mix of traffic",
                "Share of each class in the draft steps. Good: the daily rhythm. A jump here explains a jump of τ "
                "without any fault of the draft.",
                "percentunit",
            ),
            [
                Query(
                    ratio(
                        drafts,
                        total("specwatch:request_drafts:rate5m", MODEL, CLASSES),
                        f"on ({MODEL}) group_left ()",
                    ),
                    _CLASS_NAME,
                ),
                idle(),
            ],
            Look(high=1, stacked=True),
        ),
        time_series(
            About(
                "Change of τ since this hour a day ago, and why",
                "Split into what the mix of classes did and what happened within the classes (Kitagawa). Good: "
                "both near 0. Within falls: the draft, the engine or the text of a class. Mix falls: no draft "
                "would help.",
                "none",
            ),
            [
                Query(within_effect(), f"within classes: {MODEL_NAME}"),
                Query(mix_effect(), f"by the mix: {MODEL_NAME}"),
                idle(),
            ],
            Look(low=None, marked=(("by the mix.*", None, True),)),
        ),
        state_timeline(
            About(
                "Only the mix moved",
                "What the detector says: Mix only while acceptance moved because the mix did and no class accepts "
                "less. Good: No shift, or Mix only; neither pages.",
                "none",
            ),
            [Query(largest("specwatch_drift_mix_shift"), MODEL_NAME)],
            _MIX_TEXTS,
        ),
    )


def request_panels() -> tuple[Panel, ...]:
    """Distributions over single requests and draft steps."""
    bucket = "specwatch:request_acceptance_ratio_bucket:rate5m"
    # The edges 0.1 and 0.9 are buckets of the histogram.
    low = ratio(total(bucket, MODEL, f'le="0.1", {CLASSES}'), total(bucket, MODEL, f'le="+Inf", {CLASSES}'))
    high = ratio(total(bucket, MODEL, f'le="0.9", {CLASSES}'), total(bucket, MODEL, f'le="+Inf", {CLASSES}'))
    return (
        heat_map(
            About(
                "Acceptance rate of single requests",
                "Good: one cloud. A band at 0 %: requests whose output no draft can guess, or garbled text. A "
                "band at 100 %: repetition.",
                "percentunit",
            ),
            Query(f"sum by (le) ({bucket}{{{CLASSES}}})", "{{le}}", form="heatmap"),
            "reqps",
        ),
        time_series(
            About(
                "Requests at the ends",
                "Share of requests of which less than a tenth, or more than nine tenths, was kept. Good: both "
                "small and flat; the text of such requests deserves a look.",
                "percentunit",
            ),
            [Query(low, f"below 10 %: {MODEL_NAME}"), Query(f"1 - {high}", f"above 90 %: {MODEL_NAME}"), idle()],
            Look(marked=(("above.*", None, True),)),
        ),
        heat_map(
            About(
                "Tokens per draft step",
                "How many tokens single draft steps gave. Good: dark above 2. All at 1: drafts are thrown away.",
                "none",
            ),
            Query(
                f"sum by (le) (specwatch:request_acceptance_length_bucket:rate5m{{{CLASSES}}})",
                "{{le}}",
                form="heatmap",
            ),
            "cps",
        ),
    )
