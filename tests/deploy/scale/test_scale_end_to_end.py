"""A real Prometheus, replay engines as pods, and the HPA's loop that starts and stops them: load x3 and back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from deploy.scale.promtool_rules import write_rules
from deploy.scale.replay_fleet import MODEL, NAMESPACE, SLOTS, ReplayFleet
from engine.child_process import running
from engine.engine_process import free_port, http_status
from engine.prometheus_process import Prometheus
from specwatch_alerts.origin import Origin
from specwatch_deploy.scale.demand_rules import demand_query
from specwatch_deploy.scale.hpa import Bounds, Hpa
from specwatch_deploy.scale.hpa_behavior import Behavior, Policy, PolicyType, ScalingRules
from specwatch_deploy.scale.hpa_metric import ExternalTarget, Replicas, TargetType
from specwatch_deploy.scale.keda_trigger import Fallback, FallbackBehavior, KedaTrigger
from specwatch_deploy.scale.scale_settings import DemandSettings
from tools.tool_paths import find_tool

DEMAND = DemandSettings(
    namespace=NAMESPACE,
    model=MODEL,
    slots=SLOTS,
    target_use=0.8,
    drain_s=5.0,
    wait_most=2.0,
    start_up_s=3,
    drafts_least=5,
    scrape_s=1,
    rate_s=8,
    service_s=12,
    now_s=4,
)
"""Everything in seconds that is minutes in production."""
BEHAVIOR = Behavior(
    up=ScalingRules(0, (Policy(PolicyType.PODS, 2, 4),)),
    down=ScalingRules(12, (Policy(PolicyType.PODS, 1, 2),)),
)
BASE = 3.0
MOST = 8
DEADLINE_S = 90.0


@contextmanager
def prometheus_with_rules(folder: Path, targets: Path) -> Iterator[Prometheus]:
    rules = write_rules(folder, [DEMAND], Origin.VLLM)
    jobs = [{"job_name": "engines", "file_sd_configs": [{"files": [str(targets)], "refresh_interval": "1s"}]}]
    timing = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    configuration = folder / "prometheus.yml"
    configuration.write_text(json.dumps({"global": timing, "rule_files": [str(rules)], "scrape_configs": jobs}))
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


class Loop:
    """The autoscaler on the fleet, a round a second."""

    def __init__(self, prometheus: Prometheus, fleet: ReplayFleet) -> None:
        self.prometheus, self.fleet = prometheus, fleet
        self.trigger = KedaTrigger(
            ExternalTarget(TargetType.AVERAGE_VALUE, 1.0),
            ignore_null=False,
            fallback=Fallback(4, 1, FallbackBehavior.CURRENT_IF_HIGHER),
        )
        self.hpa = Hpa(Bounds(1, MOST), BEHAVIOR)
        self.history = [fleet.size]
        self.demand: float | None = None

    def round(self) -> None:
        answer = list(self.prometheus.query(demand_query(DEMAND)).values())
        assert len(answer) <= 1
        self.demand = answer[0] if answer else None
        now = self.fleet.size
        proposal = self.trigger.proposal(answer, Replicas(now, now, now), self.hpa.tolerance)
        wanted = self.hpa.sync(time.monotonic(), now, [proposal])
        self.fleet.resize(wanted)
        self.history.append(wanted)

    def until(self, happened: Callable[[], bool]) -> None:
        end = time.monotonic() + DEADLINE_S
        while not happened():
            assert time.monotonic() < end, str(self.history)
            self.round()
            time.sleep(1.0)

    def rounds(self, number: int) -> None:
        for _ in range(number):
            self.round()
            time.sleep(1.0)


@pytest.mark.timeout(400)
def test_three_times_the_load_is_scaled_out_and_back_without_flapping(tmp_path: Path) -> None:
    targets = tmp_path / "targets.json"
    with ReplayFleet(targets) as fleet:
        fleet.resize(1)
        with prometheus_with_rules(tmp_path, targets) as prometheus:
            loop = Loop(prometheus, fleet)
            loop.until(lambda: loop.demand is not None)
            assert loop.demand == 0.0, "idle is an explicit zero"
            fleet.rate = BASE
            loop.rounds(12)
            before = fleet.size
            loop.history = [before]
            fleet.rate = 3.0 * BASE
            loop.until(lambda: fleet.size >= before + 2)
            loop.rounds(12)
            peak = fleet.size
            fleet.rate = BASE
            loop.until(lambda: fleet.size <= peak // 2 + 1)
            steps = [later - earlier for earlier, later in pairwise(loop.history) if later != earlier]
            turns = sum(earlier * later < 0 for earlier, later in pairwise(steps))
            assert before < peak <= MOST
            assert turns == 1, str(loop.history)
            assert fleet.failed == 0
            assert fleet.answered > 0


@pytest.mark.timeout(200)
def test_engines_that_vanish_from_prometheus_are_not_scaled_in(tmp_path: Path) -> None:
    targets = tmp_path / "targets.json"
    with ReplayFleet(targets) as fleet:
        fleet.resize(3)
        with prometheus_with_rules(tmp_path, targets) as prometheus:
            loop = Loop(prometheus, fleet)
            fleet.rate = 3.0 * BASE
            loop.until(lambda: (loop.demand or 0.0) > 1.0)
            held = fleet.size
            fleet._targets = tmp_path / "nobody-reads-this.json"
            targets.write_text("[]")
            loop.until(lambda: loop.demand is None)
            held = max(held, fleet.size)
            loop.rounds(18)
            assert fleet.size >= held
            assert loop.demand is None
