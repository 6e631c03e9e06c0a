"""docs/kubernetes.md: its commands are under ten, and those that need no cluster are run as they stand."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

from typer.testing import CliRunner

from deploy.chart.helm_chart import ROOT, of_kind, template
from specwatch_cli.main import command_line

PAGE = (ROOT / "docs" / "kubernetes.md").read_text()
MANIFEST = """apiVersion: apps/v1
kind: Deployment
metadata: {name: vllm-llama}
spec:
  template:
    spec:
      containers:
      - {name: vllm, image: vllm/vllm-openai}
"""


def commands(page: str = PAGE) -> list[list[str]]:
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    lines = block.replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if not line.startswith("#")]


def test_nine_commands_are_nine() -> None:
    assert len(commands()) == 9
    assert {words[0] for words in commands()} == {"podman", "specwatch", "kubectl", "helm"}


def test_the_readme_has_the_same_commands() -> None:
    readme = commands((ROOT / "README.md").read_text().replace(".venv/bin/specwatch", "specwatch"))
    assert len(readme) < 10
    assert [words for words in commands() if words in readme] == readme


def test_helm_renders_what_the_page_installs() -> None:
    (helm,) = [words for words in commands() if words[0] == "helm"]
    assert helm[1:5] == ["upgrade", "--install", "specwatch", "deploy/chart/specwatch"]
    values = [value for flag, value in pairwise(helm) if flag == "--set"]
    objects = template(*values, release=helm[3]).objects
    names = {f"{one['kind']} {one['metadata']['name']}" for one in objects}
    for kubectl in (words for words in commands() if "scaledobject" in words):
        assert f"ScaledObject {kubectl[-1]}" in names
    assert "Deployment specwatch-watch" in names
    assert len(of_kind(objects, "ConfigMap")) == 5


def test_specwatch_does_what_the_page_says(tmp_path: Path) -> None:
    for words in (words[1:] for words in commands() if words[0] == "specwatch"):
        (tmp_path / "vllm-llama.yaml").write_text(MANIFEST)
        in_folder = [str(tmp_path / word) if word.endswith((".yaml", ".yml")) else word for word in words]
        result = CliRunner().invoke(command_line(), in_folder)
        assert result.exit_code == 0, result.output
    assert (tmp_path / "alertmanager.yml").is_file()


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert not [link for link in links if not (ROOT / "docs" / link).exists()]
