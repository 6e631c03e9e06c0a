"""What the chart has from elsewhere agrees with where it is from: rules, scaler, rights, configuration, flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from deploy.chart.helm_chart import CHART, VALUES, Object, ci, containers, named, of_kind, pods, template
from deploy.chart.update_chart import stale
from specwatch_alerts.origin import Origin
from specwatch_cli.main import command_line
from specwatch_deploy.actuators.kube_role import roles
from specwatch_deploy.scale.adapter_objects import horizontal_pod_autoscaler
from specwatch_deploy.scale.demand_rules import demand_group
from specwatch_deploy.scale.scale_settings import DemandSettings
from specwatch_deploy.scale.scaled_object import scaled_object
from specwatch_deploy.scale.scaler_settings import Scaler, ScalerSettings
from specwatch_detectors.fallback.fallback_config import load_config

each_mode = pytest.mark.parametrize("values", VALUES, ids=lambda path: path.name.removesuffix("-values.yaml"))
CONTROLLED = [ci(name) for name in ("sidecar-full", "sidecar-selector", "stack")]


def test_files_made_from_elsewhere_are_up_to_date() -> None:
    assert stale() == [], "run: make docs"


@pytest.mark.parametrize("origin", Origin)
@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        ([], {}),
        (["scaler.slots=100", "scaler.targetUse=0.85"], {"slots": 100, "target_use": 0.85}),
        (["scaler.slots=7", "scaler.targetUse=0.7"], {"slots": 7, "target_use": 0.7}),
        (["scaler.waitSloSeconds=2.5", "scaler.drainSeconds=90"], {"wait_slo_s": 2.5, "drain_s": 90}),
        (["scaler.kvLimit=0.95", "model.name=org/m-1"], {"kv_limit": 0.95, "model": "org/m-1"}),
        (["model.name=0123"], {"model": "0123"}),
        (["model.name=llama:"], {"model": "llama:"}),
    ],
)
def test_the_demand_is_that_of_scale_build(origin: Origin, settings: list[str], changes: dict[str, Any]) -> None:
    given = ["scaler.kind=keda", "target.name=vllm-m", f"rules.source={origin.value}", *settings]
    rule = named(template(*given).objects, "PrometheusRule", "demo-specwatch-scale")
    numbers: dict[str, Any] = {
        "namespace": "llm",
        "model": "meta-llama/Llama-3.3-70B-Instruct",
        "slots": 64,
    } | changes
    assert rule["spec"]["groups"] == [demand_group(DemandSettings(**numbers), origin)]


@pytest.mark.parametrize("start_up", [10, 60, 180, 900])
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "LeaderWorkerSet"])
def test_scalers_are_those_of_scale_build(start_up: int, kind: str) -> None:
    demand = DemandSettings(namespace="llm", model="m", slots=64, start_up_s=start_up)
    given = ["target.name=vllm-m", f"target.kind={kind}", "model.name=m", f"scaler.startUpSeconds={start_up}"]
    for scaler, object_kind, made in (
        (Scaler.KEDA, "ScaledObject", scaled_object),
        (Scaler.ADAPTER, "HorizontalPodAutoscaler", horizontal_pod_autoscaler),
    ):
        word = "keda" if scaler is Scaler.KEDA else "hpa"
        objects = template(f"scaler.kind={word}", *given).objects
        assert {one["kind"] for one in of_kind(objects, "ScaledObject", "HorizontalPodAutoscaler")} == {object_kind}
        wanted = made(demand, ScalerSettings(workload="vllm-m", kind=kind, scaler=scaler))
        assert named(objects, object_kind, "vllm-m")["spec"] == wanted["spec"]


def fallback_file(values: Path, folder: Path) -> Path:
    text = named(template(values).objects, "ConfigMap", "demo-specwatch-fallback")["data"]["fallback.toml"]
    file = folder / "fallback.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize("values", CONTROLLED, ids=lambda path: path.name)
def test_the_controller_takes_its_configuration(values: Path, tmp_path: Path) -> None:
    config = load_config(fallback_file(values, tmp_path))
    assert config.lever == {"sidecar-full-values.yaml": "rollout", "stack-values.yaml": "pools"}.get(
        values.name, "selector"
    )
    assert config.leader_table is not None


def test_keys_of_ones_own_stand_where_the_controller_reads_them(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("fallback: {top: 'canary = true', extra: \"[policy]\\nflips_per_day = 2\"}\n")
    objects = template(ci("stack"), values).objects
    file = tmp_path / "fallback.toml"
    file.write_text(named(objects, "ConfigMap", "demo-specwatch-fallback")["data"]["fallback.toml"])
    config = load_config(file)
    assert config.canary is True
    assert config.policy.flips_per_day == 2


def test_engines_own_series_are_scraped_when_the_rules_read_them() -> None:
    for kind, endpoints in (("PodMonitor", "podMetricsEndpoints"), ("ServiceMonitor", "endpoints")):
        objects = template(ci("stack"), "rules.source=vllm", f"monitor.kind={kind}").objects
        ports = [one["port"] for one in named(objects, kind, "demo-specwatch-engines")["spec"][endpoints]]
        assert "http" in ports
        if kind == "ServiceMonitor":
            service = named(objects, "Service", "demo-specwatch-sidecars")
            assert {one["name"] for one in service["spec"]["ports"]} == set(ports)


@pytest.mark.parametrize("values", CONTROLLED, ids=lambda path: path.name)
def test_the_controllers_rights_are_those_of_fallback_role(values: Path, tmp_path: Path) -> None:
    wanted = yaml.safe_load(roles(load_config(fallback_file(values, tmp_path))))
    found = named(template(values).objects, "Role", "demo-specwatch-fallback")
    assert _rules(found) == _rules(wanted)


def _rules(role: Object) -> list[str]:
    return sorted(repr({key: sorted(value) for key, value in sorted(rule.items())}) for rule in role["rules"])


@each_mode
def test_the_command_line_knows_every_flag(values: Path) -> None:
    """Parsed by the command itself; nothing is run."""
    command = typer.main.get_command(command_line())
    ours = [one for _, pod in pods(template(values).objects) for one in containers(pod) if one["name"] != "engine"]
    for one in ours:
        group, name, *flags = one["args"]
        context = command.make_context("specwatch", [group, name], resilient_parsing=True)
        chosen = command.get_command(context, group)  # type: ignore[attr-defined]
        leaf = chosen.get_command(context, name)
        leaf.make_context(name, list(flags))


@each_mode
def test_dashboards_fit_into_a_configmap_and_its_annotation(values: Path) -> None:
    for one in of_kind(template(values).objects, "ConfigMap"):
        assert len(yaml.safe_dump(one)) < 256 * 1024, one["metadata"]["name"]


def test_rules_and_links_can_be_ones_own() -> None:
    objects = template(ci("bare"), "rules.grafanaUrl=https://boards.example.com").objects
    text = named(objects, "ConfigMap", "demo-specwatch-rules")["data"]["specwatch.yml"]
    shipped = (CHART / "files" / "rules" / "sidecar.yaml").read_text()
    assert text == shipped.replace("https://grafana.example.com", "https://boards.example.com")
    own = template(ci("bare"), "rules.file=groups: []").objects
    assert named(own, "ConfigMap", "demo-specwatch-rules")["data"]["specwatch.yml"].strip() == "groups: []"


def test_helm_leaves_the_templates_of_prometheus_and_grafana_alone() -> None:
    objects = template(ci("sidecar")).objects
    rules = named(objects, "PrometheusRule", "demo-specwatch-rules")
    assert (
        yaml.safe_load((CHART / "files" / "rules" / "sidecar.yaml").read_text())["groups"]
        == rules["spec"]["groups"]
    )
    assert "{{ $labels." in str(rules)
