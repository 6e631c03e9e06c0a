from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from specwatch_alerts.alertmanager_config import RoutingError, alertmanager_config, alertmanager_yaml
from specwatch_alerts.definition import load_definitions
from specwatch_alerts.inhibition import (
    COLLAPSED,
    FALLBACK,
    HEARD_WITHOUT_SCRAPE,
    MUTED_BY_COLLAPSE,
    MUTED_BY_FALLBACK,
    SCRAPE,
    STUCK,
    WAITING,
    inhibit_rules,
)
from specwatch_alerts.routing import Receivers, Routing, Severities
from specwatch_cli.main import command_line
from tools.tool_paths import BIN_FOLDER, find_tool, is_program

AMTOOLS = ("amtool", *(("amtool-new",) if is_program(BIN_FOLDER / "amtool-new") else ()))
SLACK = Receivers("http://specwatch-slack:9481/alertmanager")
ALL = Receivers(
    "https://slack.example.com/alertmanager",
    slack_token_file="/etc/alertmanager/slack-token",  # noqa: S106 - a file's name
    pager_url="http://pager.example.com/hook",
    pagerduty_key_file="/etc/alertmanager/pagerduty-key",
)
LABELS = {"namespace": "serving", "model": "llama", "pod": "llama-0", "instance": "10.0.0.1:9477"}


def takes(matchers: list[str], labels: Mapping[str, str]) -> bool:
    """Matchers of Alertmanager, which takes a missing label for an empty one."""
    for matcher in matchers:
        found = re.fullmatch(r'(\w+)(=~|!~|!=|=)"(.*)"', matcher)
        assert found, matcher
        value = labels.get(found[1], "")
        alike = value == found[3] if "~" not in found[2] else re.fullmatch(found[3], value) is not None
        if alike == found[2].startswith("!"):
            return False
    return True


def mutes(source: Mapping[str, str], target: Mapping[str, str]) -> bool:
    return any(
        takes(rule["source_matchers"], source)
        and takes(rule["target_matchers"], target)
        and all(source.get(label, "") == target.get(label, "") for label in rule["equal"])
        for rule in inhibit_rules()
    )


def alert(name: str, severity: str = "page", **labels: str) -> dict[str, str]:
    return {"alertname": name, "severity": severity, **labels}


@pytest.mark.parametrize("amtool", AMTOOLS)
@pytest.mark.parametrize("receivers", [SLACK, ALL])
def test_alertmanager_takes_the_configuration(receivers: Receivers, amtool: str, tmp_path: Path) -> None:
    path = tmp_path / "alertmanager.yml"
    path.write_text(alertmanager_yaml(Routing(receivers)))
    checked = subprocess.run(
        [find_tool(amtool), "check-config", path], capture_output=True, text=True, check=False, timeout=60
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "SUCCESS" in checked.stdout
    assert "6 inhibit rules" in checked.stdout


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ("alertname=SpecwatchTTFTBurn severity=page", "specwatch-page"),
        ("alertname=SpecwatchTTFTBurn severity=ticket", "specwatch-ticket"),
        ("alertname=SpecwatchFallbackActive severity=info", "specwatch-info"),
        ("alertname=SpecwatchTTFTBurn", "specwatch-page"),
        ("alertname=SpecwatchTTFTBurn severity=P1", "specwatch-page"),
        ("alertname=SpecwatchTTFTBurn severity=critical", "specwatch-page"),
        ("alertname=SomebodyElses severity=page", "specwatch-ticket"),
    ],
)
def test_each_severity_has_its_receiver_and_nothing_is_lost(labels: str, receiver: str, tmp_path: Path) -> None:
    path = tmp_path / "alertmanager.yml"
    path.write_text(alertmanager_yaml(Routing(ALL)))
    command = [str(find_tool("amtool")), "config", "routes", "test", f"--config.file={path}", *labels.split()]
    tested = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert tested.stdout.strip() == receiver


def test_names_of_severities_are_those_that_the_rules_were_built_with() -> None:
    text = alertmanager_yaml(Routing(SLACK, Severities("critical", "warning", "none")))
    for name in ("critical", "warning", "none"):
        assert f'severity="{name}"' in text
    for name in ("page", "ticket", "info"):
        assert f'severity="{name}"' not in text


def test_the_lists_name_alerts_that_exist_and_fit_their_component() -> None:
    component = {one.name: one.component for one in load_definitions()}
    assert {FALLBACK, SCRAPE, *HEARD_WITHOUT_SCRAPE} <= set(component)
    explained = {name for name, own in component.items() if own in {"draft", "latency"}}
    assert set(MUTED_BY_FALLBACK) == explained - {"SpecwatchTTFTBurn"}
    assert {COLLAPSED, *MUTED_BY_COLLAPSE} <= {name for name, own in component.items() if own == "draft"}
    for name in MUTED_BY_FALLBACK:
        assert mutes(alert(FALLBACK, "info", **LABELS), alert(name, **LABELS))
    for name in set(component) - set(MUTED_BY_FALLBACK):
        assert not mutes(alert(FALLBACK, "info", **LABELS), alert(name, **LABELS))


def test_what_follows_from_a_collapse_is_muted_for_its_model_alone() -> None:
    for name in {one.name for one in load_definitions()} - {COLLAPSED}:
        assert mutes(alert(COLLAPSED, **LABELS), alert(name, **LABELS)) is (name in MUTED_BY_COLLAPSE)
        assert not mutes(alert(COLLAPSED, **LABELS), alert(name, **{**LABELS, "model": "qwen"}))
        assert not mutes(alert(COLLAPSED), alert(name))
    # A few pods of many explain nothing of the others.
    assert not mutes(alert(COLLAPSED, "ticket", **LABELS), alert("SpecwatchDraftDriftedNotPaying", **LABELS))


def test_a_stuck_engine_with_requests_behind_it_is_one_page() -> None:
    assert mutes(alert(WAITING, **LABELS), alert(STUCK, **LABELS))
    assert not mutes(alert(WAITING, **LABELS), alert(STUCK, **{**LABELS, "pod": "llama-1"}))
    assert not mutes(alert(WAITING, instance="h:1"), alert(STUCK, instance="h:2"))


@pytest.mark.parametrize("label", ["namespace", "model"])
@pytest.mark.parametrize("missing", ["source", "target", "both"])
def test_a_fallback_mutes_nothing_where_a_label_is_missing(label: str, missing: str) -> None:
    less = {name: value for name, value in LABELS.items() if name != label}
    source = less if missing in {"source", "both"} else LABELS
    target = less if missing in {"target", "both"} else LABELS
    assert not mutes(alert(FALLBACK, "info", **source), alert("SpecwatchTokenLatencyBurn", **target))


@pytest.mark.parametrize(
    ("source", "target", "muted"),
    [
        ({"pod": "a", "namespace": "n"}, {"pod": "a", "namespace": "n"}, True),
        ({"pod": "a", "namespace": "n"}, {"pod": "b", "namespace": "n"}, False),
        ({"pod": "a", "namespace": "n"}, {"pod": "a", "namespace": "m"}, False),
        ({"namespace": "n"}, {"namespace": "n"}, False),
        ({"instance": "h:1"}, {"instance": "h:1"}, True),
        ({"instance": "h:1"}, {"instance": "h:2"}, False),
        ({"instance": "h:1", "namespace": "n"}, {"instance": "h:1", "namespace": "n"}, True),
        ({"instance": "h:1", "namespace": "n"}, {"instance": "h:1", "namespace": "m"}, False),
        ({"instance": "h:1", "namespace": "n"}, {"instance": "h:1"}, False),
        ({"instance": "h:1", "cluster": "eu"}, {"instance": "h:1", "cluster": "us"}, False),
        ({}, {}, False),
    ],
)
def test_a_failing_scrape_mutes_its_own_pod_alone(
    source: dict[str, str], target: dict[str, str], muted: bool
) -> None:
    assert mutes(alert(SCRAPE, "ticket", **source), alert("SpecwatchKVPressure", "ticket", **target)) is muted
    for name in (SCRAPE, *HEARD_WITHOUT_SCRAPE):
        assert not mutes(alert(SCRAPE, "ticket", **source), alert(name, **target))


def test_a_page_mutes_tickets_of_the_same_alert_and_no_alert_mutes_itself() -> None:
    assert mutes(alert("SpecwatchErrorBurn", **LABELS), alert("SpecwatchErrorBurn", "ticket", **LABELS))
    assert not mutes(alert("SpecwatchErrorBurn", "ticket", **LABELS), alert("SpecwatchErrorBurn", **LABELS))
    assert not mutes(alert("SpecwatchErrorBurn", **LABELS), alert("SpecwatchTTFTBurn", "ticket", **LABELS))
    for definition in load_definitions():
        for severity in definition.severities:
            one = alert(definition.name, severity, **LABELS)
            for rule in inhibit_rules():
                assert not (takes(rule["source_matchers"], one) and takes(rule["target_matchers"], one))


@pytest.mark.parametrize("url", ["slack:9481", "ftp://x/y", "http://", "http://x:99999/", ""])
def test_an_address_that_is_none_is_refused_in_one_line(url: str) -> None:
    with pytest.raises(RoutingError, match=r"--slack-url .*: write it as"):
        alertmanager_config(Routing(Receivers(url)))


def test_the_command_prints_a_file_and_says_that_nobody_is_paged(tmp_path: Path) -> None:
    printed = CliRunner().invoke(command_line(), ["alerts", "alertmanager"])
    assert printed.exit_code == 0
    assert yaml.safe_load(printed.stdout)["receivers"][0]["name"] == "specwatch-page"
    assert "no pager" in printed.stderr
    assert "any other rings as a page" in printed.stderr
    out, values = tmp_path / "am.yml", tmp_path / "values.toml"
    values.write_text('[severities]\npage = "critical"\n')
    arguments = ["--values", str(values), "--out", str(out), "--pager-url", "http://pager.example.com/"]
    written = CliRunner().invoke(command_line(), ["alerts", "alertmanager", *arguments])
    assert (written.exit_code, written.stderr) == (0, "")
    assert 'severity="critical"' in out.read_text()
    assert "No pager" not in out.read_text()
