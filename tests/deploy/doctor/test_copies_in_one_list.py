"""One list of series of a whole Prometheus: a router's copies beside the engines, processes of one API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.doctor.doctor_run import ask
from specwatch_deploy.doctor.finding import Finding

WAITING = "vllm:num_requests_waiting"
ENGINE = f'{WAITING}{{engine="0",model_name="m",pod="engine-0"}} 3\n'
ROUTER = f'{WAITING}{{server="http://192.0.2.3:8000",pod="router-0"}} 3\n'
USAGE = "vllm:kv_cache_usage_perc"
PROCESSES = "".join(
    f'{USAGE}{{engine="0",model_name="m",pid="{pid}"}} {value}\n' for pid, value in ((1, 0), (2, 0.6))
)


def found(query: str, series: str, tmp_path: Path) -> list[Finding]:
    path = tmp_path / "series.txt"
    path.write_text(series)
    return ask(query, engines=[str(path)])


def test_a_routers_copies_in_the_same_list(tmp_path: Path) -> None:
    (one,) = found(f"sum by (namespace) ({WAITING})", ENGINE + ROUTER, tmp_path)
    assert (one.code, one.mended) == ("counted-twice", f'sum by (namespace) ({WAITING}{{server=""}})')
    assert found(one.mended, ENGINE + ROUTER, tmp_path) == []


@pytest.mark.parametrize("series", [ENGINE, ROUTER])
def test_one_side_alone_is_counted_once(series: str, tmp_path: Path) -> None:
    assert found(f"sum({WAITING})", series, tmp_path) == []


def test_a_mean_over_processes_is_too_low(tmp_path: Path) -> None:
    (one,) = found(f"avg({USAGE})", PROCESSES, tmp_path)
    assert one.code == "counted-twice"
    assert "the mean is too low" in one.message
    for right in (f"max({USAGE})", f"avg by (pid) ({USAGE})", f"avg(max by (engine) ({USAGE}))"):
        assert found(right, PROCESSES, tmp_path) == []
