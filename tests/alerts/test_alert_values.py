"""The values file: what may be changed, and that anything else is one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from specwatch_alerts.durations import seconds_of
from specwatch_alerts.origin import Origin
from specwatch_alerts.placeholders import PlaceholderError, fill
from specwatch_alerts.rule_build import build
from specwatch_alerts.values import Values, ValuesError, load_values


def with_values(folder: Path, text: str) -> Values:
    file = folder / "mine.toml"
    file.write_text(text)
    return load_values(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[slo.ttft\n", "mine.toml is not TOML: "),
        ("[slo.tfft]\ntarget = 0.9\n", "mine.toml: unknown key slo.tfft.target"),
        ("colour = 1\n", "mine.toml: unknown key colour"),
        ("[slo.ttft]\ntarget = '0.99'\n", "mine.toml: slo.ttft.target must be a number, not '0.99'"),
        ("[slo.ttft]\ntarget = true\n", "mine.toml: slo.ttft.target must be a number, not True"),
        ("[slo.ttft]\ntarget = 99\n", "mine.toml: slo.ttft.target is 99; it must be 0.94 or more and less than 1"),
        (
            "[slo.ttft]\ntarget = 0.9\n",
            "mine.toml: slo.ttft.target is 0.9; it must be 0.94 or more and less than 1",
        ),
        ("[slo.ttft]\nseconds = -1\n", "mine.toml: slo.ttft.seconds is -1; it must be more than 0"),
        ("[slo.ttft]\nseconds = nan\n", "mine.toml: slo.ttft.seconds is nan; it must be more than 0"),
        ("[cost]\nbudget_usd = inf\n", "mine.toml: cost.budget_usd is inf; it must be more than 0"),
        ("[scope]\nmodels = '('\n", "mine.toml: scope.models is not a regular expression: "),
        ("[scope]\nmodels = 3\n", "mine.toml: scope.models must be text, not 3"),
        ("[timing]\nscrape_interval = 'often'\n", "mine.toml: timing.scrape_interval: 'often' is not a duration"),
        (
            "[timing]\nscrape_interval = '2m'\n",
            "timing.scrape_interval is 2m; it must be more than 0s and at most 75s",
        ),
        ("[timing]\nevaluation_interval = '5m'\n", "timing.evaluation_interval is 5m; it must be more than 0s"),
        ("[queue]\nkv_usage = 95\n", "mine.toml: queue.kv_usage is 95; it must be 0.01 to 0.999"),
        ("[queue]\nkv_usage = 1\n", "mine.toml: queue.kv_usage is 1; it must be 0.01 to 0.999"),
        ("[draft]\ndrop_ratio = 1.0\n", "mine.toml: draft.drop_ratio is 1; it must be 0.01 to 0.999"),
        ("[draft]\nsick_share = 33\n", "mine.toml: draft.sick_share is 33; it must be 0.001 to 1"),
        ("[gpu]\nbusy_percent = 100\n", "mine.toml: gpu.busy_percent is 100; it must be 0.1 to 99"),
        ("[slo.ttft]\nmin_bad = 0.5\n", "mine.toml: slo.ttft.min_bad is 0.5; it must be 1 to 1e+06"),
        ("[engine]\nload_time = '10'\n", "mine.toml: engine.load_time: '10' is not a duration"),
        ("[engine]\ndown_for = '2h'\n", "engine.down_for is 2h; it must be at least 30s and at most 3600s"),
        ("[memory]\nmodel = '1m'\n", "memory.model is 1m; it must be at least 600s and at most"),
        ("[severities]\npage = ''\n", "mine.toml: severities.page is empty; it must be a text"),
        (
            "[severities]\npage = '{{ $value }}'\n",
            "mine.toml: severities.page is '{{ $value }}'; it must be one word",
        ),
        ("[severities]\npage = 'a\"b'\n", "it must be one word, without quotes and braces"),
        ("[labels]\nseverity = 'x'\n", "mine.toml: labels.severity is set by the rules; see [severities] and"),
        ("[alerts]\nseverity = 'page'\n", "mine.toml: alerts.severity must be a table"),
        ("[scope]\nmodels = '(?=a)'\n", "mine.toml: scope.models: Prometheus' regular expressions have no look-"),
        ("[scope]\nmodels = '(a)\\1'\n", "mine.toml: scope.models: Prometheus' regular expressions have no look-"),
        ("[links]\nrunbook = 'wiki/runbooks'\n", "links.runbook is 'wiki/runbooks'; write it as https://host/path"),
        ("[links]\ndashboard = ''\n", "mine.toml: links.dashboard is ''; write it as https://host/path"),
        ("[severities]\npage = 'ticket'\n", "mine.toml: severities must differ from each other"),
        ("[scaler]\nobjects = '['\n", "mine.toml: scaler.objects is not a regular expression: "),
        ("[labels]\nburn = '{{ $value }}'\n", "mine.toml: labels.burn must be a fixed text"),
        ("[labels]\n'a-b' = 'c'\n", "mine.toml: labels.a-b must be a label's name with a text"),
        ("labels = 3\n", "mine.toml: labels must be a table of labels"),
        ("[alerts]\ndisabled = 'all'\n", "mine.toml: alerts.disabled must be a list of names, not 'all'"),
    ],
)
def test_a_wrong_value_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValuesError) as raised:
        with_values(tmp_path, text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValuesError, match=r"cannot read .*: No such file or directory"):
        load_values(tmp_path / "none.toml")


def test_an_alert_that_does_not_exist_cannot_be_left_out(tmp_path: Path) -> None:
    values = with_values(tmp_path, "[alerts]\ndisabled = ['SpecwatchTTFBurn']\n")
    with pytest.raises(ValuesError, match=r"alerts.disabled: there is no alert SpecwatchTTFBurn"):
        build(values, Origin.SIDECAR)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("SpecwatchLatched = 'page'", "alerts.severity: there is no alert SpecwatchLatched"),
        (
            "SpecwatchFallbackLatched = 'sms'",
            "alerts.severity.SpecwatchFallbackLatched is 'sms'; it must be one of page,",
        ),
        (
            "SpecwatchTTFTBurn = 'page'",
            "alerts.severity.SpecwatchTTFTBurn: it has rules of page and ticket already",
        ),
    ],
)
def test_a_severity_that_an_alert_cannot_have_is_one_line(tmp_path: Path, line: str, message: str) -> None:
    values = with_values(tmp_path, f"[alerts.severity]\n{line}\n")
    with pytest.raises(ValuesError) as raised:
        build(values, Origin.SIDECAR)
    assert str(raised.value).startswith(message)


def test_an_alert_can_be_given_another_severity(tmp_path: Path) -> None:
    own = "[severities]\npage = 'critical'\n[alerts.severity]\nSpecwatchFallbackLatched = 'page'\n"
    groups = build(with_values(tmp_path, own), Origin.SIDECAR)["groups"]
    told = {
        rule["alert"]: rule["labels"]["severity"] for group in groups for rule in group["rules"] if "alert" in rule
    }
    meant = {rule["annotations"]["urgency"] for group in groups for rule in group["rules"] if "alert" in rule}
    assert told["SpecwatchFallbackLatched"] == "critical"
    assert meant == {"page", "ticket", "info"}
    assert told["SpecwatchFallbackRefused"] == "ticket"


@pytest.mark.parametrize(
    ("slo", "seconds", "origin", "engine", "histogram"),
    [
        ("ttft", 0.75, Origin.SIDECAR, "vllm", "specwatch_request_time_to_first_token_seconds"),
        ("ttft", 0.6, Origin.SIDECAR, "vllm", "specwatch_engine_time_to_first_token_seconds"),
        ("ttft", 2.5, Origin.SIDECAR, "sglang", "specwatch_engine_time_to_first_token_seconds"),
        ("ttft", 2.5, Origin.SGLANG, "sglang", "sglang:time_to_first_token_seconds"),
        ("queue_wait", 0.2, Origin.VLLM, "vllm", "vllm:request_queue_time_seconds"),
        ("token_latency", 0.03, Origin.VLLM, "vllm", "vllm:request_time_per_output_token_seconds"),
    ],
)
def test_a_threshold_beside_the_edges_is_refused_with_the_near_ones(
    tmp_path: Path, slo: str, seconds: float, origin: Origin, engine: str, histogram: str
) -> None:
    values = with_values(tmp_path, f"[slo.{slo}]\nseconds = {seconds}\n")
    with pytest.raises(ValuesError) as raised:
        build(values, origin, engine)
    assert f"slo.{slo}.seconds is {seconds:g}, which is no bucket edge of {histogram}; near ones: " in str(
        raised.value
    )


@pytest.mark.parametrize(("origin", "engine"), [(Origin.SIDECAR, "vllm"), (Origin.VLLM, "vllm")])
def test_a_threshold_on_an_edge_is_taken(tmp_path: Path, origin: Origin, engine: str) -> None:
    text = str(build(with_values(tmp_path, "[slo.ttft]\nseconds = 2.5\n"), origin, engine))
    assert 'le="2.5"' in text


def test_values_reach_the_rules(tmp_path: Path) -> None:
    own = """
        [scope]
        namespaces = 'serving|"odd"'
        [timing]
        scrape_interval = "60s"
        [severities]
        page = "critical"
        [labels]
        team = "inference"
        [links]
        dashboard = "https://graphs.example.com/"
        [alerts]
        disabled = ["SpecwatchCostOverBudget"]
        """
    rules = [rule for group in build(with_values(tmp_path, own), Origin.VLLM)["groups"] for rule in group["rules"]]
    alerts = [rule for rule in rules if "alert" in rule]
    assert {rule["labels"]["severity"] for rule in alerts} == {"critical", "ticket"}
    assert all(rule["labels"]["team"] == "inference" for rule in alerts)
    assert all(rule["annotations"]["dashboard_url"].startswith("https://graphs.example.com/d/") for rule in alerts)
    assert "SpecwatchCostOverBudget" not in {rule["alert"] for rule in alerts}
    assert min(seconds_of(rule["for"]) for rule in alerts) == 120
    reading = [rule["expr"] for rule in rules if "vllm:" in rule["expr"]]
    assert all(r'namespace=~"serving|\"odd\""' in expr for expr in reading)


@pytest.mark.parametrize(
    ("text", "seconds"), [("15s", 15), ("5m", 300), ("1h30m", 5400), ("3d", 259_200), ("500ms", 0.5)]
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "1m1h", "-5m"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        seconds_of(text)


def test_an_unknown_placeholder_is_one_line() -> None:
    with pytest.raises(PlaceholderError, match=r"^A: unknown placeholder @\{slo.tfft\}$"):
        fill("x > @{slo.tfft}", {"slo.ttft": "1"}, "A")


def test_dollars_and_braces_of_prometheus_stay() -> None:
    text = '{{ $labels.model }} "$1" @ 5 [5m]'
    assert fill(text, {}, "A") == text
