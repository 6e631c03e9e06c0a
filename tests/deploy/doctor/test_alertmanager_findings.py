"""Alertmanager: inhibitions that are dead, receivers that hear nothing; a real amtool agrees on what is refused."""

from __future__ import annotations

import socket
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml

from alerts.loopback_site import serving
from specwatch_deploy.doctor.alertmanager_file import AlertMatcher, matchers
from specwatch_deploy.doctor.alertmanager_receivers import receivers, unreachable
from specwatch_deploy.doctor.documents import documents
from specwatch_deploy.doctor.examination import examine
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.gathering import Gathered, inputs_of
from specwatch_deploy.doctor.inputs import Inputs
from tools.tool_paths import find_tool

Json = dict[str, Any]


def configuration(url: str = "http://slack.example.com/hook", **more: Any) -> Json:
    route = {"receiver": "all", "routes": [{"matchers": ['severity="page"'], "receiver": "all", "routes": []}]}
    return {"route": route, "receivers": [{"name": "all", "webhook_configs": [{"url": url}]}], **more}


def inhibiting(source: list[str], target: list[str], *equal: str) -> Json:
    rule = {"source_matchers": source, "target_matchers": target, "equal": list(equal)}
    return configuration(inhibit_rules=[rule])


def rules(*alerts: str, **labels: str) -> str:
    rows = [{"alert": name, "expr": "up == 0", "for": "1m", "labels": labels} for name in alerts]
    return yaml.safe_dump({"groups": [{"name": "g", "rules": rows}]})


def inputs(*texts: str, reach: bool = False) -> Inputs:
    read = [one for number, text in enumerate(texts) for one in documents(text, f"{number}.yml")]
    return inputs_of(Gathered(read), reach=reach)


def own(*texts: str) -> list[Finding]:
    return [one for one in examine(inputs(*texts)) if one.code.startswith("alertmanager-")]


DEAD: dict[str, tuple[list[str], list[str], tuple[str, ...], str]] = {
    "other severities, and they must be equal": (
        ['severity="page"'],
        ['severity="ticket"'],
        ("namespace", "severity"),
        "severity must be equal, and is 'page' in the source and 'ticket' in the target",
    ),
    "two values of one label": (
        ['alertname="A"', 'alertname="B"'],
        ['severity="ticket"'],
        (),
        'its source wants alertname="A" and alertname="B" of one alert',
    ),
    "a value that its pattern excludes": (
        ['alertname="A"'],
        ['alertname=~"B.*"', 'alertname="A"'],
        (),
        'its target wants alertname=~"B.*" and alertname="A" of one alert',
    ),
    "both sides alike": (
        ['team="x"', 'severity="page"'],
        ['severity="page"', 'team="x"'],
        ("namespace",),
        "source and target are the same alerts",
    ),
    "a name misspelt": (
        ['alertname="SpecwatchFalbackActive"'],
        ['alertname="SpecwatchDraftDrifted"'],
        (),
        "no rule has the alert SpecwatchFalbackActive of its source; SpecwatchFallbackActive is probably meant",
    ),
}
ALERTS = rules("SpecwatchFallbackActive", "SpecwatchDraftDrifted")


@pytest.mark.parametrize("name", DEAD)
def test_an_inhibition_that_never_mutes_is_told_why(name: str) -> None:
    source, target, equal, why = DEAD[name]
    (one,) = own(yaml.safe_dump(inhibiting(source, target, *equal)), ALERTS)
    assert one.code == "alertmanager-dead-inhibition"
    assert why in one.message
    assert one.place.line > 1


LIVE: dict[str, tuple[list[str], list[str], tuple[str, ...]]] = {
    "severity": (['severity="page"'], ['severity=~"ticket|info"'], ("namespace", "alertname")),
    "names": (['alertname="SpecwatchFallbackActive"'], ['alertname=~"SpecwatchDraftDrifted|Other"'], ("model",)),
    "an alert of other rules": (['alertname="InfoInhibitor"'], ['severity="info"'], ("namespace",)),
    "a pattern": (
        ['alertname=~"SpecwatchF.*"'],
        ['alertname=~"Specwatch.*"', 'alertname!="SpecwatchFallbackActive"'],
        ("model_name",),
    ),
    "present": (['model!=""', 'severity="page"'], ['model!=""', 'severity="ticket"'], ("model",)),
}


@pytest.mark.parametrize("name", LIVE)
def test_an_inhibition_that_can_mute_gives_nothing(name: str) -> None:
    source, target, equal = LIVE[name]
    assert own(yaml.safe_dump(inhibiting(source, target, *equal)), ALERTS) == []


def test_the_older_form_of_matchers_is_read() -> None:
    rule = {
        "source_match": {"severity": "page"},
        "target_match_re": {"severity": "ticket|info"},
        "equal": ["severity"],
    }
    assert own(yaml.safe_dump(configuration(inhibit_rules=[rule]))) == []
    rule["target_match"] = {"severity": "ticket"}
    del rule["target_match_re"]
    assert [one.code for one in own(yaml.safe_dump(configuration(inhibit_rules=[rule])))] == [
        "alertmanager-dead-inhibition"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('severity="page"', [("severity", "=", "page")]),
        ("severity = page", [("severity", "=", "page")]),
        ('{a="b", c=~"d|e"}', [("a", "=", "b"), ("c", "=~", "d|e")]),
        ('a!="x,y"', [("a", "!=", "x,y")]),
        ('"with space"!~"z"', [("with space", "!~", "z")]),
        (r'a="say \"b\""', [("a", "=", 'say "b"')]),
    ],
)
def test_matchers_are_read_as_alertmanager_does(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert matchers(text) == [AlertMatcher(*one) for one in expected]


def amtool_takes(path: Path) -> bool:
    done = subprocess.run([find_tool("amtool"), "check-config", path], capture_output=True, check=False)
    return done.returncode == 0


REFUSED: dict[str, tuple[Json, str]] = {
    "no such receiver": (configuration() | {"route": {"receiver": "some"}}, "alertmanager-unknown-receiver"),
    "no such receiver below": (
        configuration() | {"route": {"receiver": "all", "routes": [{"receiver": "some"}]}},
        "alertmanager-unknown-receiver",
    ),
    "no receiver at all": (configuration() | {"route": {"group_by": ["a"]}}, "alertmanager-unknown-receiver"),
    "no scheme": (configuration("slack-bridge:9481/alertmanager"), "alertmanager-receiver-unreachable"),
    "no host": (configuration("http:///hook"), "alertmanager-receiver-unreachable"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_alertmanager_refuses_is_told(name: str, tmp_path: Path) -> None:
    body, code = REFUSED[name]
    (tmp_path / "alertmanager.yml").write_text(yaml.safe_dump(body))
    assert not amtool_takes(tmp_path / "alertmanager.yml")
    assert [one.code for one in own(yaml.safe_dump(body))] == [code]


def test_what_alertmanager_takes_gives_nothing(tmp_path: Path) -> None:
    body = configuration()
    body["global"] = {"slack_api_url": "https://hooks.example.com/x", "smtp_smarthost": "mail.example.com:25"}
    body["receivers"] += [
        {"name": "null"},
        {"name": "pager", "pagerduty_configs": [{"routing_key": "key"}]},
        {"name": "slack", "slack_configs": [{"channel": "#a"}]},
    ]
    (tmp_path / "alertmanager.yml").write_text(yaml.safe_dump(body))
    assert amtool_takes(tmp_path / "alertmanager.yml")
    assert own(yaml.safe_dump(body)) == []


def test_what_is_filled_in_later_is_no_address_yet() -> None:
    assert own(yaml.safe_dump(configuration("${SLACK_URL}"))) == []
    assert own(yaml.safe_dump(configuration("<secret>"))) == []
    in_file = configuration() | {"receivers": [{"name": "all", "webhook_configs": [{"url_file": "/etc/url"}]}]}
    assert own(yaml.safe_dump(in_file)) == []


def test_nobody_is_connected_to_unless_it_is_asked_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.0)
        text = yaml.safe_dump(configuration(f"http://127.0.0.1:{server.getsockname()[1]}/"))
        assert list(unreachable(inputs(text))) == []
        assert list(receivers(inputs(text))) == []
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_receiver_that_answers_is_reached_and_one_that_does_not_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        dead = closed.getsockname()[1]
    with serving(BaseHTTPRequestHandler) as address:
        body = configuration(f"http://{address}/hook")
        body["receivers"].append({"name": "dead", "webhook_configs": [{"url": f"http://127.0.0.1:{dead}/hook"}]})
        body["receivers"].append({"name": "mail", "email_configs": [{"to": "a", "smarthost": f"127.0.0.1:{dead}"}]})
        findings = list(unreachable(inputs(yaml.safe_dump(body), reach=True)))
    assert [one.message for one in findings] == [
        f"the receiver {name} cannot be reached at 127.0.0.1:{dead}: Connection refused"
        for name in ("dead", "mail")
    ]
    assert all(one.place.line for one in findings)


def test_a_name_that_nobody_knows_is_told() -> None:
    (one,) = unreachable(inputs(yaml.safe_dump(configuration("http://nobody.invalid/hook")), reach=True))
    assert "nobody.invalid:80" in one.message


def test_a_secret_in_an_address_is_not_shown() -> None:
    (one,) = own(yaml.safe_dump(configuration("hooks.example.com/services/T000/B000/secretsecret")))
    assert "secret" not in one.message


def test_odd_configurations_do_not_break_anything() -> None:
    bodies: list[Json] = [
        {"route": None, "receivers": None},
        {"route": [], "receivers": {}},
        {
            "route": {"receiver": "a", "routes": [None, {"receiver": 5}]},
            "receivers": [None, {"name": "a", "x_configs": 3}],
        },
        configuration(inhibit_rules=[None, {}, {"source_matchers": [5], "target_matchers": "x", "equal": "y"}]),
        configuration("http://[half/hook"),
    ]
    for body in bodies:
        own(yaml.safe_dump(body))


def test_values_of_a_chart_and_an_excerpt_are_read() -> None:
    rules_only = {"inhibit_rules": inhibiting(['alertname="A"'], ['severity="ticket"'])["inhibit_rules"]}
    assert [one.code for one in own(yaml.safe_dump(rules_only))] == ["alertmanager-inhibits-all"]
    values = {"prometheus": {}, "alertmanager": {"config": configuration(**rules_only)}}
    (one,) = own(yaml.safe_dump(values, sort_keys=False))
    assert (one.code, one.place.part) == ("alertmanager-inhibits-all", "alertmanager.config, inhibition rule 0")
    assert one.place.line > 3
