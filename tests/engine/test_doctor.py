"""`specwatch doctor` against a real vLLM: a broken set of queries, a sound one, and vLLM's own source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from engine.engine_load import send_load
from engine.engine_process import EngineProcess, vllm_python
from specwatch_alerts.origin import Origin
from specwatch_alerts.rule_build import build
from specwatch_alerts.values import load_values
from specwatch_deploy.doctor.package_metrics import package_metrics
from specwatch_exporters.engine_metrics.metric_table import load_tables
from specwatch_exporters.engine_metrics.version import Version

pytestmark = [pytest.mark.engine, pytest.mark.timeout(420)]

ROOT: Final = Path(__file__).parents[2]
QUEUE_WAIT: Final = "histogram_quantile(0.9, sum by (le) (rate(vllm:request_queue_time_seconds_bucket[5m])))"
BROKEN: Final = {
    "avg(vllm:gpu_cache_usage_perc)": "metric-renamed",
    "vllm:num_requests_swapped": "metric-removed",
    "vllm:gpu_prefix_cache_hit_rate": "metric-replaced",
    "sum(vllm_num_requests_waiting)": "metric-misspelt",
    "sum(rate(vllm:prompt_tokens[5m]))": "metric-misspelt",
    "sum(rate(vllm:num_total_requests[5m]))": "metric-unknown",
    "sum(rate(vllm:kv_block_lifetime_seconds_sum[5m]))": "metric-needs",
    'sum(vllm:num_requests_waiting{model="tiny-llama"})': "label-unknown",
    'sum(rate(vllm:request_success_total{finished_reason="stopped"}[5m]))': "value-unknown",
    'sum(rate(vllm:e2e_request_latency_seconds_bucket{le="5"}[5m]))': "edge-misspelt",
    'sum(rate(vllm:e2e_request_latency_seconds_bucket{le="0.2"}[5m]))': "edge-unknown",
    "rate(vllm:num_requests_running[5m])": "gauge-under-rate",
    "sum(vllm:kv_cache_usage_perc)": "ratio-summed",
    f"{QUEUE_WAIT} > 0.2": "edge-too-coarse",
    'sum({__name__=~"vllm:spec_decode_num_drafts.*"})': "created-summed",
}


@pytest.fixture(scope="module")
def engine(draft_engine: EngineProcess) -> EngineProcess:
    """The engine that others use as well, with some requests behind it."""
    send_load(draft_engine.url, 8, seed=77)
    return draft_engine


def doctor(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    command = [sys.executable, "-c", "from specwatch_cli.main import run; run()", "doctor", *arguments]
    told = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False, timeout=120)
    assert told.returncode in {0, 1}, told.stderr
    return told.returncode, json.loads(told.stdout)["findings"]


def test_every_fault_of_the_broken_set_is_found(engine: EngineProcess) -> None:
    queries = [part for query in BROKEN for part in ("--query", query)]
    status, found = doctor("--engine", engine.url, *queries)
    assert status == 1
    codes = {
        number: {one["code"] for one in found if one["line"] == number} for number in range(1, len(BROKEN) + 1)
    }
    for number, (query, code) in enumerate(BROKEN.items(), 1):
        assert code in codes[number], query


def test_the_sound_set_is_clean(engine: EngineProcess, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text(json.dumps(build(load_values(), Origin.VLLM)))
    dashboards = ROOT / "dashboards" / "json" / "engine"
    status, found = doctor(str(dashboards), str(rules), "--engine", engine.url)
    assert (status, [one for one in found if one["severity"] != "info"]) == (0, [])


def test_correct_queries_are_clean(engine: EngineProcess) -> None:
    lines = (ROOT / "tests" / "deploy" / "doctor" / "correct_queries.txt").read_text().splitlines()
    queries = [part for line in lines if line and not line.startswith("#") for part in ("--query", line)]
    assert doctor("--engine", engine.url, *queries) == (0, [])


def test_speculation_that_is_off_is_said(plain_engine: EngineProcess) -> None:
    status, (one,) = doctor(
        "--engine", plain_engine.url, "--query", "sum(rate(vllm:spec_decode_num_drafts_total[5m]))"
    )
    assert (status, one["code"]) == (0, "metric-needs-speculation")


def test_the_table_is_what_the_installed_vllm_defines() -> None:
    (folder,) = vllm_python().parents[1].glob("lib/python3*/site-packages/vllm")
    (info,) = folder.parent.glob("vllm-*.dist-info")
    version = Version.parse(info.name.removeprefix("vllm-").removesuffix(".dist-info"))
    table = load_tables()["vllm"]
    defined = {one.name: one for one in package_metrics(folder) if not one.name.startswith(table.open)}
    listed = {name: row for name in table.rows if (row := table.at(name, version)) is not None}
    assert set(defined) == set(listed)
    for name, one in defined.items():
        assert one.kind is listed[name].kind, name
        assert one.labels is None or one.labels == listed[name].labels, name


def test_an_installed_vllm_can_stand_for_an_engine() -> None:
    (folder,) = vllm_python().parents[1].glob("lib/python3*/site-packages/vllm")
    queries = ("--query", "avg(vllm:gpu_cache_usage_perc)", "--query", "avg(vllm:kv_cache_usage_perc)")
    status, found = doctor("--from-package", str(folder), *queries)
    assert (status, [one["code"] for one in found]) == (1, ["metric-renamed"])
