"""Known series in, right answers out: what the less plain queries of the dashboards compute, by promtool."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from dashboards.asked import filled
from specwatch_dashboards.build import build
from specwatch_dashboards.grafana.plain_json import Json
from specwatch_dashboards.metric_check import panels_of
from specwatch_dashboards.pages.mix_split import mix_effect, within_effect
from specwatch_dashboards.pages.speculation_now import FIRING
from specwatch_dashboards.pages.tau import LENGTH, OVER, at_positions, conditional, counted
from specwatch_dashboards.promql import idle, outliers, told, total
from specwatch_dashboards.source import Source
from tools.tool_paths import find_tool

M: Final = 'namespace="n", model="m"'
D: Final = f'{M}, definition="d"'
MODEL: Final = '{namespace="n", model="m"}'
HPA: Final = '{namespace="n", horizontalpodautoscaler="h"}'
Samples = list[tuple[str, float]]


def check(
    folder: Path, series: dict[str, str], expected: list[tuple[str, str, Samples]], interval: str = "1m"
) -> None:
    """Expected: expression, time, and labels with values; all values are compared to five digits."""
    tests = [
        {
            "expr": f"round(({filled(expr)}) * 100000)",
            "eval_time": at,
            "exp_samples": [{"labels": labels, "value": round(value * 100_000)} for labels, value in samples],
        }
        for expr, at, samples in expected
    ]
    rows = [{"series": name, "values": values} for name, values in series.items()]
    case: dict[str, Any] = {"interval": interval, "input_series": rows, "promql_expr_test": tests}
    path = folder / "test.yml"
    path.write_text(json.dumps({"rule_files": [], "evaluation_interval": interval, "tests": [case]}))
    done = subprocess.run(
        [find_tool("promtool"), "test", "rules", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_acceptance_by_position_uses_true_denominators_where_there_are_some(tmp_path: Path) -> None:
    series = {
        f"specwatch:drafts:rate5m{{{D}}}": "100x10",
        f"specwatch:accepted_tokens:rate5m{{{D}}}": "110x10",
        f'specwatch:accepted_tokens_per_position:rate5m{{{D}, position="0"}}': "80x10",
        f'specwatch:accepted_tokens_per_position:rate5m{{{D}, position="1"}}': "30x10",
        f'specwatch:draft_tokens_per_position:rate5m{{{D}, position="1"}}': "50x10",
    }
    positions = [
        ('{namespace="n", model="m", position="0"}', 0.8),
        ('{namespace="n", model="m", position="1"}', 0.6),
    ]
    late = [(labels, value if '"0"' in labels else 0.3) for labels, value in positions]
    expected: list[tuple[str, str, Samples]] = [
        (LENGTH, "5m", [(MODEL, 2.1)]),
        (at_positions(Source.SIDECAR), "5m", positions),
        (at_positions(Source.ENGINE), "5m", late),
        (conditional(0), "5m", [(MODEL, 0.8)]),
        (conditional(1), "5m", [(MODEL, 0.375)]),
        (conditional(2), "5m", []),
    ]
    check(tmp_path, series, expected)


def test_counts_of_two_definitions_are_not_added_up(tmp_path: Path) -> None:
    series = {}
    for definition, accepted in (("counters", 150), ("plugin", 160)):
        own = f'{{{M}, definition="{definition}"}}'
        series[f"specwatch:drafts:rate5m{own}"] = "100x10"
        series[f"specwatch:accepted_tokens:rate5m{own}"] = f"{accepted}x10"
    expected: list[tuple[str, str, Samples]] = [
        (LENGTH, "5m", [(MODEL, 2.6)]),
        (counted("specwatch:drafts:rate5m"), "5m", [(MODEL, 100.0)]),
    ]
    check(tmp_path, series, expected)


def test_the_change_of_a_day_is_split_into_mix_and_draft_and_adds_up(tmp_path: Path) -> None:
    # Then: half and half, 1 and 3 kept a draft. Now: three quarters of the first, 0.8 and 3.
    rows = {"chat": ((50, 75), (50, 60)), "code": ((50, 25), (150, 75))}
    series = {}
    for name, ((drafts_then, drafts_now), (kept_then, kept_now)) in rows.items():
        own = f'{{{M}, traffic_class="{name}"}}'
        series[f"specwatch:request_drafts:rate5m{own}"] = f"{drafts_then}x12 {drafts_now}x24"
        series[f"specwatch:request_accepted_tokens:rate5m{own}"] = f"{kept_then}x12 {kept_now}x24"
    within = (0.5 + 0.75) / 2 * (0.8 - 1.0)
    mix = (1.0 + 0.8) / 2 * 0.25 + 3.0 * -0.25
    whole = (0.75 * 0.8 + 0.25 * 3.0) - 2.0
    assert within + mix == pytest.approx(whole)
    expected: list[tuple[str, str, Samples]] = [
        (within_effect(), "30h", [(MODEL, within)]),
        (mix_effect(), "30h", [(MODEL, mix)]),
    ]
    check(tmp_path, series, expected, interval="1h")


def test_the_way_to_a_drifts_end_is_the_pods_that_is_farthest_from_it(tmp_path: Path) -> None:
    rows = {"a": ("", 0.9), "b": ("", 0.4), "c": ("code", 0.1)}  # a fourth pod sees no drift and has no sample
    series = {
        f'specwatch_drift_over_ratio{{{M}, pod="{pod}", traffic_class="{name}"}}': f"{value}x10"
        for pod, (name, value) in rows.items()
    }
    check(tmp_path, series, [(OVER, "5m", [(MODEL, 0.4)])])


def test_a_number_tells_no_traffic_from_cannot_tell_from_no_data(tmp_path: Path) -> None:
    def there(model: str, tokens: str) -> dict[str, str]:
        own = f'{{namespace="n", model="{model}"}}'
        return {f"specwatch:generation_tokens:rate5m{own}": tokens, f"specwatch:requests_running:sum{own}": "0x10"}

    series = {**there("known", "5x10"), **there("idle", "0x10"), **there("dark", "5x10")}
    # A rate that outlives its engines: gone, not idle.
    series['specwatch:generation_tokens:rate5m{namespace="n", model="gone"}'] = "0x10"
    series['specwatch:payoff_speedup:median{namespace="n", model="known"}'] = "1.3x10"
    told_of = told(total("specwatch:payoff_speedup:median"), "bottomk")
    samples = [
        ('{namespace="n", model="known"}', 1.3),
        ('{namespace="n", model="idle"}', -1.0),
        ('{namespace="n", model="dark"}', -2.0),
    ]
    check(tmp_path, series, [(told_of, "5m", samples), (idle().expr, "5m", [])])


def test_many_idle_models_do_not_hide_the_one_that_loses(tmp_path: Path) -> None:
    series = {}
    for number in range(30):
        own = f'{{namespace="n", model="m{number:02}"}}'
        series[f"specwatch:generation_tokens:rate5m{own}"] = "0x10" if number < 10 else "5x10"
        series[f"specwatch:requests_running:sum{own}"] = "0x10"
        if number >= 20:
            series[f"specwatch:payoff_speedup:median{own}"] = f"{1 + (25 - number) / 10}x10"
    speedup = told(total("specwatch:payoff_speedup:median"), "bottomk")
    worst = [(f'{{namespace="n", model="m{number}"}}', 1 + (25 - number) / 10) for number in (29, 28, 27, 26)]
    shown = f"({speedup}) >= 0"
    absent = f"count(({speedup}) < 0)"
    check(tmp_path, series, [(shown, "5m", worst), (absent, "5m", [("{}", 2.0)])])


def test_alerts_that_page_come_first_and_each_has_a_model(tmp_path: Path) -> None:
    def alert(name: str, severity: str, **more: str) -> str:
        labels = {"alertname": f"Specwatch{name}", "severity": severity, "alertstate": "firing", **more}
        return "ALERTS{" + ", ".join(f'{label}="{text}"' for label, text in labels.items()) + "}"

    of_model = {"namespace": "n", "model": "m"}
    series = {
        alert("A", "info", **of_model): "1x10",
        alert("B", "ticket", **of_model): "1x10",
        alert("C", "page", namespace="n", pod="p1"): "1x10",
        alert("C", "page", namespace="n", pod="p2"): "1x10",
        alert("D", "page", **of_model).replace("firing", "pending"): "1x10",
        'ALERTS{alertname="Other", severity="page", alertstate="firing"}': "1x10",
    }
    samples = [
        ('{alertname="SpecwatchA", namespace="n", model="m"}', 1.0),
        ('{alertname="SpecwatchB", namespace="n", model="m"}', 2.0),
        ('{alertname="SpecwatchC", namespace="n", model="-"}', 3.0),
    ]
    check(tmp_path, series, [(FIRING, "5m", samples)])


@pytest.mark.parametrize(
    ("tokens", "running", "says"), [("0x10", "0x10", True), ("1x10", "0x10", False), ("0x10", "", False)]
)
def test_the_line_no_traffic(tmp_path: Path, tokens: str, running: str, says: bool) -> None:
    series = {f"specwatch:generation_tokens:rate5m{MODEL}": tokens}
    if running:
        series[f"specwatch:requests_running:sum{MODEL}"] = running
    check(tmp_path, series, [(idle().expr, "5m", [("{}", 0.0)] if says else [])])


def test_outliers_are_the_same_pods_all_along(tmp_path: Path) -> None:
    series = {
        f'specwatch:pod_requests_waiting:sum{{{M}, pod="p{number}", instance="i"}}': f"{number}x60"
        for number in range(6)
    }
    # Largest for one point, small on average.
    series[f'specwatch:pod_requests_waiting:sum{{{M}, pod="spike", instance="i"}}'] = "0x57 100 0 0"
    expr = outliers("specwatch:pod_requests_waiting:sum", 2, most=True)
    pods = [(f'{{namespace="n", model="m", pod="p{number}", instance="i"}}', float(number)) for number in (4, 5)]
    check(tmp_path, series, [(expr.replace("$__range", "55m"), "60m", pods)])


EVENTS: Final[dict[str, dict[str, str]]] = {
    "Deploys": {'kube_replicaset_created{namespace="n", replicaset="m-2"}': "_x5 290x20"},
    "Restarts": {'specwatch_engine_restarts_total{namespace="n", pod="p"}': "3x4 4x20"},
    "Drift alarms": {f'specwatch_drift_alarms_total{{{M}, traffic_class="", pod="p"}}': "0x4 1x20"},
    "Fallback transitions": {
        f'specwatch_fallback_level{{{M}, level="draft"}}': "1x4 0x20",
        f'specwatch_fallback_level{{{M}, level="ngram"}}': "0x4 1x20",
    },
    "Scale events": {f"kube_horizontalpodautoscaler_status_desired_replicas{HPA}": "2x4 3x20"},
}
MARKS: Final = {
    "Deploys": '{namespace="n", replicaset="m-2"}',
    "Restarts": '{namespace="n"}',
    "Drift alarms": MODEL,
    "Fallback transitions": '{namespace="n", model="m", level="ngram"}',
    "Scale events": HPA,
}


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_marked_when_it_happens_and_not_before_or_after(name: str, tmp_path: Path) -> None:
    (event,) = (one for one in _events() if one["name"] == name)
    expr = f"({event['expr']}) > bool 0"
    check(tmp_path, EVENTS[name], [(expr, "4m", []), (expr, "5m", [(MARKS[name], 1.0)]), (expr, "9m", [])])


def _events() -> list[Json]:
    found: list[Json] = build(Source.SIDECAR)["specwatch-speculation"]["annotations"]["list"]
    return found


def test_moves_of_the_time_range_count_the_first_one_too(tmp_path: Path) -> None:
    fallback = build(Source.SIDECAR)["specwatch-fallback"]
    (moves,) = (panel for panel in panels_of(fallback) if panel["title"].startswith("Moves"))
    labels = f'{M}, from="draft", to="ngram", reason="not_paying"'
    expr = moves["targets"][0]["expr"].replace("$__range", "10m")
    series = {f"specwatch_fallback_transitions_total{{{labels}}}": "_x9 1x9 3x30"}
    same = f"{{{labels}}}"
    check(tmp_path, series, [(expr, "12m", [(same, 1.0)]), (expr, "25m", [(same, 2.0)]), (expr, "40m", [])])
