"""The page about the Kubernetes levers says what they really do."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.actuators.kube_docs import PAGE, configuration, rendered, tables
from deploy.actuators.kube_server import KubeServer
from specwatch_deploy.actuators.kube_role import roles
from tools.command_run import status_of


def test_patches_and_role_are_those_of_the_levers(kube: KubeServer) -> None:
    text = PAGE.read_text()
    assert rendered(text, kube) == text, "run: PYTHONPATH=tests .venv/bin/python -m deploy.actuators.kube_docs"


@pytest.mark.parametrize("kind", ["pools", "selector", "rollout"])
def test_each_configuration_of_the_page_is_accepted(kind: str) -> None:
    assert "leases" in roles(configuration(kind, tables(PAGE.read_text())))


CONFIG = """
model = "llama"
levels = ["draft", "ngram"]
audit_log = "audit.jsonl"
source.prometheus = "http://127.0.0.1:9090"
"""
POOLS = """
[lever]
kind = "pools"
namespace = "serving"
route = "llama"
services = { draft = "a", ngram = "b" }
"""


def role(monkeypatch: pytest.MonkeyPatch, config: Path) -> int:
    return status_of(monkeypatch, "fallback", "role", "--config", str(config))


def test_a_role_per_namespace_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fallback.toml"
    path.write_text(CONFIG + POOLS + '[leader]\nnamespace = "ops"\n')
    assert role(monkeypatch, path) == 0
    ops, serving = capsys.readouterr().out.split("---\n")
    assert ("namespace: ops" in ops, "leases" in ops) == (True, True)
    assert ("httproutes" in serving, "leases" in serving) == (True, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CONFIG + POOLS.replace("route", "rout"), "[lever] has no setting rout"),
        (CONFIG + '[lever]\nkind = "none"\n', "lever none calls no Kubernetes API, and there is no [leader]"),
        ("model = 3", "model"),
    ],
)
def test_a_wrong_file_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "fallback.toml"
    path.write_text(text)
    assert role(monkeypatch, path) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
