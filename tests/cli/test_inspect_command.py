from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
PAGE = TESTS / "captures/vllm-0.25.1-h200/l70-eagle3.prom"
KEYS = {
    "model",
    "state",
    "engines",
    "drafts",
    "draft_tokens",
    "accepted_tokens",
    "acceptance_rate",
    "mean_acceptance_length",
    "per_position",
    "conditional",
    "running",
    "waiting",
    "kv_cache_usage",
    "definition",
}


def specwatch(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [Path(sys.executable).with_name("specwatch"), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=False)


def test_json_has_every_documented_key() -> None:
    done = specwatch("inspect", PAGE, "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert {"engine", "models", "warnings", "resets"} <= set(report)
    assert set(report["models"][0]) >= KEYS


def test_the_table_says_unknown_and_names_the_state() -> None:
    text = specwatch("inspect", PAGE).stdout.decode()
    for words in ("llama-3.3-70b-shape", "active", "56.0%", "2.679", "queue wait", "at most 300.0 ms"):
        assert words in text
    off = specwatch("inspect", TESTS / "captures/vllm-0.25.1-h200/l70-off.prom").stdout.decode()
    assert "off" in off
    assert "acceptance rate         unknown" in off


def test_a_benchmarks_times_stand_beside_what_they_are_per_token() -> None:
    done = specwatch("inspect", TESTS / "cases/56-vllm-bench-peak-below-mean/bench.txt")
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    assert ["run", "1", "2,541.04", "131.29", "11.46", "16.86", "2.07", "11.88"] in rows
    assert ["c", "=", "32", "2,541.05", "1,472.66", "21.36", "104.34"] in rows


def test_a_gzipped_page_from_standard_input() -> None:
    done = specwatch("inspect", "-", "--json", stdin=gzip.compress(PAGE.read_bytes()))
    assert json.loads(done.stdout)["models"][0]["drafts"] == 9543


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["inspect", "/nowhere/page.txt"], 1, "No such file"),
        (["inspect", TESTS], 1, "directory"),
        (["inspect", "http://127.0.0.1:1/metrics"], 1, "127.0.0.1:1"),
        (["inspect", TESTS / "cases/12-only-python-gc/metrics.txt"], 1, "No vLLM, SGLang or TensorRT-LLM series"),
        (["inspect", PAGE, "--engine", "vlm"], 2, "use one of"),
        (["inspect"], 2, "SOURCE"),
        (["inspect", PAGE, "--nonsense"], 2, "nonsense"),
        (["exporter", "run"], 2, "--engine"),
        (["exporter", "run", "--engine", "127.0.0.1:1", "--interval", "fast"], 2, "--interval"),
    ],
)
def test_mistakes_are_one_line_and_an_exit_status(arguments: list[str | Path], code: int, words: str) -> None:
    done = specwatch(*arguments)
    message = done.stderr.decode()
    assert done.returncode == code
    assert words in message
    assert "Traceback" not in message


def test_no_engine_still_gives_json() -> None:
    done = specwatch("inspect", TESTS / "cases/12-only-python-gc/metrics.txt", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["engine"] is None


def test_unreadable_input_prints_nothing_on_standard_output() -> None:
    done = specwatch("inspect", "-", stdin=b"<html></html>")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().count("\n") == 1


def test_version_and_help() -> None:
    assert specwatch("--version").stdout.decode().startswith("specwatch 0.")
    for command in (["--help"], ["inspect", "--help"], ["exporter", "run", "--help"], ["demo", "--help"]):
        assert specwatch(*command).returncode == 0


def test_help_keeps_brackets() -> None:
    assert "pip install '.[detect]'" in specwatch("classes", "train", "--help").stdout.decode()
