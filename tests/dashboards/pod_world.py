"""A small cluster: two pods, traffic, and Prometheus with the recording rules, seconds for minutes."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from dashboards.metrics_site import serving_metrics
from dashboards.other_exporters import NAMESPACE, page
from dashboards.short_windows import shortened
from engine.child_process import running
from engine.engine_process import free_port, http_status
from engine.prometheus_process import Prometheus
from specwatch_alerts.origin import Origin
from specwatch_alerts.rule_build import build
from specwatch_alerts.values import load_values
from specwatch_dashboards.source import Source
from specwatch_exporters.demo.traffic import Traffic
from specwatch_exporters.demo.traffic_plan import Lengths, TrafficPlan
from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.proxy.settings import load as load_proxy
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread
from specwatch_exporters.sidecar.run import Sidecar
from specwatch_exporters.sidecar.settings import load as load_sidecar
from tools.tool_paths import find_tool

# A window of minutes would make every state last as long: the rules of this world look back seconds.
SHORTER: Final = {
    '"interval": "30s"': '"interval": "1s"',
    "[5m]": "[12s]",
    **dict.fromkeys(("[10m]", "[15m]", "[1h]", "[6h]", "[1d]", "[3d]", "[7d]"), "[20s]"),
    **dict.fromkeys(("[30m:1m]", "[1h:1m]", "[6h:1m]", "[3d:1h]", "[30d:1h]"), "[20s:1s]"),
    **dict.fromkeys(("offset 1d", "offset 7d"), "offset 3s"),
}
ORIGINS: Final = {Source.SIDECAR: Origin.SIDECAR, Source.ENGINE: Origin.VLLM}
Target = tuple[str, str, str]


class World:
    """Two pods with traffic; `rest` ends the traffic, `lose` a pod, `end` all."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack = stack
        self._stops: dict[str, list[Callable[[], None]]] = {"pod-1": [], "pod-2": [], "others": []}
        self._traffics: dict[str, tuple[Traffic, threading.Thread]] = {}
        self.targets: dict[Source, list[Target]] = {source: [] for source in Source}
        speculating = self._engine("pod-1", "eagle3")
        plain = self._engine("pod-1", "off", scraped=False)
        clients = self._request_sidecar(folder, speculating, plain)
        self._traffic("pod-1", clients)
        self._traffic("pod-2", self._engine("pod-2", "eagle3").url)
        others = stack.enter_context(ExitStack())
        self._stops["others"].append(others.close)
        address = others.enter_context(serving_metrics(page))
        for targets in self.targets.values():
            targets.append(("others", "", address))

    def _engine(self, pod: str, method: str, *, scraped: bool = True) -> ReplayThread:
        settings = ReplaySettings(
            speed=10.0, slots=4, model="m", method=method, per_request=PerRequest.SUMMARY, timings=True
        )
        engine = self._stack.enter_context(ReplayThread(settings))
        if scraped:
            sidecar = Sidecar(
                load_sidecar({"engine": engine.url, "listen": "127.0.0.1:0", "interval": "500ms"}, {})
            )
            self._stack.enter_context(sidecar)
            self._stops[pod].append(sidecar.stop)
            self.targets[Source.SIDECAR].append(("specwatch", pod, f"127.0.0.1:{sidecar.port}"))
            self.targets[Source.ENGINE].append(("engine", pod, engine.url.removeprefix("http://")))
        self._stops[pod].append(engine.stop)
        return engine

    def _request_sidecar(self, folder: Path, speculating: ReplayThread, plain: ReplayThread) -> str:
        pools = folder / "pools.toml"
        pools.write_text(
            f'[pool.draft]\nurl = "{speculating.url}"\nmethod = "eagle3"\nweight = 70\n'
            f'[pool.off]\nurl = "{plain.url}"\nmethod = "off"\nweight = 30\n'
        )
        local = "127.0.0.1:0"
        flags = {"pools": str(pools), "listen": local, "admin_listen": local, "request_usage": "true"}
        sidecar = self._stack.enter_context(RequestSidecar(load_proxy(flags, {})))
        self._stops["pod-1"].append(sidecar.stop)
        for targets in self.targets.values():
            targets.append(("requests", "pod-1", f"127.0.0.1:{sidecar.admin_port}"))
        return f"http://127.0.0.1:{sidecar.port}"

    def _traffic(self, pod: str, url: str) -> None:
        plan = TrafficPlan(
            url=url, model="m", concurrency=6, seconds=600, output=Lengths(40, 0.3), prompt=Lengths(32)
        )
        traffic = Traffic(plan)
        thread = threading.Thread(target=lambda: asyncio.run(traffic.run()))
        thread.start()
        self._traffics[pod] = (traffic, thread)
        self._stack.callback(self._rest, pod)

    def _rest(self, pod: str) -> None:
        traffic, thread = self._traffics[pod]
        if thread.is_alive():
            traffic.stop()
            thread.join()

    def rest(self) -> None:
        """No traffic any more."""
        for pod in self._traffics:
            self._rest(pod)

    def lose(self, pod: str) -> None:
        """A pod is gone."""
        self._rest(pod)
        for stop in self._stops[pod]:
            stop()

    def end(self) -> None:
        """Nothing answers any more but Prometheus."""
        self.rest()
        for stops in self._stops.values():
            for stop in stops:
                stop()


@contextmanager
def prometheus(world: World, source: Source, folder: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes the world every second and records the rules of a source."""
    folder.mkdir()
    # Few tokens are enough for a price here.
    (folder / "values.toml").write_text("[cost]\nmin_tokens_per_hour = 1\n[draft]\nmin_drafts = 1\n")
    values = load_values(folder / "values.toml")
    rules = shortened(build(values, ORIGINS[source]), SHORTER)
    (folder / "rules.json").write_text(json.dumps(rules))
    jobs = [
        {
            "job_name": f"{job}-{pod}",
            "honor_labels": job == "others",
            "static_configs": [
                {"targets": [address], "labels": {"namespace": NAMESPACE, "pod": pod} if pod else {}}
            ],
        }
        for job, pod, address in world.targets[source]
    ]
    timing = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    settings = {"global": timing, "rule_files": ["rules.json"], "scrape_configs": jobs}
    (folder / "prometheus.yml").write_text(json.dumps(settings))
    address = f"127.0.0.1:{free_port()}"
    command = [
        str(find_tool("prometheus")),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    server = Prometheus(f"http://{address}")
    with running(command, folder / "prometheus.log", lambda: http_status(f"{server.url}/-/ready") == 200):
        yield server


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait for a state of the world."""
    deadline = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.5)
