"""`specwatch alerts build|list|lint` as a person meets them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from specwatch_alerts.definition import load_definitions


def specwatch(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; from specwatch_cli.main import run; sys.argv[0] = 'specwatch'; run()"
    command = [sys.executable, "-c", program, *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)


def test_build_writes_a_file_that_the_lint_finds_clean(tmp_path: Path) -> None:
    file = tmp_path / "rules.yml"
    built = specwatch("alerts", "build", "--source", "engine", "--engine", "sglang", "--out", str(file))
    assert (built.returncode, built.stdout) == (0, "")
    assert "rules in" in built.stderr
    linted = specwatch("alerts", "lint", str(file))
    assert (linted.returncode, linted.stdout) == (0, f"{file}: clean\n")


def test_build_prints_a_prometheusrule() -> None:
    built = specwatch("alerts", "build", "--format", "prometheusrule")
    assert yaml.safe_load(built.stdout)["kind"] == "PrometheusRule"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[slo.ttft]\nseconds = 0.7\n", "specwatch: slo.ttft.seconds is 0.7, which is no bucket edge of "),
        ("[slo.tfft]\nseconds = 1\n", "specwatch: mine.toml: unknown key slo.tfft.seconds"),
    ],
)
def test_a_wrong_value_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    built = specwatch("alerts", "build", "--values", str(tmp_path / "mine.toml"))
    assert (built.returncode, built.stdout) == (2, "")
    assert built.stderr.startswith(message)
    assert built.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", 2, "r.yml: it is empty"),
        ("---\n# a render that failed\n---\n", 2, "r.yml: it is empty"),
        ("groups: [{name: g, rules: [{record: a, expr: rate(specwatch_requests_running)}]}]", 1, "syntax"),
        (
            "groups: [{name: g, rules: [{record: a, expr: 'rate(specwatch_requests_running[5m])'}]}]",
            1,
            "rate-on-gauge",
        ),
        ("groups: [", 2, "is not YAML"),
        ("a: 1", 2, "it holds no rule groups"),
    ],
)
def test_lint_says_what_is_wrong(tmp_path: Path, text: str, code: int, said: str) -> None:
    (tmp_path / "r.yml").write_text(text)
    linted = specwatch("alerts", "lint", str(tmp_path / "r.yml"))
    assert linted.returncode == code
    assert said in linted.stdout + linted.stderr
    assert "Traceback" not in linted.stderr


def test_lint_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    linted = specwatch("alerts", "lint", str(tmp_path / "none.yml"))
    assert linted.returncode == 2
    assert linted.stderr == f"specwatch: cannot read {tmp_path}/none.yml: No such file or directory\n"


def test_list_names_every_alert() -> None:
    listed = specwatch("alerts", "list")
    assert all(one.name in listed.stdout for one in load_definitions())


def test_in_a_pipe_the_list_has_one_line_for_each_alert() -> None:
    head, *rows, _ = specwatch("alerts", "list").stdout.splitlines()
    assert head.split() == ["alert", "severity", "meaning"]
    assert [row.split()[0] for row in rows] == [one.name for one in load_definitions()]


def test_build_says_that_links_lead_nowhere_until_they_are_set(tmp_path: Path) -> None:
    assert "set links.runbook and links.dashboard in --values" in specwatch("alerts", "build").stderr
    values = tmp_path / "mine.toml"
    values.write_text(
        '[links]\nrunbook = "https://wiki.example.org/r"\ndashboard = "https://grafana.example.org"\n'
    )
    assert specwatch("alerts", "build", "--values", str(values)).stderr == ""
