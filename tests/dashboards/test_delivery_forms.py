"""Files and objects that a Grafana loads by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from specwatch_cli.dashboards import app
from specwatch_cli.errors import UserError
from specwatch_dashboards.build import build
from specwatch_dashboards.delivery import CONFIGMAP_BYTES, DeliveryError, deliver
from specwatch_dashboards.delivery_order import DeliveryOrder, Form
from specwatch_dashboards.source import Source

BOARDS = build(Source.SIDECAR)
# What the operator's CRD (grafana.integreatly.org/v1beta1) says of the fields that are written.
OPERATOR = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "additionalProperties": False,
    "properties": {
        "apiVersion": {"const": "grafana.integreatly.org/v1beta1"},
        "kind": {"const": "GrafanaDashboard"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["instanceSelector", "json"],
            "additionalProperties": False,
            "properties": {
                "allowCrossNamespaceImport": {"type": "boolean"},
                "folder": {"type": "string"},
                "json": {"type": "string"},
                "instanceSelector": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
                    },
                },
            },
        },
    },
}


def delivered(folder: Path, form: Form, order: DeliveryOrder | None = None) -> dict[str, Any]:
    paths = deliver(BOARDS, folder, form, order or DeliveryOrder())
    return {
        str(path.relative_to(folder)): yaml.safe_load(path.read_text())
        if path.suffix == ".yaml"
        else path.read_text()
        for path in paths
    }


def test_config_maps_for_the_loader_of_the_helm_chart(tmp_path: Path) -> None:
    found = delivered(tmp_path, Form.CONFIGMAP)
    assert set(found) == {f"{uid}.configmap.yaml" for uid in BOARDS}
    for uid, board in BOARDS.items():
        one = found[f"{uid}.configmap.yaml"]
        assert (one["apiVersion"], one["kind"]) == ("v1", "ConfigMap")
        assert one["metadata"]["name"] == uid
        assert one["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert one["metadata"]["annotations"] == {"grafana_folder": "specwatch"}
        assert "namespace" not in one["metadata"]
        assert {key: json.loads(text) for key, text in one["data"].items()} == {f"{uid}.json": board}


def test_objects_can_be_applied_by_the_client(tmp_path: Path) -> None:
    # kubectl apply without --server-side keeps a copy in an annotation, and annotations hold 256 KiB.
    for form in (Form.CONFIGMAP, Form.GRAFANADASHBOARD):
        for path in deliver(BOARDS, tmp_path / form, form, DeliveryOrder()):
            as_json = json.dumps(yaml.safe_load(path.read_text()), separators=(",", ":"))
            assert len(as_json.encode()) < 256 * 1024, path.name


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_a_config_map_holds_a_mebibyte(tmp_path: Path, more: int, fits: bool) -> None:
    board = {"uid": "large", "panels": [], "description": ""}
    rest = CONFIGMAP_BYTES - len((json.dumps(board, indent=1) + "\n").encode())
    boards = {"large": {**board, "description": "x" * (rest + more)}}
    if fits:
        assert deliver(boards, tmp_path, Form.CONFIGMAP, DeliveryOrder())
        return
    with pytest.raises(DeliveryError, match="large has 1048577 bytes, and a ConfigMap holds 1048576"):
        deliver(boards, tmp_path, Form.CONFIGMAP, DeliveryOrder())
    assert list(tmp_path.iterdir()) == []


def test_objects_of_the_operator(tmp_path: Path) -> None:
    found = delivered(tmp_path, Form.GRAFANADASHBOARD, DeliveryOrder(namespace="llm"))
    for uid, board in BOARDS.items():
        one = found[f"{uid}.grafanadashboard.yaml"]
        jsonschema.validate(one, OPERATOR)
        assert one["metadata"]["namespace"] == "llm"
        assert one["spec"]["instanceSelector"]["matchLabels"] == {"dashboards": "grafana"}
        assert json.loads(one["spec"]["json"]) == board


def test_provisioning_by_files(tmp_path: Path) -> None:
    found = delivered(tmp_path, Form.PROVISIONING, DeliveryOrder(folder="LLM", path="/srv/boards"))
    (provider,) = found.pop("provisioning/dashboards/specwatch.yaml")["providers"]
    assert provider["type"] == "file"
    assert provider["folder"] == "LLM"
    assert provider["options"] == {"path": "/srv/boards", "foldersFromFilesStructure": False}
    assert {name: json.loads(text) for name, text in found.items()} == {
        f"dashboards/{uid}.json": board for uid, board in BOARDS.items()
    }


def test_the_command(tmp_path: Path) -> None:
    given = ["--label", "load=yes", "--instance", "team=llm", "--namespace", "llm", "--source", "engine"]
    done = CliRunner().invoke(app, ["deliver", "--as", "configmap", "--out", str(tmp_path), *given])
    assert done.exit_code == 0, done.output
    one = yaml.safe_load((tmp_path / "specwatch-draft.configmap.yaml").read_text())
    assert one["metadata"]["labels"] == {"app.kubernetes.io/part-of": "specwatch", "load": "yes"}
    assert json.loads(one["data"]["specwatch-draft.json"]) == build(Source.ENGINE)["specwatch-draft"]


@pytest.mark.parametrize(
    ("given", "said", "code"),
    [
        (["--label", "x"], "--label 'x': it is NAME=VALUE", 2),
        (["--label", "a b=c"], "--label 'a b=c': Kubernetes takes no such label", 1),
        (["--instance", "a=c d"], "--instance 'a=c d': Kubernetes takes no such label", 1),
        (
            ["--namespace", "Bad Name"],
            "--namespace 'Bad Name': Kubernetes takes lower case letters, digits and dashes",
            1,
        ),
        (["nothing.json"], "nothing.json: No such file or directory", 1),
    ],
)
def test_a_wrong_input_is_one_line(tmp_path: Path, given: list[str], said: str, code: int) -> None:
    done = CliRunner().invoke(app, ["deliver", "--as", "configmap", "--out", str(tmp_path), *given])
    assert isinstance(done.exception, UserError)
    assert str(done.exception) == said
    assert done.exception.exit_code == code


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "it is not the JSON of a dashboard"),
        ("[]", "it is not the JSON of a dashboard"),
        ('{"panels": []}', "has no uid that can be a file's name"),
        ('{"panels": [], "uid": "../x"}', "has no uid that can be a file's name"),
    ],
)
def test_a_file_that_is_no_dashboard(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "one.json"
    file.write_text(content)
    done = CliRunner().invoke(app, ["deliver", "--as", "provisioning", "--out", str(tmp_path), str(file)])
    assert isinstance(done.exception, UserError)
    assert said in str(done.exception)


def test_names_of_objects_are_what_kubernetes_takes(tmp_path: Path) -> None:
    boards: dict[str, dict[str, Any]] = {"rYdddlPWk_x": {"uid": "rYdddlPWk_x", "panels": []}}
    (path,) = deliver(boards, tmp_path, Form.CONFIGMAP, DeliveryOrder(labels={"example.com/load": ""}))
    one = yaml.safe_load(path.read_text())
    assert one["metadata"]["name"] == "rydddlpwk-x"
    assert list(one["data"]) == ["rYdddlPWk_x.json"]
    with pytest.raises(DeliveryError, match="ab and aB: both would be the object ab"):
        deliver({uid: {} for uid in ("aB", "ab")}, tmp_path / "no", Form.GRAFANADASHBOARD, DeliveryOrder())
    assert not (tmp_path / "no").exists()


def test_two_files_of_one_uid(tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        file.write_text('{"panels": [], "uid": "same"}')
    done = CliRunner().invoke(app, ["deliver", "--as", "provisioning", "--out", str(tmp_path), *map(str, files)])
    assert str(done.exception) == f"{files[1]}: another file has the uid 'same' too"
