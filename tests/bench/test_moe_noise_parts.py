"""The experiment on routing noise: models, matrix, and the table from its cells; the engine runs elsewhere."""

from __future__ import annotations

import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from specwatch_bench.bench_error import BenchError
from specwatch_bench.cell_file import write_cell
from specwatch_bench.matrix_file import matrix_from
from specwatch_bench.moe.moe_shape import SHAPES
from specwatch_bench.moe.noise_matrix import NoisePlan, matrix_body
from specwatch_bench.moe.noise_models import target_name
from specwatch_bench.moe.noise_plugin import write_plugin
from specwatch_bench.moe.noise_run import main, with_levels, with_plugin
from specwatch_bench.moe.noise_table import noise_rows, table_lines
from specwatch_bench.student_mean import mean_of
from specwatch_cli.bench import app
from specwatch_cli.errors import UserError

ROOT = Path(__file__).parents[2]
PLAN = NoisePlan(shape=SHAPES["small"], levels=(0.0, 0.5), repeats=3)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_tensors_fit_the_configuration(name: str) -> None:
    shape = SHAPES[name]
    tensors = {tensor: sizes for tensor, sizes, _ in shape.tensors()}
    config = shape.config("X")
    experts = [tensor for tensor in tensors if ".experts." in tensor]
    assert len(experts) == 3 * config["num_experts"] * config["num_hidden_layers"]
    assert tensors["model.layers.0.mlp.gate.weight"] == (config["num_experts"], config["hidden_size"])
    assert config["num_experts_per_tok"] < config["num_experts"]
    assert len(tensors) == len(list(shape.tensors()))


def test_the_matrix_is_one_that_runs() -> None:
    matrix = matrix_from(matrix_body(PLAN), "moe")
    assert [engine.name for engine in matrix.engines] == ["noise-0", "noise-0.5"]
    assert [level.repeat for level in matrix.levels] == [1, 2, 3]
    assert all(engine.body == {"temperature": 0.0} for engine in matrix.engines)
    drafts = [engine.speculative for engine in matrix.engines]
    assert drafts[0] == drafts[1]  # the draft stays the same
    assert matrix.engines[0].acceptance is None  # measured, not set


def test_the_plugin_is_found_by_its_folder_alone(tmp_path: Path) -> None:
    folder = write_plugin(tmp_path / "plugin")
    assert write_plugin(tmp_path / "plugin") == folder
    (found,) = importlib.metadata.distributions(path=[str(folder)])
    (entry,) = found.entry_points
    assert (entry.group, entry.value) == ("vllm.general_plugins", "specwatch_router_noise:register")
    assert (folder / "specwatch_router_noise.py").is_file()


HEAD: dict[str, Any] = {
    "kind": "cell",
    "format": 1,
    "engine": {"speculative": {"num_speculative_tokens": 2}, "body": {"temperature": 0.0}},
    "level": {"concurrency": 8},
}


def cell(folder: Path, level: float, repeat: int, positions: list[float], **end: Any) -> None:
    name = target_name(level)
    tail = {
        "kind": "end",
        "outcome": "ok",
        "drafts": 100.0,
        "acceptance_length": 1.0 + sum(positions),
        "per_position": positions,
    }
    write_cell(
        folder / "cells" / f"{name}--random--c8-{repeat}--0.jsonl.gz",
        [{**HEAD, "target": end.pop("target", "t"), "engine": {**HEAD["engine"], "name": name}}, tail | end],
    )


def test_rows_are_over_repetitions(tmp_path: Path) -> None:
    for repeat, first in enumerate((0.4, 0.5, 0.6)):
        cell(tmp_path, 0.5, repeat, [first, first / 2])
    cell(tmp_path, 0.0, 0, [1.0, 1.0])
    cell(tmp_path, 0.0, 1, [0.0], outcome="engine_failed")
    cell(tmp_path, 2.0, 0, [0.0], drafts=None)
    quiet, noisy = noise_rows(tmp_path)
    assert (quiet.level, quiet.repeats, quiet.length.value, quiet.length.half) == (0.0, 1, 3.0, None)
    assert (noisy.level, noisy.repeats, noisy.drafts) == (0.5, 3, 300)
    assert noisy.positions[0].value == pytest.approx(0.5)
    assert noisy.positions[0].half == pytest.approx(4.303 * 0.1 / 3**0.5, rel=1e-3)
    assert table_lines([quiet, noisy])[2:] == [
        "| 0 | 3.000 | 1.000 | 1.000 | 100 | 1 |",
        "| 0.5 | 1.750 ± 0.373 | 0.500 ± 0.248 | 0.250 ± 0.124 | 300 | 3 |",
    ]


def test_cells_of_two_experiments_are_not_one_row(tmp_path: Path) -> None:
    cell(tmp_path, 0.5, 0, [0.4, 0.2])
    cell(tmp_path, 0.5, 1, [0.6, 0.3], target="u")
    with pytest.raises(BenchError, match=r"holds t at K = 2, batch 8, temperature 0 and u at .*own \(--out\)"):
        noise_rows(tmp_path)


def test_the_python_path_keeps_what_it_had() -> None:
    assert with_plugin({"A": "b"}, Path("plugin")) == {"A": "b", "PYTHONPATH": "plugin"}
    assert with_plugin({"PYTHONPATH": "vllm"}, Path("plugin"))["PYTHONPATH"].split(os.pathsep) == ["plugin", "vllm"]


def test_the_module_runs_with_what_an_engines_interpreter_has(tmp_path: Path) -> None:
    """A bare GPU machine has no typer and no installed command: the module reaches the making of weights."""
    places = os.pathsep.join(str(ROOT / folder) for folder in ("bench", "exporters"))
    hidden = (
        "import sys; sys.modules['typer'] = None; from specwatch_bench.moe.noise_run import main; sys.exit(main())"
    )
    words = ["--out", str(tmp_path), "--levels", "0", "--shape", "small", "--python", "/bin/false"]
    done = subprocess.run(
        [sys.executable, "-c", hidden, *words],
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "bench: /bin/false cannot make random weights (it needs torch and safetensors): no message\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--levels", "0,x"], "--levels: '0,x'"), (["--vllm-arguments", "--a 'b"], "--vllm-arguments: No closing")],
)
def test_the_module_refuses_in_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"bench: {message}")


def test_nothing_measured(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no measured cell"):
        noise_rows(tmp_path)


@given(st.lists(st.floats(0.0, 8.0), min_size=2, max_size=30))
def test_the_interval_holds_the_mean(values: list[float]) -> None:
    mean = mean_of(values)
    assert mean.value == pytest.approx(statistics.fmean(values))
    assert mean.half is not None
    normal = 1.96 * statistics.stdev(values) / len(values) ** 0.5
    assert mean.half >= normal * 0.999  # Student's is never narrower


@pytest.mark.parametrize("text", ["", "a", "0,-1", "nan", "0,,1"])
def test_levels_that_are_none(text: str) -> None:
    with pytest.raises(BenchError, match=r"--levels: .* is no list of numbers of 0 or more"):
        with_levels(PLAN, text)


def test_levels_are_sorted_once() -> None:
    assert with_levels(PLAN, "1,0,0.5,1").levels == (0.0, 0.5, 1.0)


def test_an_interpreter_without_torch_is_one_line(tmp_path: Path) -> None:
    for given_, words in (("/nowhere/python", "cannot be run"), ("/bin/false", "cannot make random weights")):
        done = CliRunner().invoke(app, ["moe-noise", "--out", str(tmp_path), "--levels", "0", "--python", given_])
        assert isinstance(done.exception, UserError)
        assert words in str(done.exception)
    assert json.loads((tmp_path / "models" / "small-1.json").read_text())


@pytest.mark.parametrize("name", ["moe-noise-cpu", "moe-noise-h200"])
def test_the_published_tables_come_from_the_records(name: str) -> None:
    """The page holds what the command prints."""
    done = CliRunner().invoke(app, ["moe-noise", "--out", str(ROOT / "bench" / name), "--no-run"])
    assert done.exit_code == 0, done.output
    assert done.output.strip() in (ROOT / "docs" / "bench-moe-noise.md").read_text()
