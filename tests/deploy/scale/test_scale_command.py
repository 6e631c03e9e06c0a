from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from specwatch_cli.errors import UserError
from specwatch_cli.scale import app

BUILD = ("build", "vllm-m", "--namespace", "llm", "--model", "org/m", "--slots", "32")


def specwatch(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def refused(*arguments: str | Path) -> str:
    result = specwatch(*arguments)
    assert isinstance(result.exception, UserError)
    message = str(result.exception)
    assert "\n" not in message
    return message


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "recorded.csv"
    rows = "".join(f"{second},256,{200 + second % 7}\n" for second in range(1000))
    path.write_text(f"TIMESTAMP,ContextTokens,GeneratedTokens\n{rows}")
    return path


def test_what_is_printed_can_be_applied() -> None:
    result = specwatch(*BUILD)
    assert result.exit_code == 0, result.output
    kinds = [item["kind"] for item in yaml.safe_load_all(result.output)]
    assert kinds == ["PrometheusRule", "ScaledObject"]


def test_files_are_written_for_the_adapter(tmp_path: Path) -> None:
    result = specwatch(*BUILD, "--scaler", "adapter", "--out", tmp_path, "--source", "vllm")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hpa.yaml",
        "prometheus-adapter-values.yaml",
        "prometheusrule.yaml",
    ]


@pytest.mark.parametrize("scalers", [("keda", "adapter"), ("adapter", "keda")])
def test_a_folder_never_holds_both_scalers(tmp_path: Path, scalers: tuple[str, str]) -> None:
    first, second = scalers
    for _ in range(2):
        assert specwatch(*BUILD, "--scaler", first, "--out", tmp_path).exit_code == 0
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert "is of the other scaler" in refused(*BUILD, "--scaler", second, "--out", tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_the_command_line_starts_without_yaml() -> None:
    """Sidecars have the same command."""
    code = "import sys; import specwatch_cli.scale, specwatch_cli.inject; print('yaml' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--slots", "0"), "slots must be"),
        (("--min", "0"), "cannot be stopped"),
        (("--start-up", "3"), "has no unit"),
        (("--start-up", "1500ms"), "whole seconds"),
        (("--scaler", "adapter"), "give --out FOLDER"),
        (("--out", "/nowhere/at/all"), "no such folder"),
        (("--rule-label", "release"), "is not KEY=VALUE"),
        (("--prometheus", "localhost"), "http:// or https://"),
        (("--namespace", "LLM"), "no Kubernetes name"),
    ],
)
def test_wrong_input_to_build_is_one_line(more: tuple[str, ...], message: str) -> None:
    assert message in refused(*BUILD, *more)


def test_a_recorded_trace_is_simulated_told_and_drawn(trace: Path, tmp_path: Path) -> None:
    picture = tmp_path / "scale.png"
    result = specwatch("simulate", "--trace", trace, "--slots", "4", "--picture", picture)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "Simulated: recorded.csv, 1000 recorded arrivals" in said
    for name in ("specwatch", "waiting 5 a pod", "llm-d SLO law", "keda-kaito", "utilisation", "in flight 90%"):
        assert name in result.output
    assert "times the cheapest plan" in said or "No plan" in said
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_says_that_it_is_simulated(trace: Path) -> None:
    result = specwatch("simulate", "--trace", trace, "--slots", "4", "--format", "json")
    body = json.loads(result.output)
    assert body["simulated"] is True
    assert body["ours"]["name"] == "specwatch"
    assert len(body["peers"]) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "no trace 'nothing'; one of: step x3"),
        (("--format", "yaml"), "text or json"),
        (("--min", "5", "--max", "4"), "--min <= --max"),
        (("--slots", "0"), "--slots must be"),
        (("--slots", "1000"), "too far from the batch sizes"),
        (("--profile", "nothing"), "give a file or one of"),
        (("--method", "medusa"), "no step times for medusa"),
        (("--start-up", "0s"), "more than nothing"),
        (("--target-use", "2"), "target use"),
    ],
)
def test_wrong_input_to_simulate_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused("simulate", *arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column of times"),
        ("a,b\n1,2\n", "no column of times"),
        ("seconds\n", "no request in it"),
        ("seconds\n1\nsoon\n", "line 3: 'soon' is no time"),
        ("seconds\nnan\n", "line 2: 'nan' is no time"),
        ("seconds,output_tokens\n1,-4\n", "line 2: '-4' is no number of tokens"),
        ("seconds\n0\n100\n", "it lasts 100 s"),
        ("seconds\n0\n1000000\n", "to 48 h"),
        ("\x00\n", "no column of times"),
        ("seconds\n0\n1000000\n", "give a part of it"),
        ('{"timestamp": 0, "input_length": 1}\n', "line 1: output_length is null"),
        ('{"timestamp": 0, "input_length": 1, "output_length": 1}\n{"timest', "line 2: it is no JSON"),
        ('{"timestamp": "soon", "input_length": 1, "output_length": 1}\n', 'timestamp is "soon"'),
        ('{"timestamp": NaN, "input_length": 1, "output_length": 1}\n', "timestamp is NaN"),
        ('{"timestamp": 0, "input_length": -1, "output_length": 1}\n', "input_length is -1"),
        ('{"timestamp": 0, "input_length": 1, "output_length": 1}\n[1]\n', "line 2: it is no object"),
    ],
)
def test_a_file_that_is_no_trace_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    assert message in refused("simulate", "--trace", path)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    assert "No such file" in refused("simulate", "--trace", tmp_path / "none.csv")
