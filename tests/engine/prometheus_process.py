"""Run a real Prometheus that scrapes local targets every second, and ask it questions."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from engine.child_process import running
from engine.engine_process import free_port, http_status
from tools.tool_paths import find_tool


class Prometheus:
    """A running Prometheus."""

    def __init__(self, url: str) -> None:
        self.url = url

    def query(self, expression: str) -> dict[tuple[tuple[str, str], ...], float]:
        """Return the instant vector of an expression: sorted label pairs without the name, and the value."""
        arguments = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{arguments}", timeout=10) as response:
            answer = json.load(response)
        assert answer["status"] == "success", answer
        return {_identity(series["metric"]): float(series["value"][1]) for series in answer["data"]["result"]}

    def value(self, expression: str) -> float | None:
        """Return the only value of an expression, or None when it has no result."""
        found = list(self.query(expression).values())
        assert len(found) <= 1, f"{expression} has {len(found)} results"
        return found[0] if found else None


def _identity(metric: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in metric.items() if name != "__name__"))


def _configuration(targets: Mapping[str, str]) -> str:
    """Return the configuration as JSON, which is YAML too; ``targets`` maps a job to host:port."""
    jobs = [{"job_name": job, "static_configs": [{"targets": [target]}]} for job, target in targets.items()]
    timing = {"scrape_interval": "1s", "scrape_timeout": "1s"}
    return json.dumps({"global": timing, "scrape_configs": jobs})


@contextmanager
def prometheus_scraping(targets: Mapping[str, str], folder: Path) -> Iterator[Prometheus]:
    """Run Prometheus with its data in ``folder`` until the block ends."""
    configuration = folder / "prometheus.yml"
    configuration.write_text(_configuration(targets))
    address = f"127.0.0.1:{free_port()}"
    command = [
        str(find_tool("prometheus")),
        f"--config.file={configuration}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    prometheus = Prometheus(f"http://{address}")
    with running(command, folder / "prometheus.log", lambda: http_status(f"{prometheus.url}/-/ready") == 200):
        yield prometheus
