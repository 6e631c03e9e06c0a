from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
import urllib.request
from urllib.parse import urlsplit

import pytest

from specwatch_exporters.replay.__main__ import main, parser, settings_from
from specwatch_exporters.replay.engine import ReplayEngine
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread

FAST = ReplaySettings(speed=2000.0, per_request=PerRequest.SUMMARY)


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as response:
        return str(response.read().decode())


def completed(url: str, tokens: int) -> dict[str, object]:
    body = json.dumps({"prompt": "a", "max_tokens": tokens, "ignore_eos": True}).encode()
    request = urllib.request.Request(url + "/v1/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return dict(json.loads(response.read()))


def test_a_thread_serves_changes_restarts_and_stops() -> None:
    before = threading.active_count()
    with ReplayThread(FAST) as replay:
        assert completed(replay.url, 20)["metrics"] is not None
        assert replay.configure(acceptance={"chat": (1.0, 1.0, 1.0)}) is False
        assert replay.state()["settings"]["acceptance"]["chat"] == [1.0, 1.0, 1.0]
        assert replay.configure(method="off") is True
        assert "spec_decode" not in fetched(replay.url + "/metrics")
        replay.restart()
        assert replay.state()["restarts"] == 2
        replay.fail(mode="html", target="metrics")
        assert "<html>" in fetched(replay.url + "/metrics")
        replay.fail(mode="none")
        address = urlsplit(replay.url)
    assert threading.active_count() == before
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection(str(address.hostname), address.port, timeout=5).request("GET", "/health")
    replay.stop()


def test_a_wrong_change_is_raised_where_it_was_asked_for() -> None:
    with ReplayThread(FAST) as replay:
        with pytest.raises(ValueError, match="method 'medusa' is unknown"):
            replay.configure(method="medusa")
        with pytest.raises(ValueError, match="mode must be one of"):
            replay.fail(mode="explode")
        assert replay.state()["restarts"] == 0


def test_a_taken_port_is_an_error_of_the_starter() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            ReplayThread(FAST, port=taken.getsockname()[1]).start()


def test_before_the_start_there_is_no_engine() -> None:
    with pytest.raises(RuntimeError, match="not been started"):
        _ = ReplayThread(FAST).url
    with pytest.raises(RuntimeError, match="not been started"):
        _ = ReplayEngine(FAST).core


def test_flags_become_settings() -> None:
    flags = (
        "--profile qwen3-coder-30b --method eagle3 --slots 5 --speed 3 --num-speculative-tokens 2 --model m"
        " --seed 9 --max-model-len 512 --per-request-spec-decode-metrics detailed --enable-per-request-metrics"
    )
    assert settings_from(parser().parse_args(flags.split())) == ReplaySettings(
        profile="qwen3-coder-30b",
        method="eagle3",
        slots=5,
        speed=3.0,
        num_speculative_tokens=2,
        model="m",
        seed=9,
        max_model_len=512,
        per_request=PerRequest.DETAILED,
        timings=True,
    )


def test_wrong_usage_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--profile", "qwen3-coder-30b", "--method", "ngram"]) == 2
    assert capsys.readouterr().err == "replay: method 'ngram' is unknown; known: off, eagle3\n"


@pytest.mark.parametrize("port", ["70000", "-1", "http"])
def test_a_port_that_is_none_is_wrong_usage(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--port", port])
    assert ended.value.code == 2
    assert f"argument --port: no port from 0 to 65535: '{port}'" in capsys.readouterr().err


def test_the_command_runs_until_it_is_terminated_and_leaves_nothing() -> None:
    command = [sys.executable, "-m", "specwatch_exporters.replay", "--port", "0", "--speed", "100"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        url = line.rsplit(" ", 1)[-1].strip()
        assert completed(url, 5)["object"] == "text_completion"
        assert main(["--port", str(urlsplit(url).port)]) == 1
        process.terminate()
        assert process.wait(20) == 0
        assert process.stderr.read() == ""
