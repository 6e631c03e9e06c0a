"""GPUs: how busy, how full, how much comes out of them."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.links import PanelLink
from specwatch_dashboards.grafana.panel import About, Panel
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.time_series import Look, time_series
from specwatch_dashboards.grafana.values import BAD
from specwatch_dashboards.pages.frame import DRAFT
from specwatch_dashboards.promql import (
    MODEL_NAME,
    NAMESPACE_PODS,
    idle,
    largest,
    outliers,
)

_TO_DRAFT: Final = (PanelLink("Draft quality", DRAFT),)
_PER_GPU: Final = largest("specwatch:tokens_per_gpu:rate5m")


def gpu_panels() -> tuple[Panel, ...]:
    """Use, memory, power, and tokens per GPU second."""
    used = f"specwatch:pod_gpu_use:avg{{{NAMESPACE_PODS}}}"
    memory = f"specwatch:pod_gpu_memory:max{{{NAMESPACE_PODS}}}"
    return (
        time_series(
            About(
                "GPU use",
                "Share of time in which something ran: lowest tenth, median, highest tenth of the engines' pods. "
                "Good: close together. Busy does not mean efficient: see tokens per GPU second.",
                "percent",
            ),
            [
                Query(f"quantile({share}, {used})", name)
                for share, name in ((0.1, "lowest tenth"), (0.5, "median"), (0.9, "highest tenth"))
            ],
            Look(high=100),
        ),
        time_series(
            About(
                "GPUs that do the least",
                "The 6 pods whose GPUs were used least over the time range. Good: alike. Near 0 %: paid for and "
                "idle.",
                "percent",
            ),
            [Query(outliers(used, 6, most=False), "{{pod}}")],
            Look(high=100),
        ),
        time_series(
            About(
                "Tokens per GPU second",
                "Output tokens a second over the GPUs of the pods that made them. Good: steady at a given load; it "
                "falls when drafts are rejected, or batches are small.",
                "suffix: tok/s",
                links=_TO_DRAFT,
            ),
            [Query(_PER_GPU, MODEL_NAME), idle()],
        ),
        time_series(
            About("GPU memory", "Share in use, fullest and median GPU. Good: below 97 %.", "percentunit"),
            [Query(f"max({memory})", "fullest"), Query(f"quantile(0.5, {memory})", "median")],
            Look(high=1),
        ),
        time_series(
            About("Power", "All GPUs of the engines' pods. Good: follows the load.", "watt"),
            [Query(f"sum(specwatch:pod_gpu_power:sum{{{NAMESPACE_PODS}}})", "power")],
        ),
        time_series(
            About(
                "GPUs attributed, and busy GPUs without a pod",
                "GPUs whose series name an engine's pod, and busy ones anywhere that name none (dashed). Good: "
                "none without; else the figures above miss them.",
                "none",
            ),
            [
                Query(f"sum(specwatch:pod_gpus:count{{{NAMESPACE_PODS}}})", "attributed"),
                Query(
                    'count(DCGM_FI_DEV_GPU_UTIL{exported_pod="", pod=~"|.*dcgm-exporter.*"} > 10)',
                    "busy without a pod",
                ),
            ],
            Look(marked=(("busy.*", BAD, True),)),
        ),
    )
