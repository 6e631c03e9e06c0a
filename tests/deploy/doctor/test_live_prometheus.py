"""What the doctor learns from a real Prometheus with a morning of history."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from deploy.doctor.doctor_run import alert, ask, codes
from engine.child_process import running
from engine.engine_process import free_port, http_status
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.input_error import InputError
from specwatch_deploy.doctor.prometheus import LivePrometheus
from tools.tool_paths import find_tool

MINUTES: Final = 7 * 60
ENGINE: Final = 'namespace="llm",endpoint="http",model_name="llama",engine="0"'
SERIES: Final[dict[str, Callable[[int], float]]] = {
    f'vllm:num_requests_running{{{ENGINE},pod="vllm-0",job="llm/engines"}}': lambda minute: 5 + minute % 9,
    f'vllm:num_requests_running{{{ENGINE},pod="vllm-1",job="llm/engines"}}': lambda minute: 5 + minute % 7,
    # One pod that a DaemonSet's agent scrapes as well.
    f'vllm:num_requests_waiting{{{ENGINE},pod="vllm-0",job="llm/engines"}}': lambda minute: 1 + minute % 3,
    f'vllm:num_requests_waiting{{{ENGINE},pod="vllm-0",job="node-agent"}}': lambda minute: 1 + minute % 3,
    'queue_depth{namespace="llm",model="llama"}': lambda _minute: 2,
}


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePrometheus]:
    folder = tmp_path_factory.mktemp("morning")
    start = int(time.time()) // 60 * 60 - 60 * MINUTES
    page, data, configuration = folder / "page.txt", folder / "data", folder / "prometheus.yml"
    lines = []
    for series, value in SERIES.items():
        lines += [f"{series} {value(minute)} {start + 60 * minute}" for minute in range(MINUTES + 1)]
    page.write_text("\n".join([*lines, "# EOF", ""]))
    blocks = [str(find_tool("promtool")), "tsdb", "create-blocks-from", "openmetrics", str(page), str(data)]
    subprocess.run(blocks, check=True, capture_output=True, timeout=100)
    configuration.write_text("{}")
    address = f"127.0.0.1:{free_port()}"
    server = [str(find_tool("prometheus")), f"--config.file={configuration}", f"--storage.tsdb.path={data}"]
    server += [f"--web.listen-address={address}", "--log.level=warn"]
    with running(server, folder / "log", lambda: http_status(f"http://{address}/-/ready") == 200):
        live = LivePrometheus(f"http://{address}")
        live.check()
        yield live


def told(found: list[Finding], code: str) -> Finding:
    (one,) = [one for one in found if one.code == code]
    return one


def test_a_sound_query_has_no_finding(prometheus: LivePrometheus) -> None:
    assert ask('sum(vllm:num_requests_running{namespace="llm"})', prometheus=prometheus) == []


def test_a_selector_that_matches_nothing_is_found_with_the_values_that_there_are(
    prometheus: LivePrometheus,
) -> None:
    one = told(
        ask('sum(vllm:num_requests_running{namespace="production"})', prometheus=prometheus), "selector-empty"
    )
    assert "namespace" in one.evidence
    assert "llm" in one.evidence
    assert ask('sum(vllm:num_requests_running{namespace=~"$namespace"})', prometheus=prometheus) == []


def test_a_label_that_relabelling_makes_is_no_fault_if_prometheus_has_it(prometheus: LivePrometheus) -> None:
    assert ask('max(queue_depth{model="llama"})', prometheus=prometheus) == []


def test_a_pod_that_is_scraped_twice_is_found(prometheus: LivePrometheus) -> None:
    one = told(ask("sum(vllm:num_requests_waiting)", prometheus=prometheus), "counted-twice")
    assert "pod vllm-0 is scraped 2 times" in one.message
    assert "llm/engines, node-agent" in one.evidence
    assert ask("max(vllm:num_requests_waiting)", prometheus=prometheus) == []


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("max(vllm:num_requests_running) > 3", "alert-always-fires"),
        ("max(vllm:num_requests_waiting) > 100000", "alert-out-of-reach"),
        ("max(vllm:num_requests_waiting_by_reason) > 3", "alert-never-fires"),
        ("max(vllm:num_requests_running) > 11", ""),
        ("max(vllm:num_requests_running) > 20", ""),
        ("absent(vllm:num_requests_swapping)", "metric-unknown"),
    ],
)
def test_an_alert_over_the_history(prometheus: LivePrometheus, expression: str, code: str) -> None:
    assert codes(ask(files=alert(expression), prometheus=prometheus)) == ([code] if code else [])


def test_what_prometheus_has_is_not_called_unknown(prometheus: LivePrometheus) -> None:
    assert ask("max(queue_depth)", prometheus=prometheus) == []


def test_an_address_without_prometheus_is_one_line() -> None:
    with pytest.raises(InputError, match="--prometheus: Prometheus cannot be reached") as caught:
        LivePrometheus(f"http://127.0.0.1:{free_port()}").check()
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="scheme"):
        LivePrometheus("prometheus:9090").check()
