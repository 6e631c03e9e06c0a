"""A made-up alert with made-up evidence: what `specwatch slack test` sends."""

from __future__ import annotations

from typing import Final

from specwatch_alerts.slack.evidence import Evidence, Pair, Payoff
from specwatch_alerts.slack.group_view import AlertView, GroupView
from specwatch_alerts.slack.payload import Status

_LABELS: Final = {
    "alertname": "SpecwatchDraftDriftedNotPaying",
    "severity": "page",
    "component": "draft",
    "model": "llama-3.3-70b",
    "namespace": "chat",
}
_ANNOTATIONS: Final = {
    "summary": "The draft no longer fits its target and speculation makes the engine slower",
    "impact": "Sample: speculation makes answers about 6 % slower than none.",
    "description": "Sample. Acceptance of llama-3.3-70b in chat is below its baseline, the speed-up below 1.",
    "cause": "Sample: the target was deployed, its draft was not",
    "runbook_url": "https://runbooks.example.com/SpecwatchDraftDriftedNotPaying",
    "dashboard_url": "https://grafana.example.com/d/specwatch?var-model=llama-3.3-70b&var-namespace=chat",
}


def sample_group(now: float, *, resolved: bool = False) -> GroupView:
    """A page about two pods, a quarter of an hour old."""
    began = now - 900.0
    ended = now if resolved else None
    status = Status.RESOLVED if resolved else Status.FIRING
    alert = AlertView(status, began, ended, _LABELS, _ANNOTATIONS, count=2)
    return GroupView(
        group="0" * 32,
        receiver="sample",
        group_labels={name: _LABELS[name] for name in ("alertname", "model", "namespace")},
        common_labels=_LABELS,
        external_url="https://alertmanager.example.com",
        firing=0 if resolved else 2,
        resolved=2 if resolved else 0,
        truncated=0,
        began=began,
        ended=ended,
        pages=True,
        alerts=(alert,),
        pods=("vllm-0", "vllm-1"),
        pod_count=2,
    )


def sample_evidence() -> Evidence:
    """Figures of the size that a stale draft gives."""
    return Evidence(
        length=Pair("all", 2.84, 1.71),
        positions=(Pair("0", 0.78, 0.46), Pair("1", 0.57, 0.19), Pair("2", 0.49, 0.06)),
        classes=(Pair("chat", 2.52, 1.44), Pair("code", 3.31, 2.05)),
        payoff=Payoff("17-32", 0.92, 0.94, 0.97),
        pods=(Pair("vllm-0", None, 1.66), Pair("vllm-1", None, 1.77)),
        changes=("deploy: engine version 0.31.0 → 0.32.0",),
    )
