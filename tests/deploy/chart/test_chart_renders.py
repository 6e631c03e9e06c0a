"""What helm makes of each file of values in ci/: valid for every Kubernetes, as the golden file has it."""

from __future__ import annotations

import difflib
from collections import Counter
from pathlib import Path

import pytest

from deploy.chart import crd_schemas, kube_schemas
from deploy.chart.golden_renders import FOLDER, SHARED_LABELS, golden_file, golden_text
from deploy.chart.helm_chart import VALUES, VERSIONS, lint, named, of_kind, pods, template

each_mode = pytest.mark.parametrize("values", VALUES, ids=lambda path: path.name.removesuffix("-values.yaml"))


@each_mode
def test_helm_lint_has_nothing_to_say(values: Path) -> None:
    result = lint(values)
    assert result.status == 0, result.text + result.error
    assert "[ERROR]" not in result.text
    assert "[WARNING]" not in result.text


@each_mode
def test_the_render_is_the_golden_one(values: Path) -> None:
    file = golden_file(values)
    was = file.read_text().splitlines() if file.is_file() else []
    now = golden_text(values).splitlines()
    difference = "\n".join(difflib.unified_diff(was, now, f"golden/{file.name}", "now", lineterm="", n=6))
    assert not difference, f"{difference}\n\nAs wanted? PYTHONPATH=tests python -m deploy.chart.golden_renders"


def test_every_golden_file_has_its_values() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {golden_file(values).name for values in VALUES}


@each_mode
@pytest.mark.parametrize("version", VERSIONS)
def test_every_kubernetes_takes_the_objects(values: Path, version: str) -> None:
    objects = template(values, version=version).objects
    assert objects
    wrong: list[str] = []
    for one in objects:
        if one["kind"] in crd_schemas.SPECS:
            wrong += crd_schemas.mistakes(one)
        else:
            wrong += kube_schemas.mistakes(one, version)
    assert not wrong, "\n".join(wrong)


def test_an_older_kubernetes_is_refused() -> None:
    assert "kubeVersion: >=1.29.0-0" in template(VALUES[0], version="1.28.9").error


@each_mode
def test_names_are_taken_once_and_namespaced(values: Path) -> None:
    objects = template(values).objects
    counted = Counter((one["kind"], one["metadata"]["name"]) for one in objects)
    assert [key for key, count in counted.items() if count > 1] == []
    assert max(len(name) for _, name in counted) <= 63
    outside = [one["metadata"]["name"] for one in objects if one["metadata"].get("namespace") != "llm"]
    assert outside in ([], ["demo-note"])
    assert not of_kind(objects, "ClusterRole", "ClusterRoleBinding", "Namespace", "Secret")


@each_mode
def test_objects_and_pods_have_the_labels_of_every_chart(values: Path) -> None:
    objects = template(values).objects
    labelled = [one["metadata"] for one in objects] + [pod["metadata"] for _, pod in pods(objects)]
    without = [
        metadata for metadata in labelled if metadata.get("name") != "demo-note" and not _shared(metadata["labels"])
    ]
    assert without == []


def _shared(labels: dict[str, str]) -> bool:
    return all(isinstance(labels.get(label), str) for label in SHARED_LABELS)


def test_long_release_names_still_fit() -> None:
    stack = next(path for path in VALUES if path.name == "stack-values.yaml")
    objects = template(stack, release="a-very-long-name-of-a-release-as-people-have-them").objects
    scaled = of_kind(objects, "ScaledObject")
    assert [len("keda-hpa-" + one["metadata"]["name"]) <= 63 for one in scaled] == [True]
    assert not [one for one in objects if len(one["metadata"]["name"]) > 63]


def test_a_strict_schema_finds_a_misspelt_field() -> None:
    stack = next(path for path in VALUES if path.name == "stack-values.yaml")
    for one in template(stack).objects:
        if one["kind"] == "ConfigMap":
            continue
        broken = one | ({"roles": []} if one["kind"] in ("Role", "RoleBinding", "ServiceAccount") else {})
        if "spec" in one:
            broken["spec"] = one["spec"] | {"misspelt": 1}
        custom = one["kind"] in crd_schemas.SPECS
        assert crd_schemas.mistakes(broken) if custom else kube_schemas.mistakes(broken, "1.33.0"), one["kind"]


def test_replicas_are_left_to_whoever_scales() -> None:
    stack = next(path for path in VALUES if path.name == "stack-values.yaml")
    objects = template(stack).objects
    assert "replicas" not in named(objects, "Deployment", "demo-specwatch-draft")["spec"]
    assert named(objects, "Deployment", "demo-specwatch-ngram")["spec"]["replicas"] == 2
