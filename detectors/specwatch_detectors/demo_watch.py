"""The detectors of the demonstration: the sidecar's own; their baseline is what the simulated engine was set to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry

from specwatch_detectors import chain
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.class_counts import ClassCounts
from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.payoff.profile_file import load_profile
from specwatch_detectors.sidecar_watch import SidecarWatch
from specwatch_detectors.threshold import Budget
from specwatch_detectors.window import Window
from specwatch_exporters.demo.scenario import SETTINGS

STEPS: Final = "llama-70b-fp8-h200"
_DRAFTS: Final = 1_000_000.0
_DESIGN: Final = 2.0
"""The simulated requests are pure chains: only their mix widens the spread."""
_LAG_S: Final = 8.0
"""A simulated answer takes 4 to 8 s."""
_SETTINGS: Final = MonitorSettings(
    budget=Budget(interval_s=1.0), class_lag_s=_LAG_S, history_chunk_s=1.0, payoff_half_life_s=15.0
)


def demo_watch(registry: CollectorRegistry | None) -> SidecarWatch:
    """A watcher at one scrape a second.

    Args:
        registry: of the request sidecar in front of the simulated engine; None watches a real engine, whose
            baseline is learned.
    """
    if registry is None:
        return SidecarWatch(_SETTINGS)
    return SidecarWatch(
        _SETTINGS,
        calibrations=_simulated,
        classes=ClassCounts(registry.collect, SETTINGS.method),
        steps=load_profile(STEPS),
    )


def fallback_watch() -> SidecarWatch:
    """A watcher of the second engine, of which only the payoff is wanted; its draft's baseline is learned."""
    return SidecarWatch(_SETTINGS, steps=load_profile(STEPS))


def _simulated(_model: str) -> Mapping[str, Calibration]:
    rates = {name: SETTINGS.rates(name) for name in SETTINGS.class_names}
    weights = {name: 1.0 / (1.0 + sum(own)) for name, own in rates.items()}  # a class that accepts less drafts more
    total = sum(weights.values())
    mean = tuple(sum(weights[name] * own[j] for name, own in rates.items()) / total for j in range(SETTINGS.depth))
    threshold = 1.0  # the budget's is larger and holds
    return {name: Calibration(_baseline(own), _DESIGN, threshold) for name, own in {**rates, "": mean}.items()}


def _baseline(rates: tuple[float, ...]) -> Baseline:
    """A baseline as if a million drafts had shown exactly these acceptances."""
    reached = chain.reached(chain.conditional(rates))
    counts = Window(
        _DRAFTS,
        tuple(_DRAFTS * rate for rate in rates),
        tuple(_DRAFTS * share for share in reached),
        _DRAFTS * sum(rates),
    )
    return Baseline(counts)
