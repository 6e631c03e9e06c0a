"""`specwatch doctor` as a user types it: inputs, forms of output, exit status."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import yaml

from dashboards.grafana_server import TOKEN, GrafanaServer, grafana_serving
from deploy.doctor.doctor_run import CAPTURES, CASES, page
from specwatch_exporters.replay.thread import ReplayThread

DASHBOARD: Final = CASES / "44-vllm-dashboard-no-data-after-upgrade" / "dashboard.json"
RULES: Final = CASES / "47-ratio-alert-zero-traffic" / "rules.yml"
SOUND: Final = 'groups: [{name: g, rules: [{alert: A, for: 5m, expr: "sum(vllm:num_requests_waiting) > 10"}]}]'
BROKEN: Final = 'groups: [{name: g, rules: [{alert: A, for: 5m, expr: "sum(vllm:gpu_cache_usage_perc) > 10"}]}]'


def doctor(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from specwatch_cli.main import run; run()", "doctor", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=100)


def test_a_pipe_gets_whole_lines_and_the_status_says_that_there_are_findings() -> None:
    told = doctor(str(DASHBOARD), "--engine", "vllm@0.33.0")
    assert told.returncode == 1
    assert "1 file, 7 queries, against vLLM 0.33.0" in told.stdout
    assert "line 16, Cache" in told.stdout
    assert "instead: max(vllm:kv_cache_usage_perc)" in told.stdout
    assert "7 errors, 1 note (1 not shown: --show info)" in told.stdout
    lengths = [len(line) for line in told.stdout.splitlines()]
    assert max(lengths) > 100  # a long line is one line
    assert told.stderr == ""


def test_clean_is_status_0(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text(SOUND)
    told = doctor(str(rules), "--engine", page("vllm-0.32.0"))
    assert (told.returncode, "no findings" in told.stdout) == (0, True)


@pytest.mark.parametrize(("limit", "status"), [("error", 1), ("warning", 1), ("info", 1), ("never", 0)])
def test_fail_on_decides_the_status(limit: str, status: int) -> None:
    assert doctor(str(RULES), "--fail-on", limit).returncode == status


def test_a_warning_does_not_fail_on_error(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text(SOUND.replace("for: 5m, ", ""))
    assert [doctor(str(rules), "--fail-on", limit).returncode for limit in ("error", "warning")] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "name something to look at"),
        (("nowhere.yml",), "nowhere.yml: there is no such file"),
        (("--query", "up", "--engine", "vllm@new"), "is no version such as 0.10.2"),
        (("--query", "up", "--engine", "nowhere.prom"), "nowhere.prom"),
        (("--query", "up", "--prometheus", "http://127.0.0.1:1"), "Prometheus cannot be reached"),
        (("--grafana", "http://127.0.0.1:1"), "--grafana-token-file"),
        (("--query", "up", "--scrape-interval", "often"), "--scrape-interval"),
        (("explain", "no-such"), "there is no code no-such"),
    ],
)
def test_an_unusable_input_is_one_line_and_status_2(arguments: tuple[str, ...], says: str) -> None:
    told = doctor(*arguments)
    assert told.returncode == 2
    assert says in told.stderr
    assert len(told.stderr.splitlines()) == 1
    assert told.stdout == ""


def test_broken_yaml_is_refused_as_a_file_and_left_out_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("{{ .Values.rules }}: [")
    (tmp_path / "b.yaml").write_text(BROKEN)
    alone = doctor(str(tmp_path / "a.yaml"))
    assert (alone.returncode, "helm template" in alone.stderr) == (2, True)
    both = doctor(str(tmp_path))
    assert both.returncode == 1
    assert "left out" in both.stderr


def test_json_sarif_and_junit_say_the_same(tmp_path: Path) -> None:
    arguments = (str(DASHBOARD), "--engine", "vllm@0.33.0", "--format")
    plain = json.loads(doctor(*arguments, "json").stdout)
    assert plain["counts"] == {"error": 7, "warning": 0, "info": 1}
    assert plain["findings"][0]["line"]
    sarif = json.loads(doctor(*arguments, "sarif").stdout)
    jsonschema.validate(sarif, SARIF)
    (run,) = sarif["runs"]
    assert [one["ruleId"] for one in run["results"]] == [one["code"] for one in plain["findings"]]
    assert {one["id"] for one in run["tool"]["driver"]["rules"]} == {one["ruleId"] for one in run["results"]}
    for one in run["results"]:
        assert run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"]
    suite = ET.fromstring(doctor(*arguments, "junit").stdout)  # noqa: S314 - our own
    assert (suite.get("tests"), suite.get("failures")) == ("8", "7")
    clean = tmp_path / "clean.yml"
    clean.write_text(SOUND)
    nothing = ET.fromstring(doctor(str(clean), "--format", "junit").stdout)  # noqa: S314 - our own
    assert nothing.get("failures") == "0"


# The part of SARIF 2.1.0's schema that code hosts insist on.
SARIF: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "tool": {"required": ["driver"], "properties": {"driver": {"required": ["name"]}}},
                    "results": {
                        "items": {
                            "required": ["message", "ruleId", "level", "locations"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"required": ["text"]},
                            },
                        }
                    },
                },
            }
        },
    },
}


def carriers() -> Iterator[tuple[str, str]]:
    dashboard = DASHBOARD.read_text()
    meta = {"name": "one", "namespace": "llm"}
    yield (
        "ConfigMap",
        yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"d.json": dashboard}}),
    )
    item = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": meta}
    yield (
        "List",
        yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [{**item, "spec": yaml.safe_load(BROKEN)}]}),
    )
    yield "GrafanaDashboard", yaml.safe_dump(
        {"apiVersion": "grafana.integreatly.org/v1beta1", "kind": "GrafanaDashboard", "metadata": meta,
         "spec": {"json": dashboard}}
    )  # fmt: skip
    yield "of the API", json.dumps({"dashboard": json.loads(dashboard), "meta": {}})
    elements = {"panel-1": {"spec": {"title": "New schema", "data": {"expr": "sum(vllm:gpu_cache_usage_perc)"}}}}
    yield "schema 2", json.dumps({"title": "v2", "elements": elements})


@pytest.mark.parametrize(("text"), [text for _, text in carriers()], ids=[name for name, _ in carriers()])
def test_standard_input_takes_every_carrier(text: str) -> None:
    told = doctor("-", "--format", "json", stdin=text)
    found = json.loads(told.stdout)["findings"]
    assert told.returncode == 1
    assert "metric-renamed" in {one["code"] for one in found}
    assert {one["file"] for one in found} == {"standard input"}


def test_lines_inside_a_config_map_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cm.yaml"
    inner = "".join(f"    {line}\n" for line in RULES.read_text().splitlines())
    path.write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: r}}\ndata:\n  rules.yml: |\n{inner}")
    found = json.loads(doctor(str(path), "--format", "json").stdout)["findings"]
    lines = path.read_text().splitlines()
    assert found
    assert all("expr:" in lines[one["line"] - 1] for one in found)


def test_secrets_hold_only_what_alertmanager_reads(tmp_path: Path) -> None:
    rules = base64.b64encode(BROKEN.encode()).decode()
    path = tmp_path / "s.yaml"
    path.write_text(f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\ndata: {{rules.yml: {rules}}}\n")
    assert doctor(str(path)).returncode == 0


def test_pages_among_the_files_are_engines() -> None:
    told = doctor(
        str(RULES), str(CAPTURES / "vllm-0.25.1-h200" / "l70-off.prom"), "--format", "json", "--show", "info"
    )
    assert "metric-needs-speculation" in {one["code"] for one in json.loads(told.stdout)["findings"]}


def test_a_live_engine_is_asked_for_its_version_and_its_page() -> None:
    with ReplayThread() as engine:
        told = doctor("--query", "sum(vllm:num_requests_waiting)", "--engine", engine.url)
    assert told.returncode == 0, told.stderr
    assert "against vLLM 0.32.0" in told.stdout


def test_all_dashboards_of_a_grafana_are_looked_at(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    with grafana_serving() as server:
        load(server)
        told = doctor("--grafana", server.url, "--grafana-token-file", str(token), "--format", "json")
        token.write_text("wrong")
        refused = doctor("--grafana", server.url, "--grafana-token-file", str(token))
    assert {one["file"].rpartition("/")[2] for one in json.loads(told.stdout)["findings"]} == {"one"}
    assert refused.returncode == 2
    assert "it does not accept the token" in refused.stderr


def load(server: GrafanaServer) -> None:
    server.dashboards["one"] = {"dashboard": json.loads(DASHBOARD.read_text()), "meta": {}}
    server.answers["GET", "/api/search"] = (200, [{"uid": "one", "title": "vLLM"}])


def test_a_code_is_explained() -> None:
    told = doctor("explain", "metric-renamed")
    assert told.returncode == 0
    assert "Example: avg(vllm:gpu_cache_usage_perc)" in told.stdout
