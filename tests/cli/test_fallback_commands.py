"""`specwatch fallback` as a user meets it."""

from __future__ import annotations

import inspect
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner, Result

from alerts.loopback_site import serving
from specwatch_cli.detect_watch import watch_command
from specwatch_cli.errors import UserError
from specwatch_cli.fallback import app
from specwatch_cli.fallback_levers import _BUILDERS, levers
from specwatch_cli.fallback_run import DEFAULT_LISTEN
from specwatch_cli.fallback_status import status_command

MODEL = "llama"


def specwatch(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "160"})
    if isinstance(result.exception, UserError):
        raise result.exception
    return result


class Pages(BaseHTTPRequestHandler):
    """Pages of two sidecars: a draft that loses, and n-gram that gains; and a status of another version."""

    def do_GET(self) -> None:
        if self.path.startswith("/old"):
            self._answer(b'{"changes_when": [], "model": "m"}')
            return
        value = {"/draft": 0.8, "/ngram": 1.2}[self.path]
        bounds = (("lower", 0.99), ("estimate", 1.0), ("upper", 1.01))
        lines = [
            f'specwatch_payoff_speedup_ratio{{model="{MODEL}",batch="8",bound="{bound}"}} {value * factor}'
            for bound, factor in bounds
        ]
        self._answer(("\n".join(lines) + "\n").encode())

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "fallback.toml"
    with serving(Pages) as address:
        path.write_text(
            f'model = "{MODEL}"\naudit_log = "{tmp_path}/fallback.jsonl"\ninterval = "100ms"\n'
            f'[source.pages]\ndraft = "http://{address}/draft"\nngram = "http://{address}/ngram"\n'
            '[lever]\nkind = "none"\n'
        )
        yield path


def test_one_round_says_where_it_stands(config: Path) -> None:
    result = specwatch("run", "--config", config, "--once")
    assert result.exit_code == 0, result.output
    assert "the drafter, for 0 s" in result.output
    assert "too little traffic: 0 effective drafts of 30" in result.output
    assert "dry run: nothing is moved without --act" in result.output


def test_advice_cannot_act(config: Path) -> None:
    with pytest.raises(UserError, match="gives advice only") as error:
        specwatch("run", "--config", config, "--once", "--act")
    assert error.value.exit_code == 2


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_it_serves_obeys_and_stops(config: Path) -> None:
    """A real process: status over HTTP, a command through the file, a second controller kept out, a clean end."""
    port = free_port()
    command = [sys.executable, "-c", "from specwatch_cli.main import run; run()", "fallback"]
    running = [*command, "run", "--config", str(config), "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen(running, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "begun at" not in process.stderr.readline():
            assert process.poll() is None
        specwatch("unlatch", "--config", config)
        while "operator" not in process.stderr.readline():
            assert process.poll() is None
        second = subprocess.run(
            [*command, "run", "--config", str(config), "--once"], capture_output=True, text=True, check=False
        )
        status = specwatch("status", f"http://127.0.0.1:{port}")
        body = json.loads(specwatch("status", f"http://127.0.0.1:{port}/", "--format", "json").output)
        with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            metrics = answer.read().decode()
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait() == 0
    assert second.returncode == 1
    assert "another controller writes" in second.stderr
    assert "Traceback" not in second.stderr
    assert "the drafter" in status.output
    assert body["veto"] == "low_volume"
    assert 'specwatch_fallback_level{level="draft",model="llama"} 1.0' in metrics
    history = specwatch("history", "--config", config)
    assert "said unlatch: switching is allowed again" in history.output


def test_history_and_simulate_read_one_log(config: Path) -> None:
    for _ in range(3):
        specwatch("run", "--config", config, "--once")
    log = config.with_name("fallback.jsonl")
    text = specwatch("history", log)
    assert "the controller starts: begun at 100 % draft" in text.output
    assert "Movements: none." in text.output
    assert "too little traffic" not in text.output
    assert "too little traffic" in specwatch("history", log, "--all").output
    entries = [
        json.loads(line) for line in specwatch("history", log, "--all", "--format", "json").output.splitlines()
    ]
    assert [entry["kind"] for entry in entries] == ["start", "round", "round", "round"]
    assert len(specwatch("history", log, "--all", "--last", "2", "--format", "json").output.splitlines()) == 2
    assert "It would have stayed where it was" in specwatch("simulate", log, "--config", config).output
    assert json.loads(specwatch("simulate", log, "--format", "json").output)["switches"] == 0


def test_simulate_tells_what_a_fallback_would_have_been_worth(tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    with path.open("w") as file:
        for n in range(600):
            draft = 0.8 if 100 <= n < 400 else 1.8
            known = {"draft": [draft * 0.99, draft, draft * 1.01], "ngram": [1.19, 1.2, 1.21]}
            at = 1_800_000_000 + 30 * n
            line = {"now": at, "measured_at": at, "speedup": known, "effective_drafts": 500}
            file.write(json.dumps(line) + "\n")
    output = specwatch("simulate", path).output
    assert "switch to ngram" in output
    assert "switches: 2" in output
    assert "Regret avoided:" in output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--config", "nowhere.toml"], "nowhere.toml: No such file"),
        (["history"], "name the audit log, or --config"),
        (["history", "nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
        (["history", "x", "--format", "xml"], "text or json"),
        (["simulate", "nowhere.jsonl"], "No such file"),
        (["simulate", "x", "--format", "xml"], "text or json"),
        (["status", "--format", "xml"], "table or json"),
        (["status", "http://127.0.0.1:1"], "no controller answers"),
        (["unlatch", "--config", "nowhere.toml"], "No such file"),
        (["leave", "--config", "nowhere.toml"], "No such file"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        specwatch(*arguments)


def test_another_part_of_specwatch_is_no_controller(config: Path) -> None:
    url = config.read_text().split('draft = "', 1)[1].split('"', 1)[0]
    with pytest.raises(UserError, match="no controller answers"):
        specwatch("status", url.removesuffix("/draft") + "/nothing")


TABLES = {
    "pools": 'kind = "pools"\n',
    "selector": 'kind = "selector"\nnamespace = 3\n',
    "rollout": 'kind = "rollout"\nhealth = "x"\n',
    "local": 'kind = "local"\n',
    "webhook": 'kind = "webhook"\n',
    "leader": 'kind = "none"\n[leader]\nnamespace = 3\n',
}


@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_mistake_in_a_levers_table_names_the_table_once(config: Path, table: str) -> None:
    config.write_text(config.read_text().split("[lever]")[0] + "[lever]\n" + TABLES[table])
    with pytest.raises(UserError) as error:
        specwatch("run", "--config", config, "--once")
    assert str(error.value).count("[") == 1, error.value
    assert "\n" not in str(error.value)


def test_the_controller_and_the_fleet_watch_have_ports_of_their_own() -> None:
    watched = inspect.signature(watch_command).parameters["listen"].default
    assert watched != DEFAULT_LISTEN
    status = inspect.signature(status_command).parameters["url"].default
    assert status == f"http://127.0.0.1{DEFAULT_LISTEN}"
    docs = Path(__file__).resolve().parents[2] / "docs"
    assert f"`{DEFAULT_LISTEN}`" in (docs / "fallback.md").read_text()
    assert f"`{watched}`" in (docs / "fleet-watch.md").read_text()


def test_a_status_of_another_version_is_one_line(config: Path) -> None:
    url = config.read_text().split('draft = "', 1)[1].split('"', 1)[0]
    with pytest.raises(UserError, match="another version of specwatch: KeyError"):
        specwatch("status", url.removesuffix("/draft") + "/old")


def test_a_configuration_is_no_audit_log(config: Path) -> None:
    with pytest.raises(UserError, match="is it an audit log"):
        specwatch("history", config)


def test_a_kubernetes_lever_has_a_role_and_advice_has_none(config: Path) -> None:
    with pytest.raises(UserError, match="no Role is needed"):
        specwatch("role", "--config", config)
    table = '[lever]\nkind = "pools"\nnamespace = "llm"\nroute = "llama"\n'
    services = 'services = { draft = "a:8000", ngram = "b:8000", off = "c:8000" }\n'
    config.write_text(config.read_text().split("[lever]")[0] + table + services)
    output = specwatch("role", "--config", config).output
    assert "kind: Role" in output
    assert "httproutes" in output


def test_levers_that_are_named_exist() -> None:
    assert set(levers()) == set(_BUILDERS)
    folder = Path(__file__).resolve().parents[2] / "deploy"
    for module, _ in _BUILDERS.values():
        assert (folder / (module.replace(".", os.sep) + ".py")).is_file(), module
