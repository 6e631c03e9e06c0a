"""`specwatch inject` on manifests as people write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deploy.chart.kube_schemas import mistakes
from specwatch_cli.main import command_line
from specwatch_deploy.inject.inject_error import InjectError
from specwatch_deploy.inject.injection import Wishes, inject
from specwatch_deploy.inject.marked_lines import BEGIN, END, without_marked

WISHES = Wishes(image="images.example.com/specwatch:1")
HEAD = """# Ours, with care.
apiVersion: v1
kind: Service
metadata: {name: llama}
spec: {selector: {app: llama}, ports: [{port: 80, targetPort: 8000}]}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: 'llama'   # the big one
spec:
  selector: {matchLabels: {app: llama}}
  template:
    metadata: {labels: {app: llama}}
    spec:
"""
ENGINE = """      # Engines first.
      containers:
        - name: vllm
          image: "vllm/vllm-openai:v0.32.0"   # pinned
          args: [llama, --port=8001, '--speculative-config={"method":"eagle3","model":"d"}']
"""
LAYOUTS = {
    "plain": HEAD + ENGINE,
    "dashes under the key": HEAD + ENGINE.replace("        ", "      ").replace("      - ", "      - "),
    "init containers and volumes": HEAD
    + "      initContainers:\n      # warm\n      - {name: warm, image: 'busybox:1'}\n"
    + ENGINE
    + "      volumes:\n        # weights\n        - name: models\n          emptyDir: {}\n",
    "volumes before": HEAD + "      volumes:\n      - {name: a, emptyDir: {}}\n" + ENGINE,
    "text with blank lines and a block": HEAD
    + ENGINE
    + "          command:\n            - sh\n            - -c\n            - |\n"
    + "              vllm serve x\n\n              exit\n",
    "no newline at the end": (HEAD + ENGINE).rstrip("\n"),
    "several documents": HEAD
    + ENGINE
    + "---\n# nothing\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
    "a pod": "kind: Pod\nmetadata:\n  name: p\nspec:\n"
    + ENGINE.replace("      ", "  ", 1).replace("\n      ", "\n  "),
}


def pod_spec(text: str) -> dict[str, Any]:
    (found,) = [one for one in yaml.safe_load_all(text) if one and one["kind"] in ("Deployment", "Pod")]
    spec: dict[str, Any] = found["spec"]
    return spec if found["kind"] == "Pod" else spec["template"]["spec"]


@pytest.mark.parametrize("requests", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_are_added_and_no_other_byte_changes(layout: str, newline: str, requests: bool) -> None:
    text = LAYOUTS[layout].replace("\n", newline)
    wishes = Wishes(image="i:1", requests=requests)
    done = inject(text, wishes).text
    assert without_marked(done) == text
    names = ["specwatch", "specwatch-requests"][: 2 if requests else 1]
    added = pod_spec(done)["initContainers"][: len(names)]
    assert [one["name"] for one in added] == names
    assert all(one["restartPolicy"] == "Always" and one["image"] == "i:1" for one in added)
    assert pod_spec(done)["volumes"][0]["name"] == "specwatch-state"
    assert set(done.replace("\r\n", "")) & {"\r"} == set()


def test_comments_stay_above_what_they_are_about() -> None:
    done = inject(LAYOUTS["init containers and volumes"], WISHES).text
    assert "      # warm\n      - {name: warm" in done
    assert "        # weights\n        - name: models" in done
    assert "      # Engines first.\n      containers:" in inject(LAYOUTS["plain"], WISHES).text


@pytest.mark.parametrize("layout", LAYOUTS)
def test_doing_it_again_changes_nothing_and_other_wishes_replace(layout: str) -> None:
    once = inject(LAYOUTS[layout], WISHES).text
    assert inject(once, WISHES).text == once
    other = Wishes(image="other:2", requests=True)
    assert inject(once, other).text == inject(LAYOUTS[layout], other).text


def test_kubernetes_takes_the_result() -> None:
    done = inject(LAYOUTS["init containers and volumes"], Wishes(image="i:1", requests=True)).text
    (found,) = [one for one in yaml.safe_load_all(done) if one["kind"] == "Deployment"]
    assert [line for version in ("1.29.0", "1.36.0") for line in mistakes(found, version)] == []


@pytest.mark.parametrize(
    ("container", "port", "method"),
    [
        ("image: vllm/vllm-openai:v1", 8000, ""),
        ("image: lmsysorg/sglang:v1", 30000, ""),
        ("image: own/engine:v1\n  resources: {limits: {nvidia.com/gpu: 1}}", 8000, ""),
        (
            "image: own/vllm\n  ports: [{containerPort: 9000, name: grpc}, {containerPort: 7000, name: http}]",
            7000,
            "",
        ),
        ("image: own/vllm\n  args: [--port, '8123']\n  ports: [{containerPort: 1}]", 8123, ""),
        ("image: x\n  command: [sh, -c, 'vllm serve m --port 8124']", 8124, ""),
        ('image: vllm\n  args: [--speculative-config, \'{"method":"ngram"}\']', 8000, "ngram"),
        (
            'image: vllm\n  args: [\'--speculative-config={"method":"eagle3","parallel_drafting":true}\']',
            8000,
            "p-eagle",
        ),
        ("image: vllm\n  args: [--speculative-config, 'no json']", 8000, ""),
        ("image: vllm\n  args: [--speculative-config]", 8000, ""),
        ("image: vllm\n  command: [sh, -c, 'it''s not --speculative-config {']", 8000, ""),
        (
            """image: x
    command: [sh, -c]
    args: ['vllm serve m --port 8125 --speculative-config ''{"method": "eagle3", "model": "d"}'' --x']""",
            8125,
            "eagle3",
        ),
        (
            r"""image: x
    command: ["/bin/sh", "-c", "vllm serve m \\\n -sc '{\"method\":\"ngram\"}'"]""",
            8000,
            "ngram",
        ),
        ('image: vllm\n  args: [\'-sc={"method":"a b; c"}\']', 8000, ""),
    ],
)
def test_port_and_method_are_found(container: str, port: int, method: str) -> None:
    text = f"kind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n  - name: e\n    {container}\n".replace(
        "\n  resources", "\n    resources"
    )
    text = (
        text.replace("\n  ports", "\n    ports")
        .replace("\n  args", "\n    args")
        .replace("\n  command", "\n    command")
    )
    arguments = pod_spec(inject(text, WISHES).text)["initContainers"][0]["args"]
    assert f"--engine=http://127.0.0.1:{port}" in arguments
    assert [one for one in arguments if "method" in one] == ([f"--speculation-method={method}"] if method else [])


def test_only_engines_get_a_sidecar() -> None:
    other = (
        HEAD.partition("---\n")[2].replace("llama", "web")
        + "      containers:\n      - {name: web, image: nginx:1}\n"
    )
    done = inject(f"{HEAD}{ENGINE}---\n{other}", WISHES)
    assert done.text.count("- name: specwatch\n") == 1
    (note,) = done.notes
    assert note == "Deployment llama: sidecar beside container vllm, port 8001 (its arguments); speculation: eagle3"
    chosen = inject(f"{HEAD}{ENGINE}---\n{other}", Wishes(image="i", workload="web", container="web", port=80))
    assert chosen.notes[0].startswith(
        "Deployment web: sidecar beside container web, port 80 (--port); its arguments"
    )


def test_an_image_that_nobody_can_pull_is_said() -> None:
    """An engine waits for its sidecars to start."""
    (_, note) = inject(LAYOUTS["plain"], Wishes(image="registry.example.com/specwatch:0.1.0")).notes
    assert "say --image before you apply this" in note


REFUSED = {
    "a template": ("a: {{ x }}\nb: - c", "it is no YAML: line 2: .*helm template"),
    "no manifest": ("a: 1", "it has no Deployment"),
    "nothing": ("", "it has no Deployment"),
    "a list": ("kind: List\nitems: []", "write its items as documents"),
    "braces": (
        "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: vllm, image: vllm}]}",
        "is written in braces",
    ),
    "an empty list": (
        HEAD + "      initContainers: []\n" + ENGINE,
        "initContainers is empty or written in brackets",
    ),
    "a list in brackets": (
        HEAD + "      volumes: [{name: a, emptyDir: {}}]\n" + ENGINE,
        "volumes is empty or written",
    ),
    "two engines": (
        HEAD + ENGINE + "        - {name: other, image: vllm}\n",
        "Deployment llama: several containers look like an engine: vllm, other; say which",
    ),
    "none": (HEAD + "      containers:\n      - {name: a, image: nginx}\n", "no container looks like an engine"),
    "no containers in a text": ("kind: Deployment\nmetadata: {name: d}\nspec:\n  template: x", "has no containers"),
    "metadata that is a text": ("kind: Pod\nmetadata: x\nspec: {}", "Pod without a name has no containers"),
    "volumes that are a text": (HEAD + "      volumes: x\n" + ENGINE, "volumes is no list of mappings; Kubernetes"),
    "a container that is a text": (
        HEAD + "      initContainers:\n      - x\n" + ENGINE,
        "initContainers is no list",
    ),
    "ports that are numbers": (
        HEAD + ENGINE + "          ports: [8000]\n",
        "ports is no list of mappings, that of",
    ),
    "ports that are a number": (HEAD + ENGINE + "          ports: 8000\n", "ports is no list, that of container"),
    "resources that are a text": (HEAD + ENGINE + "          resources: x\n", "resources is no mapping"),
    "limits that are a list": (HEAD + ENGINE + "          resources: {limits: [a]}\n", "limits is no mapping"),
    "arguments that are a text": (HEAD + ENGINE + "          command: vllm serve\n", "command is no list"),
    "no containers": ("kind: Pod\nmetadata: {name: p}\nspec: {}", "Pod p has no containers"),
    "a port that is taken": (
        HEAD + ENGINE + "          ports: [{containerPort: 9477}]\n",
        "port 9477 is taken in this pod",
    ),
    "half of the comments": (f"{BEGIN}\n{HEAD}{ENGINE}", "has no"),
    "the other half": (f"{HEAD}{ENGINE}{END}\n", "do not come in pairs"),
    "a sidecar of one's own": (
        HEAD + "      initContainers:\n      - {name: specwatch, image: x}\n" + ENGINE,
        "specwatch is there already",
    ),
    "anchors": (
        "kind: Pod\nmetadata: {name: p}\nbase: &s\n  containers:\n  - {name: vllm, image: vllm}\nspec:\n  <<: *s\n",
        "its layout .anchors, perhaps. takes no added lines",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_one_line(text: str, message: str) -> None:
    with pytest.raises(InjectError, match=message) as caught:
        inject(text, WISHES)
    assert "\n" not in str(caught.value)


@given(st.lists(st.sampled_from(["# c", "", "---", "a: 1", BEGIN, END, "  - x", "\t", "kind: Pod"]), max_size=12))
def test_any_text_is_done_or_refused(lines: list[str]) -> None:
    text = "\n".join(lines)
    refused = ""
    try:
        assert without_marked(inject(text, WISHES).text) == without_marked(text)
    except InjectError as error:
        refused = str(error)
    assert "\n" not in refused


def test_the_command_prints_writes_and_takes_out(tmp_path: Path) -> None:
    runner, file = CliRunner(), tmp_path / "d.yaml"
    text = LAYOUTS["plain"]
    file.write_text(text)
    printed = runner.invoke(command_line(), ["inject", "-f", str(file), "--image", "i:1", "--requests"])
    assert printed.exit_code == 0
    assert printed.stdout == inject(text, Wishes(image="i:1", requests=True)).text
    assert "lead clients to port 8080" in printed.stderr
    assert file.read_text() == text
    assert runner.invoke(command_line(), ["inject", "-f", "-", "--image", "i:1"], input=text).stdout.startswith(
        "# Ours"
    )
    assert runner.invoke(command_line(), ["inject", "-f", str(file), "--write"]).stdout == ""
    assert "specwatch-state" in file.read_text()
    runner.invoke(command_line(), ["inject", "-f", str(file), "--remove", "--write"])
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        (["-f", "absent.yaml"], None, "cannot read absent.yaml: No such file"),
        (["-f", "-", "--write"], b"", "--write needs a file"),
        (["-f", "-"], b"\xff\xfe", "the standard input is no text in UTF-8"),
        (["-f", "-"], b"a: 1", "the standard input: it has no Deployment"),
        (["-f", "-", "--image", "a b"], b"a: 1", "--image 'a b' is no name of an image"),
        (["-f", "-", "--image", ""], b"a: 1", "--image '' is no name of an image"),
        (["-f", "-", "--method", "a b"], b"a: 1", "--method 'a b'"),
        (["-f", "-", "--payoff-profile", "mine"], b"a: 1", "give one of llama-3.1-8b-h100"),
    ],
)
def test_mistakes_of_usage_are_one_line(arguments: list[str], content: bytes | None, message: str) -> None:
    result = CliRunner().invoke(command_line(), ["inject", *arguments], input=content)
    assert result.exit_code != 0
    assert message in str(result.exception)
