from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.matrix_text import SPECULATIVE, matrix
from specwatch_bench.bench_error import BenchError
from specwatch_bench.budget import Budget
from specwatch_bench.enough import requests_for, shortage
from specwatch_bench.gpu_watch import FIELDS, gpu_reader
from specwatch_bench.manifest import Manifest, machine
from specwatch_bench.model_shape import write_shapes
from specwatch_bench.page_counts import PageCounts, counts_between, off_the_set_rates
from specwatch_bench.starter import STARTERS
from specwatch_exporters.replay.clock import Clock


@pytest.mark.parametrize(("quantile", "needed"), [(0.99, 368), (0.9, 36), (0.5, 6)])
def test_a_quantile_needs_so_many_requests(quantile: float, needed: int) -> None:
    assert requests_for(quantile) == needed
    assert quantile**needed <= 0.025 < quantile ** (needed - 1)
    assert shortage(quantile, needed) is None
    assert f"needs {needed}" in str(shortage(quantile, needed - 1))


@pytest.mark.parametrize(
    ("engine", "rates", "parts", "variables"),
    [
        (
            {"engine": "vllm", "model": "m", "speculative": SPECULATIVE, "arguments": ["--dtype", "auto"]},
            (0.8, 0.5),
            ["serve", "m", "--port", "7", "--dtype", "auto", "--speculative-config"],
            {"VLLM_NO_USAGE_STATS": "1"},
        ),
        (
            {"engine": "sglang", "model": "m", "served_name": "n"},
            (0.8, 0.5),
            ["sglang.launch_server", "--model-path", "m", "--enable-metrics", "--served-model-name", "n"],
            {"SGLANG_SIMULATE_ACC_LEN": "2.3000"},
        ),
        ({"engine": "trtllm", "model": "m"}, None, ["trtllm-serve", "serve", "m", "--port", "7"], {}),
        (
            {"engine": "replay", "arguments": ["--speed", 2]},
            None,
            ["specwatch_exporters.replay", "--speed", "2"],
            {},
        ),
    ],
)
def test_a_start_is_worked_out(
    engine: dict[str, Any], rates: Any, parts: list[str], variables: dict[str, str]
) -> None:
    (spec,) = matrix(engines=[{"name": "e", **engine}]).engines
    launch = STARTERS[spec.kind].launch(spec, 7, rates, "python")
    places = [launch.command.index(part) for part in parts]
    assert places == sorted(places)
    assert launch.environment == variables


def test_vllm_gets_synthetic_acceptance_in_its_speculative_config() -> None:
    (spec,) = matrix(engines=[{"name": "e", "engine": "vllm", "model": "m", "speculative": SPECULATIVE}]).engines
    launch = STARTERS["vllm"].launch(spec, 7, (0.8, 0.5), "python")
    assert json.loads(launch.command[-1]) == {
        **SPECULATIVE,
        "rejection_sample_method": "synthetic",
        "synthetic_acceptance_rates": [0.8, 0.5],
    }


@pytest.mark.parametrize(("kind", "rates"), [("replay", (0.5,)), ("trtllm", (0.5,))])
def test_an_engine_that_cannot_be_told_its_acceptance_says_so(kind: str, rates: tuple[float, ...]) -> None:
    (spec,) = matrix(engines=[{"name": "e", "engine": kind, "model": "m"}]).engines
    with pytest.raises(ValueError, match="acceptance"):
        STARTERS[kind].launch(spec, 7, rates, "python")


def test_a_budget_leaves_time_to_stop() -> None:
    clock = Clock(monotonic=lambda: 130.0)
    assert Budget(100.0, 60.0, clock).fits(20.0)
    assert not Budget(100.0, 60.0, clock).fits(21.0)
    assert Budget(100.0, None, clock).fits(1e9)


@pytest.mark.parametrize(
    ("seen", "drafts", "fits"),
    [
        ((0.76, 0.55), 10_000, True),
        ((0.77, 0.56), 10_000, True),
        ((0.80, 0.55), 10_000, False),
        ((0.80, 0.5), 100, True),
    ],
)
def test_counts_are_held_against_the_set_rates(seen: tuple[float, ...], drafts: float, fits: bool) -> None:
    counts = PageCounts(drafts, seen, 1.0 + sum(seen))
    assert (off_the_set_rates(counts, (0.76, 0.55)) is None) is fits


@pytest.mark.parametrize(("length", "fits"), [(2.96, True), (2.85, True), (3.2, False), (1.0, False)])
def test_without_positions_the_mean_length_is_held_against_the_set_rates(length: float, fits: bool) -> None:
    problem = off_the_set_rates(PageCounts(9_000, (), length), (0.80, 0.64, 0.52))
    assert (problem is None) is fits
    assert fits or problem == f"a mean length of {length:.2f} was counted, and 2.96 was set"


def test_without_drafts_nothing_says_that_the_rates_were_applied() -> None:
    assert off_the_set_rates(None, (0.5,)) is not None


def page(drafts: int, accepted: tuple[int, int]) -> str:
    rows = [f'vllm:spec_decode_num_drafts_total{{engine="0",model_name="m"}} {drafts}']
    rows += [f'vllm:spec_decode_num_draft_tokens_total{{engine="0",model_name="m"}} {2 * drafts}']
    rows += [f'vllm:spec_decode_num_accepted_tokens_total{{engine="0",model_name="m"}} {sum(accepted)}']
    rows += [
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",model_name="m",position="{at}"}} {count}'
        for at, count in enumerate(accepted)
    ]
    rows += [f'vllm:generation_tokens_total{{engine="0",model_name="m"}} {drafts + sum(accepted)}']
    names = dict.fromkeys(row.partition("{")[0] for row in rows)
    return "".join(
        f"# TYPE {name} counter\n" + "".join(row + "\n" for row in rows if row.startswith(name + "{"))
        for name in names
    )


def test_the_counters_of_a_cell_are_what_lies_between_its_pages() -> None:
    counts = counts_between(page(100, (70, 50)), page(300, (220, 110)))
    assert counts is not None
    assert counts.drafts == 200
    assert list(counts.per_position) == pytest.approx([0.75, 0.3])
    assert counts.length == pytest.approx(2.05)
    assert counts_between(None, page(1, (1, 1))) is None
    assert counts_between(page(100, (70, 50)), page(100, (70, 50))) is None
    assert counts_between("no page", "no page") is None


def test_a_shape_becomes_a_model_folder(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"vocab_size": 30, "model_type": "llama"}')
    write_shapes(("s",), tmp_path, tmp_path / "models")
    folder = tmp_path / "models" / "s"
    assert json.loads((folder / "config.json").read_text())["model_type"] == "llama"
    assert len(json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]) == 30
    for text in ("{", "[]", "{}"):
        (tmp_path / "s.json").write_text(text)
        with pytest.raises(BenchError, match="shape s"):
            write_shapes(("s",), tmp_path, tmp_path / "models")


def test_a_manifest_grows_and_a_torn_one_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    for _ in range(2):
        manifest = Manifest(path)
        manifest.add_machine(machine("none", []))
        manifest.add_start({"engine": "e"})
    body = json.loads(path.read_text())
    assert (len(body["machines"]), len(body["starts"])) == (1, 2)
    assert body["machines"][0]["packages"]["specwatch"]
    path.write_text("{")
    Manifest(path).add_matrix("m", {"seed": 1})
    assert json.loads(path.read_text())["matrices"] == {"m": {"seed": 1}}
    assert (tmp_path / "manifest.json.torn").exists()


class NoAnswerError(Exception):
    pass


def nvml(*, broken: bool) -> SimpleNamespace:
    """As much of NVML as is asked."""

    def power(_: int) -> int:
        raise NoAnswerError

    def start() -> None:
        if broken:
            raise NoAnswerError

    return SimpleNamespace(
        NVMLError=NoAnswerError,
        NVML_CLOCK_SM=1,
        nvmlInit=start,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda _: b"GPU",
        nvmlDeviceGetUtilizationRates=lambda index: SimpleNamespace(gpu=50 + index),
        nvmlDeviceGetMemoryInfo=lambda _: SimpleNamespace(used=3 << 20),
        nvmlDeviceGetPowerUsage=power,
        nvmlDeviceGetClockInfo=lambda _, __: 1980,
    )


def test_gpus_are_read_by_nvml_and_what_it_does_not_tell_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml(broken=False))
    source, read = gpu_reader()
    assert source == "nvml"
    assert read is not None
    assert read() == [[0, "GPU", 50, 3, None, 1980], [1, "GPU", 51, 3, None, 1980]]


def test_gpus_are_read_by_nvidia_smi_where_nvml_does_not_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml(broken=True))
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho '0, NVIDIA H200, 97, 131000, [N/A], 1980'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    source, read = gpu_reader()
    assert source == "nvidia-smi"
    assert read is not None
    assert read() == [[0, "NVIDIA H200", 97.0, 131000.0, None, 1980.0]]
    assert len(read()[0]) == len(FIELDS)


def test_without_gpus_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setenv("PATH", "")
    source, read = gpu_reader()
    assert source.startswith("none: ")
    assert read is None
