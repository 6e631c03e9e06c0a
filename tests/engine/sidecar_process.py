"""Run the scrape sidecar as its users do: the command, beside a real engine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.child_process import running
from engine.engine_process import free_port, http_status
from engine.metric_page import MetricPage, fetch_page

SPECWATCH = str(Path(sys.executable).parent / "specwatch")


class Sidecar:
    """A running ``specwatch exporter run``."""

    def __init__(self, url: str) -> None:
        self.url = url

    def page(self) -> MetricPage:
        """Return its metrics page as it is now."""
        return fetch_page(f"{self.url}/metrics")

    def scrape_succeeded(self) -> bool:
        """Tell whether its last scrape of the engine was good."""
        return self.page().total("specwatch_scrape_success") == 1

    def restarts(self) -> int:
        """Return how many engine restarts it has seen."""
        return int(self.page().total("specwatch_engine_restarts_total"))

    def failures(self, cause: str) -> float:
        """Return how many scrapes failed for that cause."""
        return self.page().total("specwatch_scrapes_total", outcome=cause)


@contextmanager
def sidecar_beside(engine_url: str, log: Path) -> Iterator[Sidecar]:
    """Run the sidecar with an interval of one second until the block ends."""
    port = free_port()
    sidecar = Sidecar(f"http://127.0.0.1:{port}")
    command = [SPECWATCH, "exporter", "run", "--engine", engine_url]
    command += ["--listen", f"127.0.0.1:{port}", "--interval", "1s"]
    with running(command, log, lambda: http_status(f"{sidecar.url}/readyz") == 200):
        yield sidecar


def inspect_json(source: str, *options: str) -> dict[str, Any]:
    """Return the object that ``specwatch inspect SOURCE --json`` prints; raises AssertionError if it fails."""
    done = subprocess.run(
        [SPECWATCH, "inspect", source, "--json", *options], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report
