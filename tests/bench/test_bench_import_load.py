"""How the load of an imported run was made, what failed in it, and what its client took from elsewhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from specwatch_bench.cell_file import read_cell
from specwatch_bench.imported.aiperf_results import read_aiperf
from specwatch_bench.imported.results_file import read_results
from specwatch_bench.imported.serving_results import read_serving_json
from specwatch_bench.report_target import read_results as read_cells
from specwatch_cli.bench import app
from specwatch_cli.errors import UserError

HERE = Path(__file__).parent / "imported"
SUMMARY = "profile_export_aiperf.json"


def aiperf(folder: Path, **phase: Any) -> Path:
    """AIPerf's folder with another phase."""
    shutil.copytree(HERE / "aiperf", folder)
    body = json.loads((folder / SUMMARY).read_text())
    body["input_config"]["phases"] = [
        {"name": "warmup", "concurrency": 99, "rate": 99},
        {"name": "profiling", **phase},
    ]
    (folder / SUMMARY).write_text(json.dumps(body))
    return folder


def cell_of(result: Path, out: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """First and last line of the one cell that an import makes."""
    done = CliRunner().invoke(app, ["import", str(result), "--out", str(out)])
    assert done.exit_code == 0, done.output
    (path,) = (out / "cells").iterdir()
    head, *_, end = read_cell(path)
    assert read_cells(out).targets
    return head, end


@pytest.mark.parametrize(
    ("phase", "concurrency", "rate"),
    [
        ({"type": "concurrency", "concurrency": 4}, 4, None),
        ({"type": "poisson", "rate": 8.0}, None, 8.0),
        ({"type": "constant", "rate": 8.0, "concurrency": 32}, None, 8.0),
        ({"type": "user_centric", "rate": 2.5, "users": 3}, None, 2.5),
    ],
)
def test_a_rate_of_aiperf_is_an_open_loop(
    phase: dict[str, Any], concurrency: int | None, rate: float | None, tmp_path: Path
) -> None:
    head, end = cell_of(aiperf(tmp_path / "in", **phase), tmp_path / "out")
    assert (head["level"]["concurrency"], head["level"]["rate"]) == (concurrency, rate)
    assert not any("neither a limit" in notice for notice in end["notices"])


@pytest.mark.parametrize("phase", [{"type": "fixed_schedule"}, {"type": "poisson", "rate_series": {"path": "x"}}])
def test_a_load_that_is_not_told_is_no_closed_loop(phase: dict[str, Any], tmp_path: Path) -> None:
    head, end = cell_of(aiperf(tmp_path / "in", **phase), tmp_path / "out")
    assert head["level"]["concurrency"] is None
    assert head["level"]["rate"] == pytest.approx(16 / 1.019, rel=0.01)
    assert any("at most 4 at once" in notice for notice in end["notices"])


def test_an_older_aiperf_says_it_in_its_options() -> None:
    body = json.loads((HERE / "aiperf" / SUMMARY).read_text())
    body["input_config"] = {"loadgen": {"request_rate": 3.0, "concurrency": 10}}
    found = read_aiperf(body)
    assert (found.rate, found.run.concurrency) == (3.0, 10)


def test_a_rate_of_perf_analyzer_is_an_open_loop(tmp_path: Path) -> None:
    request = {"timestamp": 10**9, "response_timestamps": [10**9 + 10**7]}
    body = {"experiments": [{"experiment": {"mode": "request_rate", "value": 5}, "requests": [request]}]}
    path = tmp_path / "profile_export.json"
    path.write_text(json.dumps(body))
    (found,) = read_results(path)
    assert (found.rate, found.run.concurrency) == (5, None)


SGLANG = {
    "backend": "sglang",
    "max_concurrency": 8,
    "duration": 10.0,
    "completed": 90,
    "total_output_tokens": 1000,
    "total_output_tokens_retokenized": 990,
    "output_throughput": 100.0,
    "mean_ttft_ms": 5.0,
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, []),
        ({"accept_length": 2.9}, ["accept length is the server's since its start"]),
        ({"accept_length": None}, []),
        ({"total_output_tokens_retokenized": 700}, ["counts 1000 output tokens, and its tokenizer 700"]),
        ({"failed": 10}, ["run 1: 10 of 100 requests failed"]),
    ],
)
def test_what_its_client_took_from_elsewhere_is_said(changes: dict[str, Any], words: list[str]) -> None:
    (found,) = read_serving_json(json.dumps({**SGLANG, **changes}))
    assert len(found.said) == len(words)
    assert all(any(one in said for said in found.said) for one in words)


@pytest.mark.parametrize("price", ["inf", "nan", "-1", "0"])
def test_a_price_that_is_none_is_refused_in_one_line(price: str) -> None:
    done = CliRunner().invoke(app, ["import", str(HERE / "guidellm.json"), "--gpu-hour", price])
    assert isinstance(done.exception, UserError)
    assert f"the price of a GPU hour must be a number above 0, not {price}" in str(done.exception)
