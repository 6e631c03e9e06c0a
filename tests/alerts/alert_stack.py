"""A real Prometheus with a real Alertmanager behind it, switches that make alerts fire, and who is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import yaml

from alerts.loopback_site import serving
from engine.child_process import running
from engine.engine_process import free_port, http_status
from specwatch_alerts.alertmanager_config import alertmanager_yaml
from specwatch_alerts.origin import Origin
from specwatch_alerts.routing import Pace, Receivers, Routing
from specwatch_alerts.rule_build import build
from specwatch_alerts.values import load_values
from tools.tool_paths import BIN_FOLDER, find_tool, is_program

DEADLINE_S = 60.0
# The newer one is welcome, not required: the end of the test run says when it is missing.
ALERTMANAGERS = ("alertmanager", *(("alertmanager-new",) if is_program(BIN_FOLDER / "alertmanager-new") else ()))
PACE = Pace(wait="2s", interval="1s", page_repeat="1h", ticket_repeat="1h")
_DEBIAN = b"/usr/share/prometheus/alertmanager"
_HERE = b"./" * 12 + b"templates/"
_SCOPE = ("namespace", "model", "pod", "instance")

Scope = tuple[str, str, str, str]
"""Namespace, model, pod and instance of an alert; empty where it has none."""


@dataclass(frozen=True)
class Told:
    """One alert in one message.

    Attributes:
        receiver: last part of the webhook's path: `slack` or `pager`.
        status: `firing` or `resolved`.
        alert: its name.
        severity: its severity.
        scope: of the alert.
    """

    receiver: str
    status: str
    alert: str
    severity: str
    scope: Scope


@dataclass
class Notebook:
    """Writes down who is told what, in order; and serves the switches."""

    messages: list[list[Told]] = field(default_factory=list)
    switches: dict[tuple[str, str, Scope], int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, receiver: str, body: Mapping[str, Any]) -> None:
        told = [
            Told(
                receiver,
                one["status"],
                one["labels"]["alertname"],
                one["labels"]["severity"],
                _scope(one["labels"]),
            )
            for one in body["alerts"]
        ]
        with self.lock:
            self.messages.append(told)

    def page(self) -> str:
        with self.lock:
            rows = list(self.switches.items())
        lines = []
        for (alert, severity, scope), on in rows:
            labels = {"alert": alert, "severity": severity, **dict(zip(_SCOPE, scope, strict=True))}
            text = ",".join(f'{name}="{value}"' for name, value in labels.items())
            lines.append(f"alert_switch{{{text}}} {on}")
        return "\n".join([*lines, ""])


@dataclass
class AlertStack:
    """The running stack.

    Attributes:
        notebook: who was told.
        url: of Alertmanager.
    """

    notebook: Notebook
    url: str = ""

    def fire(self, alert: str, severity: str, scope: Scope, *, on: bool = True) -> None:
        with self.notebook.lock:
            self.notebook.switches[alert, severity, scope] = int(on)

    def told(self) -> list[Told]:
        with self.notebook.lock:
            return [one for message in self.notebook.messages for one in message]

    def until(self, happened: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + DEADLINE_S
        while not happened():
            assert time.monotonic() < end, f"{what}; told: {self.told()}"
            time.sleep(0.05)


def _scope(labels: Mapping[str, str]) -> Scope:
    namespace, model, pod, instance = (labels.get(name, "") for name in _SCOPE)
    return namespace, model, pod, instance


def switch_rules() -> str:
    """The rules that are shipped, each with a switch for its expression and without its waiting."""
    groups = build(load_values(), Origin.SIDECAR)["groups"]
    rules = {}
    for rule in (one for group in groups for one in group["rules"] if "alert" in one):
        severity = rule["labels"]["severity"]
        choice = f'alert_switch{{alert="{rule["alert"]}",severity="{severity}"}} == 1'
        expression = f"sum by ({', '.join(_SCOPE)}) ({choice})"
        labels, annotations = rule["labels"], {"summary": rule["annotations"]["summary"]}
        rules[rule["alert"], severity] = {
            "alert": rule["alert"],
            "expr": expression,
            "labels": labels,
            "annotations": annotations,
        }
    known = rules["SpecwatchErrorBurn", "page"]  # and once with a severity that no values file knows
    expression = known["expr"].replace('severity="page"', 'severity="sev1"')
    other = {**known, "expr": expression, "labels": {**known["labels"], "severity": "sev1"}}
    rules["SpecwatchErrorBurn", "sev1"] = other
    return yaml.safe_dump({"groups": [{"name": "switches", "interval": "500ms", "rules": list(rules.values())}]})


@contextmanager
def _served(notebook: Notebook) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = notebook.page().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):  # Prometheus ends in the middle of a scrape
                self.wfile.write(body)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            notebook.take(self.path.strip("/"), body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with serving(Handler) as address:
        yield address


def alertmanager_program(folder: Path, name: str = "alertmanager") -> Path:
    """Alertmanager, able to start.

    Debian's build has the folder of its templates compiled in. Where that is missing, because the package was only
    unpacked, a copy looks in the current folder instead: another path of the same length.
    """
    program = find_tool(name).resolve()
    content = program.read_bytes()
    if _DEBIAN not in content or Path(_DEBIAN.decode()).is_dir():
        return program
    (folder / "templates").symlink_to(program.parents[1] / "share" / "prometheus" / "alertmanager")
    copy = folder / "alertmanager"
    copy.write_bytes(content.replace(_DEBIAN, _HERE))
    copy.chmod(0o755)
    return copy


@contextmanager
def alert_stack(folder: Path, alertmanager: str = "alertmanager") -> Iterator[AlertStack]:
    """Run everything with its data in `folder` until the block ends."""
    notebook = Notebook()
    with ExitStack() as stack:
        hooks = stack.enter_context(_served(notebook))
        manager, prometheus = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        receivers = Receivers(f"http://{hooks}/slack", pager_url=f"http://{hooks}/pager")
        (folder / "alertmanager.yml").write_text(alertmanager_yaml(Routing(receivers, pace=PACE)))
        command = ["env", "-C", str(folder), str(alertmanager_program(folder, alertmanager))]
        command += ["--config.file=alertmanager.yml", "--storage.path=am-data", "--cluster.listen-address="]
        command += [f"--web.listen-address={manager}", "--log.level=warn"]
        ready = lambda: http_status(f"http://{manager}/-/ready") == 200  # noqa: E731
        stack.enter_context(running(command, folder / "alertmanager.log", ready))
        (folder / "rules.yml").write_text(switch_rules())
        timing = {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"}
        configuration = {
            "global": timing,
            "rule_files": [str(folder / "rules.yml")],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [manager]}]}]},
            "scrape_configs": [{"job_name": "s", "honor_labels": True, "static_configs": [{"targets": [hooks]}]}],
        }
        (folder / "prometheus.yml").write_text(json.dumps(configuration))
        server = [str(find_tool("prometheus")), f"--config.file={folder / 'prometheus.yml'}", "--log.level=warn"]
        server += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={prometheus}"]
        server += ["--rules.alert.resend-delay=1s"]
        up = lambda: http_status(f"http://{prometheus}/-/ready") == 200  # noqa: E731
        stack.enter_context(running(server, folder / "prometheus.log", up))
        yield AlertStack(notebook, f"http://{manager}")
