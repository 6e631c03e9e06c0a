"""What `build` writes: every promtool loads it, and people read in it what they should."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from alerts.promtool_run import PROMTOOLS, rules_of, run
from alerts.rule_case import FOLDER, read_cases
from specwatch_alerts.definition import DefinitionError, load_definitions, parse_definition
from specwatch_alerts.metric_facts import facts_of, known_metrics
from specwatch_alerts.origin import Origin
from specwatch_alerts.placeholders import query_texts
from specwatch_alerts.promql import parse
from specwatch_alerts.promql_tree import selectors
from specwatch_alerts.rule_build import build
from specwatch_alerts.rule_files import prometheus_rule, rule_file
from specwatch_alerts.values import load_values
from tools.tool_paths import find_tool

CAPTURES: Final = Path(__file__).parents[1] / "captures"


@pytest.mark.parametrize("promtool", PROMTOOLS)
@pytest.mark.parametrize("origin", Origin)
def test_promtool_finds_nothing(origin: Origin, promtool: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(rule_file(build(load_values(), origin), "--source x"))
    command = [str(find_tool(promtool)), "check", "rules", "--lint=all", "--lint-fatal", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout


def test_the_operators_object_holds_the_same_groups() -> None:
    values = load_values()
    groups = build(values, Origin.SIDECAR)
    loaded = yaml.safe_load(prometheus_rule(groups, values, "x"))
    assert (loaded["apiVersion"], loaded["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert loaded["metadata"] == {"name": "specwatch", "labels": {"release": "kube-prometheus-stack"}}
    assert loaded["spec"] == groups == yaml.safe_load(rule_file(groups, "x"))


@pytest.mark.parametrize("origin", Origin)
def test_every_alert_says_what_on_call_needs(origin: Origin) -> None:
    for rule in (
        rule for group in build(load_values(), origin)["groups"] for rule in group["rules"] if "alert" in rule
    ):
        notes = rule["annotations"]
        assert set(rule["labels"]) >= {"severity", "component"}
        assert "{{" not in notes["summary"]
        assert "{{" in notes["description"] or "absent(" in rule["expr"]
        assert notes["description"].endswith(notes["impact"])
        assert notes["runbook_url"].endswith(f"/{rule['alert']}.md")
        assert "from=now-" in notes["dashboard_url"]
        assert not any("{{" in text for text in rule["labels"].values())


@pytest.mark.parametrize("origin", Origin)
def test_every_selector_of_the_source_has_the_scope(origin: Origin) -> None:
    values = load_values()
    assert query_texts(values, origin)["scope"] == ""
    scoped = type(values)({**values.flat, "scope.namespaces": "only-here"}, values.tables)
    for group in build(scoped, origin)["groups"]:
        for rule in group["rules"]:
            for one in selectors(parse(rule["expr"])):
                facts = facts_of(one.name)
                reads_ours = facts is not None and facts.source in {"specwatch", "vllm", "sglang"}
                scopes = [matcher for matcher in one.matchers if matcher.value == "only-here"]
                # What is only compared by label, or joined for its labels, needs none.
                elsewhere = "unless" in rule["expr"] or one.name.endswith("_info")
                assert scopes or not reads_ours or elsewhere, f"{rule.get('alert', rule.get('record'))}: {one.name}"


DESCRIPTIONS: Final = {
    ("SpecwatchTTFTBurn", "2 %"): (
        "llama in serving: 2% of requests did not get their first token within 1 s, over the last three days. "
        "The objective is 0.99: at this rate the budget of 30 days does not last. "
    ),
    ("SpecwatchFallbackControllerDead", "no round"): (
        "llama in serving: the last round of the controller was 30m 0s ago. "
    ),
    ("SpecwatchKVPressure", "full, and requests"): (
        "llama in serving, pod vllm-0: the KV cache is 98% full over 10 minutes, and requests are preempted. "
    ),
    ("SpecwatchAutoscalerBlind", "KEDA's query fails"): "llama in serving: KEDA's query fails. ",
}


@pytest.mark.parametrize("promtool", PROMTOOLS)
@pytest.mark.parametrize(("alert", "begins"), DESCRIPTIONS)
def test_people_read_value_scope_and_impact(alert: str, begins: str, promtool: str, tmp_path: Path) -> None:
    case = next(
        one
        for one in read_cases(FOLDER / f"{alert}.toml")
        if one.origin is Origin.SIDECAR and one.name.startswith(begins)
    )
    rules = rules_of(Origin.SIDECAR, [alert], annotations=True)
    severity = case.fires[alert][0]["severity"]
    written = next(
        rule["annotations"]
        for group in rules["groups"]
        for rule in group["rules"]
        if rule.get("alert") == alert and rule["labels"]["severity"] == severity
    )
    expected = {
        **written,
        "description": DESCRIPTIONS[alert, begins] + written["impact"],
        "dashboard_url": _filled(written, case.fires[alert][0]),
    }
    test = case.as_test([alert])
    test["alert_rule_test"][0]["exp_alerts"][0]["exp_annotations"] = expected
    (tmp_path / "rules.yml").write_text(json.dumps(rules))
    run(promtool, "rules.yml", [test], tmp_path, case.every)


def _filled(written: dict[str, str], labels: dict[str, str]) -> str:
    base = written["dashboard_url"].partition("{{")[0]
    return base + "".join(f"&var-{name}={labels[name]}" for name in ("namespace", "model", "pod") if name in labels)


ROW: Final[dict[str, Any]] = {
    "component": "draft",
    "summary": "S",
    "impact": "I",
    "dashboard": "draft",
    "since": "1h",
}
RULE: Final = 'severity = "page"\nfor = "5m"\nkeep_firing_for = "5m"\ndescription = "D"\nexpr.any = "up"'


@pytest.mark.parametrize(
    ("change", "rules", "message"),
    [
        ({"component": "drafts"}, RULE, "A.toml: component is 'drafts'; it must be one of "),
        ({"dashboard": "x"}, RULE, "A.toml: dashboard is 'x'; it must be one of "),
        ({"colour": "x"}, RULE, "A.toml: unknown: colour"),
        ({"impact": None}, RULE, "A.toml: missing: impact"),
        ({"slo": "tfft"}, "", "A.toml: no objective 'tfft' in slos/"),
        ({}, "", "A.toml has neither rules nor an objective"),
        ({}, RULE.replace("page", "sms"), "A.toml: severity is 'sms'; it must be one of "),
        ({}, RULE.replace("expr.any", "expr.vlm"), "A.toml: unknown origin vlm"),
        ({}, RULE.replace("description", "words"), "A.toml: missing: description"),
    ],
)
def test_a_wrong_definition_is_one_line(change: dict[str, Any], rules: str, message: str) -> None:
    rows = {key: value for key, value in {**ROW, **change}.items() if value is not None}
    text = "".join(f'{key} = "{value}"\n' for key, value in rows.items()) + (
        f"[[rules]]\n{rules}\n" if rules else ""
    )
    with pytest.raises(DefinitionError) as raised:
        parse_definition("A", text)
    assert str(raised.value).startswith(message)


def test_every_alert_has_a_runbook() -> None:
    folder = Path(__file__).parents[2] / "alerts" / "runbooks"
    assert {one.name for one in load_definitions()} == {path.stem for path in folder.glob("*.md")}


def test_what_is_said_of_the_engines_metrics_is_on_their_pages() -> None:
    """Newest pages: kind and labels of every series, and the edges of every histogram."""
    for engine, page in (("vllm", "vllm-0.33.0-python-k3.prom"), ("sglang", "sglang-0.5.23-tp2-eagle3.prom")):
        families = {
            family.name: family
            for family in text_string_to_metric_families((CAPTURES / "from-source" / page).read_text())
        }
        for name, facts in known_metrics().items():
            family = families.get(name.removesuffix("_total"))
            if facts.source != engine or family is None:
                continue
            assert family.type == facts.kind.value, name
            own = {label for sample in family.samples for label in sample.labels} - {"le"}
            assert own <= facts.labels, name
            edges = {float(sample.labels["le"]) for sample in family.samples if "le" in sample.labels}
            if engine in facts.edges:  # those of token counts depend on the model's length
                assert tuple(sorted(edges - {math.inf})) == facts.edges[engine], name


@pytest.mark.parametrize("origin", Origin)
def test_every_metric_that_the_rules_read_is_on_a_page_or_known_of_others(origin: Origin) -> None:
    for group in build(load_values(), origin)["groups"]:
        for rule in group["rules"]:
            for one in selectors(parse(rule["expr"])):
                assert ":" in one.name[1:] or facts_of(one.name) is not None, one.name
