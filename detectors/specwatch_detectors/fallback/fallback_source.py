"""What the sidecars and kube-state-metrics say of the levels of one model, out of raw samples with their times.

Samples come from any API that speaks Prometheus, or straight from the pages of sidecars (`page_source.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from specwatch_detectors.change_watch import ADAPTIVE_SPAN_S
from specwatch_detectors.fallback.adaptation import adaptation
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.fallback.missing_payoff import missing_payoff
from specwatch_detectors.fallback.observation import Observation, ObservationError, Seen
from specwatch_detectors.fallback.pod_sights import UNKNOWN_DESIGN, PodSight, together
from specwatch_detectors.payoff.payoff import Bounds
from specwatch_detectors.reading import DriftState
from specwatch_detectors.watch.pod_labels import Labels, PodLabels
from specwatch_detectors.watch.source import RawSeries, Source, SourceError
from specwatch_exporters import catalog, drift_catalog, payoff_catalog
from specwatch_exporters.metric import Metric

LOOK_BACK_S: Final = 300.0
"""Over which drafts are counted: about the memory of the payoff meter."""
Pods = Mapping[Level, Mapping[Labels, PodSight]]
_WORST: Final = (DriftState.DRIFTED, DriftState.WATCH, DriftState.OK)


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What to look for.

    Attributes:
        model: served name.
        home: level to come back to.
        rule: tells levels apart.
        estimates: stated speed-ups of levels that nothing measures; a measured one wins.
        adapts: what the operator says that the engine changes by itself, empty for nothing; None for what is seen.
        revision_labels: labels of the home level's series that name versions of target and draft.
        deployments: whose rollouts and scaling are looked at, through kube-state-metrics.
        home_deployments: likewise, of those that serve the home level alone.
        fresh_s: age of a sample from which it is not used.
    """

    model: str
    home: Level
    rule: LevelRule = field(default_factory=LevelRule)
    estimates: Mapping[Level, Bounds] = field(default_factory=dict)
    adapts: str | None = None
    revision_labels: tuple[str, ...] = ()
    deployments: tuple[str, ...] = ()
    home_deployments: tuple[str, ...] = ()
    fresh_s: float = 120.0


@dataclass(frozen=True, slots=True)
class _Series:
    """One series with samples: labels, pod, view of it, and pairs of time and value."""

    labels: Mapping[str, str]
    pod: Labels
    view: Labels
    samples: Sequence[tuple[float, float]]

    @property
    def newest(self) -> tuple[float, float]:
        return self.samples[-1]


@dataclass(frozen=True, slots=True)
class Motion:
    """Pods that come and go: replaced or added, of the home level alone or of others; as in `Observation`."""

    rollout: bool = False
    scaling: bool = False
    home_rollout: bool = False
    home_scaling: bool = False


def readable(_level: Level) -> str:
    """No page is unreadable: whoever has none reads none."""
    return ""


class SeriesSource:
    """Looks at the levels through raw samples.

    Args:
        source: gives samples.
        settings: what to look for.
        labels: tells pods apart.
        unreadable: which pages of a level cannot be read, and why, or empty; asked where nothing is known of it.
    """

    def __init__(
        self,
        source: Source,
        settings: SourceSettings,
        labels: PodLabels | None = None,
        unreadable: Callable[[Level], str] = readable,
    ) -> None:
        self._source = source
        self._settings = settings
        self._labels = labels or PodLabels()
        self._unreadable = unreadable

    def observe(self, now: float, level: Level, since: float) -> Observation:
        """Look.

        Raises:
            ObservationError: the source gives no answer, or none that can be read.
        """
        end = math.floor(now)
        try:
            pods = self._pods(end, level, since)
            drift, revision = self._drift(end, level), self._revision(end, level)
            motion, adapts = self._motion(end), self._adapts(end, level, since)
            levels = self._estimated(pods, end) | self._measured(pods)
            missing = "" if level in levels or level is Level.OFF else self._missing(end, level)
        except SourceError as error:
            raise ObservationError(str(error)) from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ObservationError(f"the answer holds no samples as Prometheus gives them: {error!r}") from error
        return Observation(
            at=end,
            levels=levels,
            drift=drift,
            rollout=motion.rollout,
            scaling=motion.scaling,
            home_rollout=motion.home_rollout,
            home_scaling=motion.home_scaling,
            adapts=adapts,
            revision=revision,
            missing=missing,
        )

    def _pods(self, end: float, level: Level, since: float) -> dict[Level, dict[Labels, PodSight]]:
        """Pods by level; what was measured before the level was entered is left out where levels share pods."""
        pods: dict[Level, dict[Labels, PodSight]] = {}
        begin = max(end - LOOK_BACK_S, since) if self._settings.rule.shared else end - LOOK_BACK_S
        for own, one in self._of_levels(payoff_catalog.SPEEDUP, end, level):
            if one.newest[0] > begin:
                at, value = one.newest
                batch = _pod(pods, own, one).bounds.setdefault(one.labels["batch"], {})
                batch[one.labels["bound"]] = (value, at)
        for own, one in self._of_levels(drift_catalog.DESIGN, end, level):
            _pod(pods, own, one).design = one.newest[1]
        running: dict[tuple[Level, Labels, str], float] = {}
        for own, one in self._of_levels(catalog.RUNNING, end, level):
            running[own, one.pod, one.labels.get("engine", "")] = one.newest[1]  # two views are not added
        for (own, pod, _), count in running.items():
            sight = pods.setdefault(own, {}).setdefault(pod, PodSight())
            sight.running = (sight.running or 0.0) + count
        self._count(pods, end, level, begin)
        return pods

    def _missing(self, end: float, level: Level) -> str:
        own = self._settings
        found = self._source.fetch(payoff_catalog.SPEEDUP.name, end - LOOK_BACK_S, end)
        return self._unreadable(level) or missing_payoff(found, own.model, own.rule, level)

    def _count(self, pods: dict[Level, dict[Labels, PodSight]], end: float, level: Level, begin: float) -> None:
        """Drafts of each pod; two views of one counter are not added."""
        counted: dict[tuple[Level, Labels, str], float] = {}
        for own, one in self._of_levels(catalog.DRAFTS, end, level):
            drafts = _increase([value for at, value in one.samples if at > begin])
            key = (own, one.pod, f"{one.labels.get('engine')} {one.labels.get('definition')}")
            counted[key] = max(counted.get(key, 0.0), drafts)
        for (own, pod, _), drafts in counted.items():
            pods.setdefault(own, {}).setdefault(pod, PodSight()).drafts += drafts

    def _measured(self, pods: Pods) -> dict[Level, Seen]:
        return {own: seen for own, found in pods.items() if (seen := together(found.values())) is not None}

    def _estimated(self, pods: Pods, end: float) -> dict[Level, Seen]:
        """Stated levels; their drafts say that there is traffic, and no design effect makes little of it."""
        drafts = {level: sum(pod.drafts for pod in own.values()) for level, own in pods.items()}
        stated = self._settings.estimates.items()
        return {level: Seen(bounds, end, drafts.get(level, 0.0) / UNKNOWN_DESIGN) for level, bounds in stated}

    def _drift(self, end: float, level: Level) -> DriftState:
        states = {
            one.labels["state"]
            for own, one in self._of_levels(drift_catalog.STATE, end, level)
            if own is self._settings.home and not one.labels.get("traffic_class") and one.newest[1] == 1.0
        }
        return next((state for state in _WORST if state.value in states), DriftState.CANNOT_TELL)

    def _revision(self, end: float, level: Level) -> str:
        """Versions of what serves the home level, of all where levels share pods; empty while nothing does.

        They are the values of `revision_labels`, and the versions of the engines where their sidecars know them.
        """
        names, pods, found = self._settings.revision_labels, set(), set()
        for own, one in self._of_levels(catalog.STATE, end, level):
            if own is self._settings.home or self._settings.rule.shared:
                pods.add(one.pod)
                found.add(" ".join(filter(None, (one.labels.get(name) for name in names))))
        return ", ".join(sorted(found - {""}) + sorted(self._engines(pods, end)))

    def _engines(self, pods: Container[Labels], end: float) -> set[str]:
        """Engines of these pods, with their versions; their series name no model."""
        own, found = frozenset(catalog.ENGINE_INFO.labels), set()
        for series in self._source.fetch(catalog.ENGINE_INFO.name, end - LOOK_BACK_S, end):
            labels, samples = series["metric"], _samples(series)
            fresh = samples and samples[-1][0] > end - self._settings.fresh_s
            if fresh and labels.get("version") and self._labels.split(labels, own)[0] in pods:
                found.add(f"{labels.get('kind', 'engine')} {labels['version']}")
        return found

    def _adapts(self, end: float, level: Level, since: float) -> str:
        """What the engines of the level in force change by themselves; the operator's word is the last."""
        if self._settings.adapts is not None:
            return self._settings.adapts
        begin = since if self._settings.rule.shared else 0.0
        declared = [one.labels for own, one in self._of_levels(catalog.ADAPTS, end, level) if own is level]
        depths = [
            [(at, value) for at, value in one.samples if at > begin]
            for own, one in self._of_levels(catalog.NUM_SPECULATIVE_TOKENS, end, level, ADAPTIVE_SPAN_S)
            if own is level
        ]
        return adaptation(declared, depths)

    def _motion(self, end: float) -> Motion:
        """Whether pods are being replaced, and whether added pods are not ready."""
        home = self._settings.home_deployments
        names = {*self._settings.deployments, *home}
        if not names:
            return Motion()
        wanted = self._by_deployment("kube_deployment_spec_replicas", end)
        updated = self._by_deployment("kube_deployment_status_replicas_updated", end)
        ready = self._by_deployment("kube_deployment_status_replicas_ready", end)
        missing = sorted(names - wanted.keys())
        if missing:
            raise SourceError(f"kube-state-metrics knows no Deployment {missing[0]}")
        replaced = {name for name in names if updated.get(name, 0.0) < wanted[name]}
        added = {name for name in names if ready.get(name, 0.0) < wanted[name]}
        home_only = set(home)
        return Motion(
            bool(replaced - home_only), bool(added - home_only), bool(replaced & home_only), bool(added & home_only)
        )

    def _by_deployment(self, metric: str, end: float) -> dict[str, float]:
        found = self._source.fetch(metric, end - self._settings.fresh_s, end)
        newest = ((series["metric"].get("deployment", ""), _samples(series)) for series in found)
        return {name: samples[-1][1] for name, samples in newest if samples}

    def _of_levels(
        self, metric: Metric, end: float, in_force: Level, look_back_s: float = LOOK_BACK_S
    ) -> Iterator[tuple[Level, _Series]]:
        """Fresh series of a metric that belong to the model and to a level."""
        own = frozenset(metric.labels)
        for series in self._source.fetch(metric.name, end - look_back_s, end):
            labels, samples = series["metric"], _samples(series)
            if labels.get("model") != self._settings.model or not samples:
                continue
            level = self._settings.rule.level(labels, in_force)
            if level is not None and samples[-1][0] > end - self._settings.fresh_s:
                yield level, _Series(labels, *self._labels.split(labels, own), samples)


def _pod(pods: dict[Level, dict[Labels, PodSight]], level: Level, series: _Series) -> PodSight:
    return pods.setdefault(level, {}).setdefault(series.pod, PodSight())


def _samples(series: RawSeries) -> list[tuple[float, float]]:
    pairs = ((float(at), float(value)) for at, value in series["values"])
    return [(at, value) for at, value in pairs if math.isfinite(value)]


def _increase(values: Sequence[float]) -> float:
    """What a counter counted; one that fell has started again."""
    return sum(after - before if after >= before else after for before, after in pairwise(values))
