"""Settings of the fleet watch, and the watch that they make."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from specwatch_detectors.model_monitor import ModelMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.profile import load_profile
from specwatch_detectors.profile_use import ProfileUse
from specwatch_detectors.threshold import Budget
from specwatch_detectors.watch.file_store import FileStore
from specwatch_detectors.watch.fleet import Fleet
from specwatch_detectors.watch.fleet_model import no_profile
from specwatch_detectors.watch.pod_labels import REPLICA_LABELS, PodLabels
from specwatch_detectors.watch.prometheus_address import PrometheusAddress
from specwatch_detectors.watch.rounds import Grid, Rounds, parts_of
from specwatch_detectors.watch.source import Source
from specwatch_detectors.watch.store import Store
from specwatch_detectors.watch.watcher import NewRounds, Watcher

LOG = logging.getLogger("specwatch.watch")
CONFIG_MAP: Final = "configmap:"


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """How a fleet is watched.

    Attributes:
        grid: when.
        labels: which labels tell pods apart.
        pages: false pages allowed per model and 30 days.
        stale_after_s: age of the last counts of a model from which it cannot be told.
        profile: file with calibrations, or None.
        state: a file, `configmap:NAMESPACE/NAME`, or None for no state.
        address: of Prometheus.
    """

    grid: Grid = Grid()  # noqa: RUF009 - immutable
    labels: PodLabels = PodLabels.of((), REPLICA_LABELS)  # noqa: RUF009 - immutable
    pages: float = 1.0
    stale_after_s: float = 300.0
    profile: Path | None = None
    state: str | None = None
    address: PrometheusAddress = PrometheusAddress("http://127.0.0.1:9090")  # noqa: RUF009 - immutable

    @property
    def monitor(self) -> MonitorSettings:
        """Settings of each model's monitor."""
        budget = Budget(pages=self.pages, interval_s=float(self.grid.interval_s))
        return replace(MonitorSettings(), budget=budget, stale_after_s=self.stale_after_s)


def make_watcher(
    settings: WatchSettings, source: Source, store: Store | None, clock: Callable[[], float]
) -> Watcher:
    """The watch that the settings ask for.

    Raises:
        ValueError: the profile cannot be used.
    """
    return Watcher(make_rounds(settings, source), store, holder_name(), clock)


def make_rounds(settings: WatchSettings, source: Source) -> NewRounds:
    """Makes rounds that begin, or go on from a state.

    Raises:
        ValueError: the profile cannot be used.
    """
    profile = None if settings.profile is None else load_profile(settings.profile)
    monitor, every = settings.monitor, settings.grid.interval_s
    if profile is not None and profile.interval_s != every:
        LOG.warning("the profile was made with intervals of %g s, ticks are %d s long", profile.interval_s, every)

    known = no_profile if profile is None else ProfileUse(profile).calibrations

    def new_monitor(model: str, depth: int, state: Mapping[str, Any] | None) -> ModelMonitor:
        depth = (None if profile is None else profile.depth(model)) or depth
        return ModelMonitor(monitor, depth=depth, calibrations=known(model), state=state)

    def rounds(state: Mapping[str, Any] | None) -> Rounds:
        at, models = (None, None) if state is None else parts_of(state)
        return Rounds(Fleet(settings.labels, new_monitor, models, known), source, settings.grid, at)

    return rounds


def make_store(where: str | None) -> Store | None:
    """The store of a `--state`.

    Raises:
        StoreError: there is no cluster.
        ValueError: the name of the ConfigMap is none.
        ModuleNotFoundError: the kubernetes client is not installed.
    """
    if where is None:
        return None
    if not where.startswith(CONFIG_MAP):
        return FileStore(Path(where))
    from specwatch_detectors.watch.configmap_store import ConfigMapStore, connect  # noqa: PLC0415 - an extra

    namespace, slash, name = where.removeprefix(CONFIG_MAP).partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise ValueError(f"{where}: write {CONFIG_MAP}NAMESPACE/NAME")
    return ConfigMapStore(namespace, name, connect())


def check_store(store: Store | None) -> None:
    """Make sure that what a store keeps can be gone on from, before anything is overwritten.

    Raises:
        StoreError: it cannot be read, or holds something else.
        ValueError: it holds a state of another version.
    """
    kept = None if store is None else store.load().state
    if kept is not None:
        parts_of(kept)


def holder_name() -> str:
    """A name that no other process has."""
    return f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
