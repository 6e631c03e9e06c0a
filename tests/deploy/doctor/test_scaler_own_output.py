"""What specwatch itself renders has no fault of a scaler or of Alertmanager's configuration."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import yaml

from deploy.chart.helm_chart import VALUES, template
from deploy.doctor.scaler_objects import found
from specwatch_alerts.alertmanager_config import alertmanager_yaml
from specwatch_alerts.origin import Origin
from specwatch_alerts.routing import Receivers, Routing
from specwatch_alerts.rule_build import build as build_alerts
from specwatch_alerts.values import load_values
from specwatch_deploy.scale.scale_build import build
from specwatch_deploy.scale.scale_settings import DemandSettings
from specwatch_deploy.scale.scaler_settings import Scaler, ScalerSettings

DEMAND = DemandSettings(namespace="llm", model="meta-llama/Llama-3.3-70B-Instruct", slots=32)


@pytest.mark.parametrize(("origin", "scaler"), list(itertools.product(Origin, Scaler)))
def test_scalers_that_are_built(origin: Origin, scaler: Scaler) -> None:
    files = build(DEMAND, ScalerSettings(workload="vllm-llama", scaler=scaler), origin, {})
    assert found(files.values()) == []


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_the_chart(values: Path) -> None:
    render = template(values)
    assert render.objects
    assert found([render.text]) == []


def test_alerts_with_their_routing_and_inhibition() -> None:
    receivers = Receivers("http://specwatch-slack:9481/alertmanager", pager_url="https://pager.example.com/hook")
    rules = yaml.safe_dump(build_alerts(load_values(), Origin.SIDECAR))
    assert found([rules, alertmanager_yaml(Routing(receivers))]) == []
