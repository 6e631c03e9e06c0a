from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from engine.child_process import running
from engine.engine_process import free_port, http_status
from specwatch_alerts.backtest import Span, backtest
from specwatch_alerts.backtest_rules import rule_set
from specwatch_alerts.backtest_source import RangeSource
from specwatch_cli.main import command_line
from specwatch_detectors.history_live import connect
from tools.tool_paths import find_tool

MINUTES = 8 * 60
BURSTS = ((60, 75), (100, 103), (120, 128), (130, 131), (200, 290), (MINUTES - 12, MINUTES))
"""Minutes in which something is wrong."""
POD = 'namespace="serving",pod="llama-0",model="llama",engine="0"'
_BAD, _OK = (f"sum by (model) (increase({name}_total[5m]))" for name in ("bad", "ok"))
RULES: dict[str, Any] = {
    "groups": [
        {
            "name": "slo",
            "interval": "1m",
            "rules": [
                {"record": "t:bad:increase5m", "labels": {"slo": "x"}, "expr": _BAD},
                {"record": "t:bad:increase5m", "labels": {"slo": "y"}, "expr": _OK},
                {"record": "t:bad:sum30m", "expr": "sum_over_time(t:bad:increase5m[30m:5m])"},
                {"alert": "Burn", "expr": 't:bad:sum30m{slo="x"} > 40', "for": "2m", "keep_firing_for": "7m"},
                {"alert": "Gauge", "expr": "wrong > 0", "for": "3m"},
                {"alert": "Kept", "expr": "wrong > 0", "for": "3m", "keep_firing_for": "5m"},
                {"alert": "AtOnce", "expr": "wrong > 0"},
                {"alert": "Range", "expr": 'max_over_time(t:bad:increase5m{slo="x"}[12m]) > 30', "for": "1m"},
                {"alert": "Yesterday", "expr": 't:bad:increase5m{slo="x"} offset 10m > 30', "for": "1m"},
                {"alert": "Never", "expr": 't:bad:sum30m{slo="y"} > 0'},
            ],
        }
    ]
}  # fmt: skip


def wrong(minute: int) -> bool:
    return any(first <= minute < last for first, last in BURSTS)


def history() -> dict[str, list[float]]:
    """Values by series, one a minute."""
    bad = total = 0.0
    found: dict[str, list[float]] = {
        'bad_total{model="m"}': [],
        'ok_total{model="m"}': [],
        'wrong{model="m"}': [],
        f"specwatch_engine_time_to_first_token_seconds_count{{{POD}}}": [],
        f'specwatch_engine_time_to_first_token_seconds_bucket{{{POD},le="1.0"}}': [],
        'specwatch_drift_state{namespace="serving",model="llama",traffic_class="",state="drifted"}': [],
        'specwatch_payoff_speedup_ratio{namespace="serving",model="llama",batch="8",bound="upper"}': [],
        'specwatch_build_info{namespace="serving",pod="llama-0",version="1"}': [],
    }
    for minute in range(MINUTES + 1):
        now = wrong(minute)
        bad, total = bad + 10.0 * now, total + 60.0
        row = (bad, 0.0, float(now), total, total - 6.0 * bad, float(now), 0.8 if now else 1.4, 1.0)
        for values, value in zip(found.values(), row, strict=True):
            values.append(value)
    return found


def openmetrics(start: int) -> Iterator[str]:
    for series, values in history().items():
        yield f"# TYPE {series.partition('{')[0]} unknown"
        yield from (f"{series} {value} {start + 60 * minute}" for minute, value in enumerate(values))
    yield "# EOF"


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The URL of a real Prometheus with hours of history in it, and when they begin."""
    folder = tmp_path_factory.mktemp("past")
    start = (int(time.time()) // 3600 - MINUTES // 60 - 1) * 3600
    page, data, configuration = folder / "page.txt", folder / "data", folder / "prometheus.yml"
    page.write_text("\n".join(openmetrics(start)) + "\n")
    blocks = [str(find_tool("promtool")), "tsdb", "create-blocks-from", "openmetrics", str(page), str(data)]
    subprocess.run(blocks, check=True, capture_output=True, timeout=100)
    configuration.write_text("{}")
    address = f"127.0.0.1:{free_port()}"
    server = [str(find_tool("prometheus")), f"--config.file={configuration}", f"--storage.tsdb.path={data}"]
    server += [f"--web.listen-address={address}", "--log.level=warn"]
    with running(server, folder / "log", lambda: http_status(f"http://{address}/-/ready") == 200):
        yield f"http://{address}", start


def promtool_says(folder: Path, expected: Mapping[str, list[tuple[int, bool]]]) -> str:
    """What `promtool test rules` says to alerts that fire, or do not, at these minutes; empty if it agrees."""
    (folder / "rules.yml").write_text(yaml.safe_dump(RULES, sort_keys=False))
    slo = {"Burn": {"slo": "x"}, "Range": {"slo": "x"}, "Yesterday": {"slo": "x"}}
    checks = [
        {
            "eval_time": f"{minute}m",
            "alertname": name,
            "exp_alerts": [{"exp_labels": {"model": "m", **slo.get(name, {})}}] if firing else [],
        }
        for name, rows in expected.items()
        for minute, firing in rows
    ]
    series = [
        {"series": name, "values": " ".join(map(str, values))}
        for name, values in history().items()
        if name.endswith('"m"}')
    ]
    test = {"interval": "1m", "input_series": series, "alert_rule_test": checks}
    (folder / "test.yml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [test]})
    )
    told = subprocess.run(
        [str(find_tool("promtool")), "test", "rules", "test.yml"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    return "" if told.returncode == 0 else told.stdout + told.stderr


def test_it_fires_when_promtool_says_that_it_fires(past: tuple[str, int], tmp_path: Path) -> None:
    url, start = past
    span = Span(start, start + 60 * MINUTES, 60)
    result = backtest(rule_set(RULES), RangeSource(connect(url), chunk_points=100), span)
    firing = {
        one.rule.name: {
            minute
            for episode in one.episodes
            for minute in range(MINUTES + 1)
            if episode.start <= start + 60 * minute < episode.end or (not episode.ended and minute == MINUTES)
        }
        for one in result.results
    }
    assert {name: len(one.episodes) for name, one in zip(firing, result.results, strict=True)} == {
        "Burn": 4, "Gauge": 4, "Kept": 4, "AtOnce": 6, "Range": 4, "Yesterday": 3, "Never": 0,
    }  # fmt: skip
    every = {name: [(minute, minute in own) for minute in range(MINUTES + 1)] for name, own in firing.items()}
    assert promtool_says(tmp_path, every) == ""
    assert promtool_says(tmp_path, {"Burn": [(0, True)]}) != ""
    assert {name for one in result.results for name in one.put_in} == {"t:bad:increase5m", "t:bad:sum30m"}


def test_the_command_tells_of_the_rules_that_are_shipped(past: tuple[str, int]) -> None:
    url, _ = past
    printed = CliRunner().invoke(
        command_line(), ["alerts", "backtest", "--prometheus", url, "--days", "1", "--format", "json"]
    )
    assert printed.exit_code == 0, printed.output
    body = json.loads(printed.stdout)
    rules: dict[tuple[str, str], dict[str, Any]] = {}
    for one in body["rules"]:
        rules.setdefault((one["alert"], one["severity"]), one)
    assert rules["SpecwatchTTFTBurn", "page"]["episodes"] >= 1
    assert rules["SpecwatchTTFTBurn", "page"]["label_sets"][0]["labels"]["model"] == "llama"
    assert "specwatch:slo_error:ratio1h" in rules["SpecwatchTTFTBurn", "page"]["recordings_worked_out"]
    assert rules["SpecwatchDraftDriftedNotPaying", "page"]["episodes"] == 3
    assert rules["SpecwatchFallbackLatched", "ticket"]["evaluated"] is False
    assert rules["SpecwatchFallbackLatched", "ticket"]["reason"] == "no series of specwatch_fallback_latched"
    assert 0.2 < body["observed_days"] < 0.5


def test_the_command_draws_a_table(past: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    url, _ = past
    monkeypatch.setenv("COLUMNS", "130")
    names = [
        "SpecwatchDraftDriftedNotPaying",
        "SpecwatchFallbackLatched",
        "SpecwatchTTFTBurn",
        "SpecwatchDraftDrifted",
    ]
    arguments = [word for name in names for word in ("--alert", name)]
    printed = CliRunner().invoke(
        command_line(), ["alerts", "backtest", "--prometheus", url, "--days", "1", *arguments]
    )
    assert printed.exit_code == 0, printed.output
    assert "namespace=serving model=llama" in printed.stdout
    assert "not evaluated" in printed.stdout
    assert "silence proves nothing" in printed.stdout
    assert "SpecwatchErrorBurn" not in printed.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--days", "0"], 2, "--days 0"),
        (["--step", "1.5s"], 2, "whole seconds"),
        (["--alert", "Nobody"], 2, "no alert Nobody"),
        (["--rules", "missing.yml"], 2, "missing.yml: No such file"),
        (["--values", "missing.toml"], 2, "missing.toml"),
        ([], 1, "Prometheus gave no answer"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], code: int, words: str) -> None:
    result = CliRunner().invoke(
        command_line(), ["alerts", "backtest", "--prometheus", "http://127.0.0.1:1", *arguments]
    )
    assert result.exception is not None
    assert getattr(result.exception, "exit_code", None) == code
    assert words in str(result.exception)
