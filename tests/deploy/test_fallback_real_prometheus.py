"""`specwatch fallback run --act` with a real Prometheus and request sidecar, and health out of real series."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client import generate_latest
from prometheus_client.core import CollectorRegistry, CounterMetricFamily, GaugeMetricFamily, Metric

from dashboards.metrics_site import serving_metrics
from engine.child_process import running
from engine.engine_process import free_port, http_status
from exporters.proxy.pool_rig import chat_answer, pools, shares
from exporters.proxy.proxy_rig import CHAT, ask, request
from exporters.raw_server import raw_server
from specwatch_deploy.actuators.health_change import HealthLimits
from specwatch_deploy.actuators.moved_health import MovedHealth
from specwatch_deploy.actuators.series_figures import ROWS, SeriesFigures
from specwatch_detectors.fallback.audit_log import read_log
from specwatch_detectors.fallback.audit_words import story
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.payoff.payoff import LEAST_EFFECTIVE
from specwatch_detectors.watch.prometheus_address import PrometheusAddress
from specwatch_detectors.watch.prometheus_source import PrometheusSource
from specwatch_exporters import catalog, payoff_catalog
from specwatch_exporters.metric import Metric as Row
from specwatch_exporters.proxy.run import RequestSidecar
from tools.tool_paths import find_tool

MODEL = "m"
DEADLINE_S = 60.0
ASKED = json.dumps({"model": MODEL, "messages": []}).encode()


def until(happened: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not happened():
        assert time.monotonic() < end, what
        time.sleep(0.1)


class Pod:
    """A scrape sidecar's page: rows of the catalogue, a few drafts more at each look.

    Attributes:
        speedup: of its level.
        version: of its engine.
    """

    def __init__(self, speedup: float) -> None:
        self.speedup = speedup
        self.version = "0.32.0"
        self.drafts = 0
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def collect(self) -> Iterator[Metric]:
        self.drafts += 4000
        speedup = _gauge(payoff_catalog.SPEEDUP)
        for bound, factor in (("lower", 0.99), ("estimate", 1.0), ("upper", 1.01)):
            speedup.add_metric([MODEL, "8", bound], self.speedup * factor)
        yield speedup
        drafts = CounterMetricFamily(catalog.DRAFTS.family, catalog.DRAFTS.help, labels=catalog.DRAFTS.labels)
        drafts.add_metric([MODEL, "0", "vllm-v1-counters"], self.drafts)
        yield drafts
        for row, labels, value in (
            (catalog.RUNNING, [MODEL, "0"], 8.0),
            (catalog.STATE, [MODEL, "active"], 1.0),
            (catalog.ENGINE_INFO, ["vllm", "v1", self.version], 1.0),
        ):
            family = _gauge(row)
            family.add_metric(labels, value)
            yield family

    def page(self) -> bytes:
        return generate_latest(self._registry)


def _gauge(row: Row) -> GaugeMetricFamily:
    return GaugeMetricFamily(row.name, row.help, labels=row.labels)


def served(pod: Pod) -> AbstractContextManager[str]:
    """Serve a page; gives host:port."""
    return serving_metrics(lambda: pod.page().decode())


class Prometheus:
    """One that can be stopped and started again over the same data, at the same address."""

    def __init__(self, folder: Path, targets: dict[str, str]) -> None:
        self._folder = folder
        self._port = free_port()
        self._stack = ExitStack()
        jobs = [{"job_name": job, "static_configs": [{"targets": [target]}]} for job, target in targets.items()]
        timing = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        (folder / "prometheus.yml").write_text(json.dumps({"global": timing, "scrape_configs": jobs}))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        command = [
            str(find_tool("prometheus")),
            f"--config.file={self._folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self._folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
            "--log.level=warn",
        ]
        ready = lambda: http_status(f"{self.url}/-/ready") == 200  # noqa: E731 - as `running` wants it
        self._stack.enter_context(running(command, self._folder / "prometheus.log", ready))

    def stop(self) -> None:
        self._stack.close()


@contextmanager
def prometheus(folder: Path, targets: dict[str, str]) -> Iterator[Prometheus]:
    own = Prometheus(folder, targets)
    own.start()
    try:
        yield own
    finally:
        own.stop()


CONFIG = """
model = "{model}"
levels = ["draft", "ngram"]
audit_log = "{folder}/fallback.jsonl"
interval = "300ms"
[source]
prometheus = "{prometheus}"
timeout = "2s"
[source.levels]
draft = {{ job = "draft" }}
ngram = {{ job = "ngram" }}
[policy]
dwell_s = 1
switch_cost_s = 0.2
probe_first_s = 3
probe_most_s = 3
stale_after_s = 8
[steps]
watch_s = 4
watch_most_s = 8
[lever]
kind = "local"
url = "http://127.0.0.1:{admin}"
token_file = "{folder}/token"
health_requests = 5
health_p99_ratio = 1000
"""


class ControllerProcess:
    """`specwatch fallback run --act`, and what it says of itself."""

    def __init__(self, config: Path) -> None:
        self._port = free_port()
        command = [sys.executable, "-c", "from specwatch_cli.main import run; run()", "fallback", "run", "--act"]
        command += ["--config", str(config), "--listen", f"127.0.0.1:{self._port}"]
        self._log = config.with_suffix(".log").open("w")
        self.process = subprocess.Popen(command, stderr=self._log)
        until(lambda: http_status(f"http://127.0.0.1:{self._port}/healthz") == 200, "it serves")

    def status(self) -> dict[str, Any]:
        with urlopen(f"http://127.0.0.1:{self._port}/status.json", timeout=10) as answer:
            body: dict[str, Any] = json.load(answer)
        return body

    def kill(self) -> None:
        """End it whatever it does; nothing where it has ended."""
        self.process.kill()
        self.process.wait()
        self._log.close()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20.0)


@contextmanager
def traffic(sidecar: RequestSidecar) -> Iterator[list[int]]:
    """Requests one after the other until the block ends; gives their statuses."""
    statuses: list[int] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.02):
            statuses.append(int(ask(sidecar.port, request(CHAT, ASKED)).split()[1]))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield statuses
    finally:
        stop.set()
        thread.join()


def at_rest(controller: ControllerProcess, level: str) -> Callable[[], bool]:
    def there() -> bool:
        now = controller.status()
        return bool(now["level"] == level and now["transition"] is None and now["lever"]["shares"] == {level: 1.0})

    return there


def test_drift_fallback_a_prometheus_that_stops_and_the_way_home(tmp_path: Path) -> None:
    draft, ngram = Pod(1.8), Pod(1.2)
    with ExitStack() as stack:
        targets = {"draft": stack.enter_context(served(draft)), "ngram": stack.enter_context(served(ngram))}
        own = stack.enter_context(prometheus(tmp_path, targets))
        engines = [stack.enter_context(raw_server(chat_answer(name))) for name in ("draft", "ngram")]
        upstream = f"draft=127.0.0.1:{engines[0].port} ngram=127.0.0.1:{engines[1].port}"
        sidecar = stack.enter_context(pools(upstream, tmp_path / "token"))
        statuses = stack.enter_context(traffic(sidecar))
        config = tmp_path / "fallback.toml"
        values = {"model": MODEL, "folder": tmp_path, "prometheus": own.url, "admin": sidecar.admin_port}
        config.write_text(CONFIG.format(**values))
        controller = ControllerProcess(config)
        stack.callback(controller.kill)

        until(lambda: controller.status()["inputs"] and not controller.status()["veto"], "it sees the drafter")
        assert controller.status()["inputs"]["effective_drafts"] >= LEAST_EFFECTIVE

        draft.speedup = 0.7
        until(lambda: shares(sidecar)["ngram"] > 0.0, "traffic begins to move")
        own.stop()  # in the middle: no further step is begun, and nothing is taken back
        until(lambda: "held" in controller.status()["reason"], "it holds")
        held = shares(sidecar)
        assert 0.0 < held["ngram"] < 1.0
        assert "source" in controller.status()["troubles"]
        time.sleep(5.0)  # longer than a step is watched
        assert shares(sidecar) == held

        own.start()
        until(at_rest(controller, "ngram"), "n-gram has all of the traffic")
        assert controller.status()["troubles"] == {}

        own.stop()  # at rest: a probe is due, and not begun on nothing
        until(lambda: "source" in controller.status()["troubles"], "it says that Prometheus is gone")
        probes = len(
            [entry for entry in read_log(tmp_path / "fallback.jsonl").entries if entry["kind"] == "intent"]
        )
        until(lambda: controller.status()["veto"] == "stale", "what it saw is too old")
        draft.speedup, draft.version = 1.8, "0.33.0"
        assert shares(sidecar) == {"draft": 0.0, "ngram": 1.0}
        entries = read_log(tmp_path / "fallback.jsonl").entries
        assert len([entry for entry in entries if entry["kind"] == "intent"]) == probes

        own.start()
        until(at_rest(controller, "draft"), "the drafter is back")
        until(lambda: controller.status()["inputs"]["revision"] == "vllm 0.33.0", "the new engine is seen")
        assert controller.stop() == 0
    assert set(statuses) == {200}
    told = [line.text for line in story(read_log(tmp_path / "fallback.jsonl").entries)]
    assert any(text.startswith("moving to n-gram: the drafter gives 0.70x") for text in told)
    assert any(text.startswith("no further step: ") for text in told)
    assert told[-1].startswith(
        "the drafter is back with all of the traffic; the drafter: errors 0.00% (0.00% before)"
    )


@pytest.mark.parametrize(("status", "ok"), [(200, True), (500, False)])
def test_health_of_a_level_out_of_real_series(tmp_path: Path, status: int, ok: bool) -> None:
    """Request sidecars of two pools, scraped by Prometheus: what gained traffic against the time before."""
    with ExitStack() as stack:
        engines = [stack.enter_context(raw_server(chat_answer("a", code))) for code in (200, status)]
        pods = [stack.enter_context(pools(f"http://127.0.0.1:{engine.port}")) for engine in engines]
        names = ("draft", "ngram")
        targets = {name: f"127.0.0.1:{pod.admin_port}" for name, pod in zip(names, pods, strict=True)}
        own = stack.enter_context(prometheus(tmp_path, targets))
        rule = LevelRule(match={Level(name): {"job": name} for name in names})
        source = PrometheusSource(PrometheusAddress(own.url))
        stack.callback(source.close)
        figures = SeriesFigures(source, MODEL, rule, ROWS["request"])
        watch = MovedHealth(figures, HealthLimits(requests=20, p99_ratio=1000.0))
        with traffic(pods[0]):
            until(lambda: _seen(figures, Level.DRAFT) > 20, "Prometheus sees the drafter's requests")
        watch.moved({Level.DRAFT: 1.0}, {Level.NGRAM: 1.0})
        with traffic(pods[1]):
            until(lambda: watch.health().known, "Prometheus sees those of n-gram")
        found = watch.health()
    assert found.ok is ok, found
    assert ("errors 0.00% (0.00% before)" if ok else "errors 100.00% (0.00% before)") in found.reason


def _seen(figures: SeriesFigures, level: Level) -> int:
    now = int(time.time())
    return figures.of([level], now - 60, now).ended
