"""Named templates in somebody else's chart, `specwatch inject` and the kustomize patch add the same sidecars."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.chart.helm_chart import CHART, ROOT, named, template
from specwatch_deploy.inject.sidecar_containers import SidecarSettings, sidecars, volumes

PARENT = """apiVersion: v1
kind: Pod
metadata: {name: engine}
spec:
  initContainers:
    {{- $of := dict "root" .Subcharts.specwatch "enginePort" 8001 "method" "eagle3" }}
    {{- include "specwatch.sidecars" $of | nindent 4 }}
  containers: [{name: engine, image: "vllm:1"}]
  volumes:
    {{- include "specwatch.sidecarVolumes" . | nindent 4 }}
"""


def parent_chart(folder: Path) -> Path:
    parent = folder / "parent"
    (parent / "templates").mkdir(parents=True)
    (parent / "charts").mkdir()
    (parent / "Chart.yaml").write_text("apiVersion: v2\nname: parent\nversion: 1.0.0\n")
    (parent / "templates" / "pod.yaml").write_text(PARENT)
    (parent / "charts" / "specwatch").symlink_to(CHART)
    return parent


@pytest.mark.parametrize("requests", [False, True])
def test_a_chart_of_ones_own_gets_what_inject_adds(tmp_path: Path, requests: bool) -> None:
    objects = template(
        f"specwatch.requestSidecar.enabled={str(requests).lower()}",
        "specwatch.sidecar.payoffProfile=p.json",
        chart=parent_chart(tmp_path),
    ).objects
    spec = named(objects, "Pod", "engine")["spec"]
    settings = SidecarSettings(
        image="registry.example.com/specwatch:0.1.0",
        engine_port=8001,
        method="eagle3",
        payoff_profile="p.json",
        requests=requests,
    )
    assert spec["initContainers"] == sidecars(settings)
    assert spec["volumes"] == volumes()


def test_the_kustomize_component_patches_deployments_with_the_same() -> None:
    folder = ROOT / "deploy" / "kustomize" / "sidecar"
    component: dict[str, Any] = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert component["kind"] == "Component"
    (patch,) = component["patches"]
    assert patch["target"] == {"kind": "Deployment", "labelSelector": "specwatch=sidecar"}
    spec = yaml.safe_load((folder / patch["path"]).read_text())["spec"]["template"]["spec"]
    assert set(spec) == {"initContainers", "volumes"}
    wanted = SidecarSettings(image="registry.example.com/specwatch:0.1.0", engine_port=8000)
    assert spec["initContainers"] == sidecars(wanted)
    assert spec["volumes"] == volumes()


def test_notes_say_what_to_check_next(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "templates").mkdir(parents=True)
    for part in CHART.iterdir():
        if part.name != "templates":
            (notes / part.name).symlink_to(part)
    for part in (CHART / "templates").iterdir():
        (notes / "templates" / part.name).symlink_to(part)
    # helm template leaves NOTES.txt out; the same text in a ConfigMap is rendered.
    text = (CHART / "templates" / "NOTES.txt").read_text()
    shown = (
        '{{- define "notes" -}}\n'
        + text
        + "{{- end -}}\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: notes}\n"
    )
    (notes / "templates" / "shown.yaml").write_text(shown + 'data:\n  text: {{ include "notes" . | toJson }}\n')
    for values, words in (
        ("sidecar", ("specwatch inject -f", "! The image is the example's", "specwatch_requests_running")),
        ("bare", ("! Nothing scrapes", "! Mount ConfigMap demo-specwatch-rules")),
        (
            "sidecar-full",
            ("FALLBACK is False", "MOVES TRAFFIC", "http://demo-specwatch-slack.llm:9481/alertmanager"),
        ),
        ("stack-h200", ("rollout status deployment/demo-specwatch-fewer", "prometheus-adapter needs the rule")),
    ):
        objects = template(CHART / "ci" / f"{values}-values.yaml", chart=notes).objects
        found = named(objects, "ConfigMap", "notes")["data"]["text"]
        assert not [word for word in words if word not in found], found
