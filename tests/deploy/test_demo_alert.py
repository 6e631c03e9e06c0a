from __future__ import annotations

import io
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, Gauge
from rich.console import Console, RenderableType

from specwatch_deploy.demo_alert import DemoAlert
from specwatch_exporters.acceptance import Tally
from specwatch_exporters.demo.moment import ClassRow, Event, Moment
from specwatch_exporters.report import ModelReport, State
from specwatch_exporters.sidecar.watcher import Judgement

TALLY = Tally(drafts=100, draft_tokens=300, accepted_tokens=55, accepted_per_position=(33, 15, 7))
MOMENT = Moment(
    elapsed_s=58.0,
    total_s=120.0,
    title="m",
    simulated=True,
    engine="vllm",
    status_url="http://127.0.0.1:1/",
    window_s=10.0,
    report=ModelReport("m", State.ACTIVE, 1, TALLY, "vllm-v1-counters", waiting=6.0),
    baseline=(0.66, 0.44, 0.31),
    baseline_length=2.42,
    classes=(ClassRow("code", 0.2, 1.6),),
    events=(Event(48.0, "deploy: a stale draft", alarming=True), Event(57.0, "verdict: drifted", alarming=True)),
    judgement=Judgement(
        "m", "drifted", "acceptance has dropped", cause="the draft is a version behind", since_s=9.0
    ),
)


def registry(upper: float) -> CollectorRegistry:
    found = CollectorRegistry()
    gauge = Gauge(
        "specwatch_payoff_speedup_ratio", "as the sidecar says", ["model", "batch", "bound"], registry=found
    )
    for bound, value in {"lower": upper - 0.1, "estimate": upper - 0.05, "upper": upper}.items():
        gauge.labels("m", "16", bound).set(value)
    return found


def told(one: RenderableType | None) -> str:
    out = io.StringIO()
    if one is not None:
        Console(file=out, width=120).print(one)
    return out.getvalue()


@pytest.mark.parametrize(
    ("upper", "name", "severity"),
    [(0.93, "DraftDriftedNotPaying", "PAGE"), (1.4, "DraftDrifted", "TICKET")],
)
def test_the_alert_that_fits_is_shown_once_with_the_figures_of_the_moment(
    upper: float, name: str, severity: str
) -> None:
    alert = DemoAlert(wall=lambda: 1.8e9)
    quiet = replace(MOMENT, judgement=Judgement("m", "ok", "as before"), classes=(ClassRow("code", 0.6, 2.7),))
    assert alert.look(quiet, registry(upper)) is None
    text = told(alert.look(MOMENT, registry(upper)))
    assert f"{severity} {name} · m · demo" in text
    assert "Acceptance length 2.42 → 1.55" in text
    assert f"Speed {upper - 0.05:.2f} times" in text
    assert "the draft is a version behind" in text
    assert "10 s ago: deploy: a stale draft" in text
    assert "verdict: drifted" not in text
    assert "2.70    1.60" in text
    assert alert.look(MOMENT, registry(upper)) is None


@pytest.mark.parametrize(
    "judged",
    [
        None,
        Judgement("m", "watch", "the mix has changed", cause="the mix of traffic has changed", since_s=60.0),
        Judgement("m", "drifted", "no cause yet", since_s=60.0),
        Judgement("m", "drifted", "too young", cause="a deploy", since_s=1.0),
    ],
)
def test_nobody_is_told_of_less(judged: Judgement | None) -> None:
    assert DemoAlert().look(replace(MOMENT, judgement=judged), registry(0.9)) is None
