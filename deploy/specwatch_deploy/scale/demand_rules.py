"""The recording rules: demand for one model in replica units, and what it is made of.

Every rule carries namespace and model as its own labels and every expression over raw series has no labels, so each
series has exactly one element, whatever the number of pods, ranks and ReplicaSets. The parts of the demand have one
name and a label `part`; the demand is their maximum. Without a pod that answers there is none, and no demand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from specwatch_alerts.origin import Origin
from specwatch_deploy.scale.demand_sources import demand_source, selector
from specwatch_deploy.scale.scale_settings import DemandSettings

DEMAND: Final = "specwatch:scale_demand:replicas"
PART: Final = "specwatch:scale_demand_part:replicas"
PODS: Final = "specwatch:scale_pods:count"
FREED: Final = "specwatch:scale_freed_by_cutting:replicas"
LEAST_RATE: Final = 0.001
"""Requests per second that a pace counts as at least, so that a stuck engine has a wait and not a division by 0."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One recording rule."""

    record: str
    expr: str
    part: str = ""


def demand_group(settings: DemandSettings, origin: Origin) -> dict[str, Any]:
    """The rules as a group of a Prometheus rule file."""
    labels = {"namespace": settings.namespace, "model": settings.model}
    rules: list[dict[str, Any]] = [
        {"record": rule.record, "expr": rule.expr, "labels": labels | ({"part": rule.part} if rule.part else {})}
        for rule in (*_raw(settings, origin), *_derived(settings, origin))
    ]
    name = f"specwatch-scale-{settings.namespace}-{settings.model}"
    return {"name": name, "interval": f"{settings.scrape_s}s", "rules": rules}


def demand_query(settings: DemandSettings) -> str:
    """The query of a scaler: one element, or none."""
    return f"max({DEMAND}{selector(settings, 'model')})"


def _raw(settings: DemandSettings, origin: Origin) -> list[Rule]:
    """What is read from engines' series."""
    source = demand_source(settings, origin)
    most = settings.feed_forward_most
    before = source.length(f"{settings.service_s}s", 1)
    now = source.length(f"{settings.now_s}s", settings.drafts_least)
    idle = f"0 * {source.running}"
    rules = [
        Rule(PODS, source.pods),
        Rule("specwatch:scale_running:requests", source.running),
        Rule("specwatch:scale_waiting:requests", source.waiting),
        Rule("specwatch:scale_finished:rate", source.finished),
        Rule("specwatch:scale_rejected:rate", f"{source.rejected} or {idle}" if source.rejected else idle),
        Rule("specwatch:scale_service:seconds", source.service),
        Rule("specwatch:scale_feed_forward:ratio", f"clamp(({before}) / ({now}), 1, {most:g}) or {idle} + 1"),
        Rule(PART, f"{source.kv} / {settings.kv_limit:g}", "kv"),
    ]
    if source.oldest is not None:
        rules.append(Rule("specwatch:scale_oldest_waiting:seconds", source.oldest))
    if source.speedup is not None:
        rules.append(Rule("specwatch:scale_speedup:ratio", source.speedup))
    return rules


def _derived(settings: DemandSettings, origin: Origin) -> list[Rule]:
    """What follows from it."""
    own = selector(settings, "model")
    running, waiting = f"specwatch:scale_running:requests{own}", f"specwatch:scale_waiting:requests{own}"
    finished, service = f"specwatch:scale_finished:rate{own}", f"specwatch:scale_service:seconds{own}"
    in_flight, arrivals = f"specwatch:scale_in_flight:requests{own}", f"specwatch:scale_arrivals:rate{own}"
    per_replica = f"{settings.slots * settings.target_use:.6g}"
    change = f"deriv(specwatch:scale_in_flight:requests{own}[{settings.rate_s}s])"
    forward = f"specwatch:scale_feed_forward:ratio{own}"
    load = f"({arrivals} + {waiting} / {settings.drain_s:g}) * {service} * {forward} / {per_replica}"
    by_arrivals = selector(settings, "model", 'part="arrivals"')
    parts = selector(settings, "model")
    rules = [
        Rule("specwatch:scale_in_flight:requests", f"{running} + {waiting}"),
        Rule(
            "specwatch:scale_arrivals:rate",
            f"clamp_min({finished} + {change}, 0) + specwatch:scale_rejected:rate{own}",
        ),
        Rule(PART, load, "arrivals"),
        Rule(
            PART,
            f"({running} and on (namespace, model) {PART}{by_arrivals} or {in_flight}) / {per_replica}",
            "running",
        ),
        *_wait_rules(settings, own, origin, per_replica),
        Rule(DEMAND, f"max({PART}{parts})"),
    ]
    if origin is Origin.SIDECAR:
        rules.append(Rule(FREED, f"{DEMAND}{own} * (1 - clamp_max(specwatch:scale_speedup:ratio{own}, 1))"))
    return rules


def _wait_rules(settings: DemandSettings, own: str, origin: Origin, per_replica: str) -> list[Rule]:
    """The part of the queue wait: slots for all in flight, up to some times the pods that were there throughout."""
    waiting, wait = f"specwatch:scale_waiting:requests{own}", f"specwatch:scale_wait:seconds{own}"
    pace = f"clamp_min(specwatch:scale_finished:rate{own} or 0 * {waiting}, {LEAST_RATE:g})"
    oldest = f"specwatch:scale_oldest_waiting:seconds{own}"
    queue = f"{waiting} / {pace}"
    both = f"({queue} >= {oldest}) or {oldest} or {queue}" if origin is Origin.SIDECAR else queue
    held = f"specwatch:scale_in_flight:requests{own} / {per_replica}"
    times = f"clamp(1 + {wait} / {settings.wait_slo_s:g}, 1, {settings.wait_most:g})"
    limit = f"{times} * min_over_time({PODS}{own}[{settings.now_s}s])"
    return [
        Rule("specwatch:scale_wait:seconds", both),
        Rule(PART, f"({held} < {limit}) or ({limit} and {held})", "wait"),
    ]
