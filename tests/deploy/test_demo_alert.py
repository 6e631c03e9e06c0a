from __future__ import annotations

import io
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge
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
    name, labels = "specwatch_drift_baseline_length_tokens", ["model", "traffic_class"]
    baseline = Gauge(name, "as above", labels, registry=found)
    baseline.labels("m", "").set(2.42)
    baseline.labels("m", "code").set(2.9)
    return found


class Counted:
    """The sidecar's counters, set by hand."""

    def __init__(self, registry: CollectorRegistry) -> None:
        names = {"drafts": "drafts", "accepted": "accepted_tokens"}
        self._totals = {
            key: Counter(f"specwatch_{name}_total", "as above", ["model"], registry=registry).labels("m")
            for key, name in names.items()
        }
        name = "specwatch_accepted_tokens_per_position_total"
        self._places = Counter(name, "as above", ["model", "position"], registry=registry)

    def add(self, drafts: int, *accepted: int) -> None:
        self._totals["drafts"].inc(drafts)
        self._totals["accepted"].inc(sum(accepted))
        for place, count in enumerate(accepted):
            self._places.labels("m", str(place)).inc(count)


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
    metrics = registry(upper)
    counted = Counted(metrics)
    quiet = replace(MOMENT, judgement=Judgement("m", "ok", "as before"), classes=(ClassRow("code", 0.6, 2.7),))
    counted.add(1000, 660, 440, 310)
    assert alert.look(replace(quiet, elapsed_s=30.0), metrics) is None
    counted.add(1000, 660, 440, 310)
    assert alert.look(replace(quiet, elapsed_s=49.0), metrics) is None  # the drift begins
    counted.add(100, 30, 9, 1)
    text = told(alert.look(MOMENT, metrics))
    assert f"{severity} {name} · m · demo" in text
    assert "Acceptance length 2.42 → 1.40" in text  # not the 1.55 of the last ten seconds
    assert "0                       0.66    0.30" in text
    assert f"Speed {upper - 0.05:.2f} times" in text
    assert "the draft is a version behind" in text
    assert "10 s ago: deploy: a stale draft" in text
    assert "verdict: drifted" not in text
    assert "code, last 10 s         2.70    1.60" in text
    assert alert.look(MOMENT, metrics) is None


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
