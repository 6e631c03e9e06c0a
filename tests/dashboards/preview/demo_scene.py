"""The demonstration with all its exporters and a Prometheus that scrapes them, with seconds for minutes.

Two replay engines with a scrape sidecar each, the request sidecar in front, drift detectors, the fallback
controller; Kubernetes, KEDA and GPUs are made up.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric

from dashboards.metrics_site import serving_metrics
from dashboards.preview.cluster_page import NAMESPACE, page
from dashboards.short_windows import shortened
from engine.child_process import running
from engine.engine_process import free_port, http_status
from specwatch_alerts.durations import seconds_of
from specwatch_alerts.origin import Origin
from specwatch_alerts.rule_build import build as build_rules
from specwatch_alerts.values import load_values
from specwatch_deploy.demo_fallback import DemoController, DemoFallback
from specwatch_deploy.scale.demand_rules import demand_group
from specwatch_deploy.scale.scale_settings import DemandSettings
from specwatch_detectors.demo_watch import demo_watch
from specwatch_detectors.fallback.fallback_families import families
from specwatch_exporters.demo.fallback import FallbackScene
from specwatch_exporters.demo.scenario import FALLBACK, SETTINGS
from specwatch_exporters.demo.stage import Stage
from specwatch_exporters.sidecar.run import Sidecar
from specwatch_exporters.sidecar.settings import load
from specwatch_exporters.sidecar.watcher import Watcher
from tools.tool_paths import find_tool

SCRAPE_S: Final = 2
RULES_SHORTER: Final = {
    '"interval": "30s"': f'"interval": "{SCRAPE_S}s"',
    "[5m]": "[15s]",
    "[10m]": "[20s]",
    "[15m]": "[30s]",
    # A window of fifteen seconds each three, five of which overlap, as those of five minutes do each minute.
    "[30m:1m]": "[30s:3s]",
    "engines:count[1h:1m]": "engines:count[60s:1s]",  # sixty of them are an hour
    "[1h:1m]": "[60s:3s]",
    "[6h:1m]": "[90s:3s]",
    "[3d:1h]": "[180s:60s]",
    "[30d:1h]": "[300s:60s]",
    "[1h]": "[60s]",
    "[6h]": "[90s]",
    "[1d]": "[60s]",
    "[3d]": "[180s]",
    "[7d]": "[180s]",
    "offset 1d": "offset 60s",
    "offset 7d": "offset 60s",
    "1e6 *": "1e6 / 60 *",  # dollars of an hour, tokens of a minute
}
PAGES_SHORTER: Final = {
    "offset 1d": "offset 60s",
    "[1d]": "[60s]",
    "offset 1m": "offset 5s",
    "[2m]": "[10s]",
    "time() - 60": "time() - 10",
    '"60s"': '"5s"',
    "300 * sum_over_time": "5 * sum_over_time",
    ":5m]": ":5s]",
}
CAPTION: Final = (
    "specwatch's demonstration, five minutes: simulated engines, real sidecars, detectors and fallback controller; "
    "GPUs, KEDA and the autoscaler are made up. Windows of rules are shortened: 15 s for 5 min, one minute for an "
    "hour and for a day."
)
Target = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene at work.

    Attributes:
        url: of its Prometheus.
        stage: engines and traffic.
        began: epoch seconds.
    """

    url: str
    stage: Stage
    began: float

    @property
    def elapsed_s(self) -> float:
        """Since it began."""
        return time.time() - self.began

    def play(self, until_s: float) -> None:
        """Let it go on until a time after its beginning."""
        while self.elapsed_s < until_s:
            self.stage.play(self.elapsed_s)
            time.sleep(0.5)


class _Controller:
    """The fallback controller's metrics, as `specwatch fallback run` serves them."""

    def __init__(self, controller: DemoController) -> None:
        self._controller = controller._controller

    def collect(self) -> Iterable[Metric]:
        """The families now."""
        return list(families(self._controller.view))


@contextmanager
def playing(total_s: float, folder: Path) -> Iterator[Scene]:
    """The scene until the block ends; acts happen at their shares of its length, when it is played."""
    with ExitStack() as stack:
        stage = stack.enter_context(Stage(total_s))
        beside = DemoFallback()
        draft = _sidecar(stack, stage.url, SETTINGS.method, demo_watch(stage.registry))
        ngram = _sidecar(stack, stage.fallback_url, FALLBACK.method, beside.judge())
        controller = _Controller(stack.enter_context(beside.at_work(_fallback_scene(stage, draft, ngram))))
        began = time.time()
        cluster = stack.enter_context(serving_metrics(lambda: page(time.time() - began, total_s)))
        targets = [
            ("specwatch", "llama-draft-0", f"127.0.0.1:{draft.port}"),
            ("specwatch", "llama-ngram-0", f"127.0.0.1:{ngram.port}"),
            ("requests", "llama-proxy-0", stage.admin_url.removeprefix("http://")),
            ("fallback", "fallback-0", _served(stack, controller)),
            ("others", "", cluster),
        ]
        url = stack.enter_context(_prometheus(targets, folder))
        yield Scene(url, stage, began)


def _sidecar(stack: ExitStack, engine: str, method: str, watcher: Watcher) -> Sidecar:
    given = {"engine": engine, "listen": "127.0.0.1:0", "interval": "1s", "timeout": "1s"}
    settings = load({**given, "speculation_method": method}, environ={})
    return stack.enter_context(Sidecar(settings, watcher=watcher))


def _fallback_scene(stage: Stage, draft: Sidecar, ngram: Sidecar) -> FallbackScene:
    return FallbackScene(
        model=SETTINGS.model_name,
        depth=SETTINGS.depth,
        admin_url=stage.admin_url,
        token_file=stage.token_file,
        pools={"draft": SETTINGS.method, "ngram": FALLBACK.method},
        pages={"draft": draft.registry.collect, "ngram": ngram.registry.collect},
        log=stage.folder / "fallback.jsonl",
    )


def _served(stack: ExitStack, controller: _Controller) -> str:
    registry = CollectorRegistry()
    registry.register(controller)
    server, thread = start_http_server(0, "127.0.0.1", registry)
    stack.callback(server.server_close)
    stack.callback(thread.join)
    stack.callback(server.shutdown)
    return f"127.0.0.1:{server.server_port}"


def rules(folder: Path) -> dict[str, Any]:
    """The rules of the sidecar and the demand of the model, with seconds for minutes."""
    # Few tokens are enough for a price here, and few requests for an alert.
    (folder / "values.toml").write_text(
        "[cost]\nmin_tokens_per_hour = 1\n[draft]\nmin_drafts = 50\nmin_tokens = 100\n"
        "[slo.queue_wait]\nmin_events = 20\n[slo.ttft]\nmin_events = 20\n"
    )
    found: dict[str, Any] = shortened(
        build_rules(load_values(folder / "values.toml"), Origin.SIDECAR), RULES_SHORTER
    )
    for rule in (rule for group in found["groups"] for rule in group["rules"] if "for" in rule):
        rule["for"] = f"{seconds_of(rule['for']) / 30:.0f}s"
    demand = DemandSettings(
        namespace=NAMESPACE,
        model=SETTINGS.model_name,
        slots=SETTINGS.slots,
        drafts_least=5,
        scrape_s=SCRAPE_S,
        rate_s=15,
        service_s=30,
        now_s=10,
    )
    return {"groups": [*found["groups"], demand_group(demand, Origin.SIDECAR)]}


@contextmanager
def _prometheus(targets: list[Target], folder: Path) -> Iterator[str]:
    (folder / "rules.json").write_text(json.dumps(rules(folder)))
    jobs = [
        {
            "job_name": f"{job}-{pod}",
            "honor_labels": job == "others",
            "static_configs": [
                {"targets": [address], "labels": {"namespace": NAMESPACE, "pod": pod} if pod else {}}
            ],
        }
        for job, pod, address in targets
    ]
    timing = dict.fromkeys(("scrape_interval", "scrape_timeout", "evaluation_interval"), f"{SCRAPE_S}s")
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
    with running(command, folder / "prometheus.log", lambda: http_status(f"http://{address}/-/ready") == 200):
        yield f"http://{address}"
