"""Routing noise on a real vLLM: a quiet target accepts every token of its copy, a noisy one loses them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from engine.engine_process import CPU_ENVIRONMENT, vllm_python
from engine.setup_vllm import DEFAULT_FOLDER, library_path
from specwatch_bench.moe.moe_shape import SHAPES
from specwatch_bench.moe.noise_matrix import NoisePlan
from specwatch_bench.moe.noise_run import run_noise
from specwatch_bench.moe.noise_table import table_lines

pytestmark = [pytest.mark.engine_long, pytest.mark.timeout(600)]


def test_acceptance_falls_with_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {**CPU_ENVIRONMENT, "LD_LIBRARY_PATH": library_path(DEFAULT_FOLDER)}.items():
        monkeypatch.setenv(name, value)
    assert os.environ["VLLM_TARGET_DEVICE"] == "cpu"
    plan = NoisePlan(shape=SHAPES["small"], levels=(0.0, 0.1, 0.5), repeats=3, seconds=4.0)
    quiet, some, much = rows = run_noise(plan, tmp_path, str(vllm_python()))
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(table_lines(rows)) + "\n")
    assert quiet.length.value == 4.0  # K = 3 and the bonus token: the draft is the target
    for less, more in ((quiet, some), (some, much)):
        assert less.drafts > 100
        for before, after in zip(less.positions, more.positions, strict=True):
            assert before.half is not None
            assert after.half is not None
            assert before.value - before.half > after.value + after.half
    for row in rows:
        values = [mean.value for mean in row.positions]
        assert values == sorted(values, reverse=True)
