"""What is said to be one element is one for a real Prometheus, with two pods, two models, and none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from alerts.promtool_run import PROMTOOLS
from specwatch_alerts.promql import parse
from specwatch_deploy.doctor.scaler_elements import single
from tools.tool_paths import find_tool

POD_SERIES = {
    f'vllm:{name}{{model_name="{model}",pod="{pod}"{more}}}': "0+1x20"
    for pod in ("a", "b")
    for model in ("m", "n")
    for name, more in (
        ("num_requests_waiting", ""),
        ("num_requests_running", ""),
        ("request_queue_time_seconds_bucket", ',le="0.3"'),
        ("request_queue_time_seconds_bucket", ',le="+Inf"'),
    )
}
WAITING, RUNNING = "vllm:num_requests_waiting", "vllm:num_requests_running"
QUEUE = "rate(vllm:request_queue_time_seconds_bucket[5m])"
QUEUE_OF_M = 'rate(vllm:request_queue_time_seconds_bucket{model_name="m"}[5m])'
ONE = (
    f"sum({WAITING})",
    f"max by () ({WAITING})",
    f'sum by (model_name) ({WAITING}{{model_name="m"}})',
    f'avg by (pod, model_name) ({WAITING}{{model_name="m", pod="a"}})',
    f"histogram_quantile(0.95, sum by (le) ({QUEUE}))",
    f"histogram_quantile(0.95, sum by (le, model_name) ({QUEUE_OF_M}))",
    f"clamp_max(sum({WAITING}) / 4, 10)",
    f"sum({WAITING}) / sum({RUNNING})",
    f"sum({WAITING}) > 3",
    f"sum({WAITING}) or vector(0)",
    f"sum({WAITING}) or sum(nothing_here)",
    f"max_over_time(sum({WAITING})[5m:1m])",
    f"ceil(max({WAITING})) and on () sum({RUNNING}) > 0",
    f"absent({WAITING})",
    "vector(1)",
    f"vector(scalar(sum({WAITING})) * 2)",
    f"topk(1, {WAITING})",
)
SEVERAL = (
    WAITING,
    f"rate({WAITING}[5m])",
    f"sum by (pod) ({WAITING})",
    f"sum without (pod) ({WAITING})",
    f'sum by (pod) ({WAITING}{{model_name="m"}})',
    f"histogram_quantile(0.95, sum by (le, pod) ({QUEUE}))",
    f"histogram_quantile(0.95, {QUEUE})",
    f"{WAITING} > 0",
    f"{WAITING} + {RUNNING}",
    f"2 * {WAITING}",
    f"sum({WAITING}) or {RUNNING}",
    f'sum by (pod) ({WAITING}{{pod="a"}}) or sum({RUNNING})',
    f"{WAITING} / on () group_left () sum({RUNNING})",
    f"count_values('v', {WAITING} * 0 + on (pod) group_left () (sum by (pod) ({WAITING}{{pod='a'}}) or vector(0)))",
)


@pytest.mark.parametrize("promtool", PROMTOOLS)
def test_prometheus_agrees_on_every_query(promtool: str, tmp_path: Path) -> None:
    for query in ONE:
        assert single(parse(query)), query
    for query in SEVERAL:
        assert not single(parse(query)), query
    asked = [(f"(count({query}) or vector(0)) <= bool 1", 1) for query in ONE]
    asked += [(f"(count({query}) or vector(0)) > bool 1", 1) for query in SEVERAL[:-1]]
    tests = [
        {"expr": expr, "eval_time": "10m", "exp_samples": [{"labels": "{}", "value": value}]}
        for expr, value in asked
    ]
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in POD_SERIES.items()],
        "promql_expr_test": tests,
    }
    path = tmp_path / "test.yml"
    path.write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [case]}, width=10**6))
    done = subprocess.run([find_tool(promtool), "test", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
