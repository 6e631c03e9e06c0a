"""Draft quality by pod and by version."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.links import PanelLink
from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.time_series import Look, time_series
from specwatch_dashboards.grafana.values import QUIET
from specwatch_dashboards.pages.frame import (
    FALLBACK,
)
from specwatch_dashboards.pages.tau import (
    LENGTH,
)
from specwatch_dashboards.promql import (
    MODEL,
    MODEL_NAME,
    POD_NAME,
    PODS,
    idle,
    outliers,
    ratio,
    total,
)
from specwatch_dashboards.source import Source

_TO_FALLBACK: Final = (PanelLink("Fallback and canary", FALLBACK),)
_POD_LENGTH: Final = f"specwatch:pod_acceptance_length:mean5m{{{PODS}}}"


def pod_panels(source: Source) -> tuple[Panel, ...]:
    """The pods at both ends, and versions where the sidecar tells them."""
    lowest = time_series(
        About(
            "Pods with the lowest τ",
            "The 6 pods with the smallest τ over the time range. Good: near the model's τ. One apart: another "
            "draft, another version, or one kind of traffic sent there.",
            "none",
        ),
        [Query(outliers(_POD_LENGTH, 6, most=False), POD_NAME), Query(LENGTH, f"all: {MODEL_NAME}"), idle()],
        Look(low=1, marked=(("all:.*", QUIET, True),)),
    )
    highest = time_series(
        About(
            "Pods with the highest τ",
            "The 6 pods with the largest τ over the time range. Good: near the model's τ. Far above: repetition, "
            "or a cache of one prompt.",
            "none",
        ),
        [Query(outliers(_POD_LENGTH, 6, most=True), POD_NAME), Query(LENGTH, f"all: {MODEL_NAME}"), idle()],
        Look(low=1, marked=(("all:.*", QUIET, True),)),
    )
    return (lowest, highest, _versions() if source is Source.SIDECAR else _spread())


def _versions() -> Panel:
    by = f"{MODEL}, version, method"
    accepted = total("specwatch:version_accepted_tokens:rate5m", by)
    return time_series(
        About(
            "τ by engine version and method",
            "During a rollout, the old beside the new. Good: the new is not below the old.",
            "none",
            links=_TO_FALLBACK,
        ),
        [
            Query(
                f"1 + {ratio(accepted, total('specwatch:version_drafts:rate5m', by))}",
                "{{version}} {{method}} {{model}}",
            ),
            idle(),
        ],
        Look(low=1),
    )


def _spread() -> Panel:
    return time_series(
        About(
            "Spread of τ over pods",
            "Lowest tenth, median and highest tenth of the pods. Good: close together.",
            "none",
            links=_TO_FALLBACK,
        ),
        [
            *(
                Query(f"quantile by ({MODEL}) ({share}, {_POD_LENGTH})", f"{name}: {MODEL_NAME}")
                for share, name in ((0.1, "lowest tenth"), (0.5, "median"), (0.9, "highest tenth"))
            ),
            idle(),
        ],
        Look(low=1),
    )
