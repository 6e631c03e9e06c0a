"""Gathers evidence from Prometheus; what fails is said in the message, and never keeps it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from specwatch_alerts.slack import evidence_queries as queries
from specwatch_alerts.slack.evidence import Evidence, Pair, Payoff
from specwatch_alerts.slack.evidence_queries import Scope
from specwatch_alerts.slack.group_view import GroupView
from specwatch_alerts.slack.prometheus_query import PrometheusQuery, QueryError, Sample
from specwatch_exporters import catalog, request_catalog

_BEFORE_S: Final = 3600.0
"""How long before the alert's start *before* is: longer than any detector or `for` takes."""
_PICTURE_BEFORE_S: Final = 2 * 3600.0
_POINTS: Final = 180
_LATENT: Final = frozenset({"latency", "queue", "scaler"})


class PrometheusEvidence:
    """Evidence from one Prometheus.

    Args:
        connect: begins a series of queries with a deadline of its own.
        clock: epoch seconds.
        draw: makes the picture, or None where matplotlib is not installed.
    """

    def __init__(
        self,
        connect: Callable[[], PrometheusQuery],
        clock: Callable[[], float],
        draw: Callable[[str, list[tuple[float, float]], float | None, float], bytes] | None = None,
    ) -> None:
        self._connect = connect
        self._clock = clock
        self._draw = draw

    def gather(self, view: GroupView) -> Evidence:
        """Evidence on the group's model, or why there is none."""
        scope = _scope(view)
        if scope is None:
            return Evidence()
        found = _Gathering(self._connect(), scope, self._clock(), view.began - _BEFORE_S)
        latent = view.label("component") in _LATENT
        return Evidence(
            length=found.part(found.length, None),
            positions=found.part(found.positions, ()),
            classes=found.part(found.classes, ()),
            payoff=found.part(found.payoff, None),
            latencies=found.part(found.latencies, ()) if latent else (),
            waiting=found.part(found.waiting, None) if latent else None,
            pods=found.part(found.pods, ()),
            changes=found.part(found.changes, ()),
            problem=found.problem,  # of all parts: it is asked for last
        )

    def picture(self, view: GroupView) -> bytes | None:
        """The acceptance length around the start of a drift alert as PNG, or None."""
        scope = _scope(view)
        if self._draw is None or scope is None or view.label("component") != "draft":
            return None
        now, connection = self._clock(), self._connect()
        start = view.began - _PICTURE_BEFORE_S
        try:
            points = connection.range(queries.length(scope), start, now, max(15.0, (now - start) / _POINTS))
            baseline = _one(connection.instant(queries.baseline(scope), now))
        except QueryError:
            return None
        return self._draw(scope.model, points, baseline, view.began) if len(points) > 1 else None


class NoEvidence:
    """Where no Prometheus is configured: the alert's own words stand alone."""

    def gather(self, _view: GroupView) -> Evidence:
        """Nothing."""
        return Evidence()

    def picture(self, _view: GroupView) -> bytes | None:
        """Nothing."""
        return None


_Part = TypeVar("_Part")


class _Gathering:
    """The queries on one model at two times."""

    def __init__(self, connection: PrometheusQuery, scope: Scope, now: float, before: float) -> None:
        self._connection = connection
        self._scope = scope
        self._now = now
        self._before = before
        self.problem = ""

    def part(self, ask: Callable[[], _Part], unknown: _Part) -> _Part:
        """One part of the evidence, unknown if its queries fail."""
        try:
            return ask()
        except QueryError as error:
            self.problem = self.problem or f"Evidence is missing: {error}."
            return unknown

    def length(self) -> Pair:
        query = queries.length(self._scope)
        baseline = _one(self._ask(queries.baseline(self._scope)))
        before = baseline if baseline is not None else _one(self._ask(query, then=True))
        return Pair("all", before, _one(self._ask(query)))

    def positions(self) -> tuple[Pair, ...]:
        query = queries.positions(self._scope)
        pairs = _pairs(self._ask(query, then=True), self._ask(query), "position")
        return tuple(sorted(pairs, key=lambda pair: int(pair.name) if pair.name.isdecimal() else 0))

    def classes(self) -> tuple[Pair, ...]:
        query = queries.class_length(self._scope)
        before = self._ask(queries.class_baseline(self._scope)) or self._ask(query, then=True)
        return _pairs(before, self._ask(query), "traffic_class")

    def payoff(self) -> Payoff | None:
        by_batch: dict[str, dict[str, float]] = {}
        for labels, value in self._ask(queries.speedup(self._scope)):
            by_batch.setdefault(labels.get("batch", ""), {})[labels.get("bound", "")] = value
        worst = min(
            ((bounds["estimate"], batch) for batch, bounds in by_batch.items() if "estimate" in bounds),
            default=None,
        )
        if worst is None:
            return None
        bounds = by_batch[worst[1]]
        return Payoff(worst[1], bounds.get("lower"), worst[0], bounds.get("upper"))

    def latencies(self) -> tuple[Pair, ...]:
        rows = (
            ("Time to first token", request_catalog.TTFT, catalog.TTFT),
            ("Queue wait", request_catalog.QUEUE_WAIT, catalog.QUEUE_WAIT),
        )
        pairs = []
        for name, sidecar, engine in rows:
            query = queries.latency(self._scope, sidecar, engine)
            pairs.append(Pair(name, _one(self._ask(query, then=True)), _one(self._ask(query))))
        return tuple(pairs)

    def waiting(self) -> float | None:
        return _one(self._ask(queries.waiting(self._scope)))

    def pods(self) -> tuple[Pair, ...]:
        for label in ("pod", "instance"):
            found = [
                (labels.get(label, ""), value) for labels, value in self._ask(queries.length(self._scope, label))
            ]
            named = sorted((value, name) for name, value in found if name)
            if named:
                return tuple(Pair(name, None, value) for value, name in named[:3])
        return ()

    def changes(self) -> tuple[str, ...]:
        return (*self._fallback(), *self._deploys(), *self._mix())

    def _fallback(self) -> Iterable[str]:
        for labels, _ in self._ask(queries.fallback_levels(self._scope)):
            if labels.get("level") != "draft":
                yield f"fallback: level {labels.get('level')} is in force"
        for labels, _ in self._ask(queries.movements(self._scope)):
            yield f"fallback: moved to {labels.get('to')} in the last hour ({labels.get('reason')})"

    def _deploys(self) -> Iterable[str]:
        for label, query in (("version", queries.versions), ("method", queries.methods)):
            before = {labels.get(label, "") for labels, _ in self._ask(query(self._scope), then=True)}
            now = {labels.get(label, "") for labels, _ in self._ask(query(self._scope))}
            if before and now - before:
                name = "engine version" if label == "version" else "speculation method"
                yield f"deploy: {name} {_listed(before)} → {_listed(now)}"
        count = _one(self._ask(queries.restarts(self._scope)))
        if count is not None and count >= 0.5:
            yield f"engine restarts in the last hour: {count:.0f}"

    def _mix(self) -> Iterable[str]:
        if self._ask(queries.mix_shift(self._scope)):
            yield "the mix of traffic moved; no class accepts less"

    def _ask(self, query: str, *, then: bool = False) -> list[Sample]:
        return self._connection.instant(query, self._before if then else self._now)


def _scope(view: GroupView) -> Scope | None:
    model = view.label("model")
    return Scope(model, view.label("namespace")) if model else None


def _one(samples: list[Sample]) -> float | None:
    return samples[0][1] if samples else None


def _pairs(before: list[Sample], now: list[Sample], label: str) -> tuple[Pair, ...]:
    then = {labels.get(label, ""): value for labels, value in before}
    return tuple(
        sorted(
            Pair(labels.get(label, "") or "unnamed", then.get(labels.get(label, "")), value)
            for labels, value in now
        )
    )


def _listed(values: set[str]) -> str:
    return ", ".join(sorted(value or "unknown" for value in values))
