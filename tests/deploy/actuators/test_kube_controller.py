"""The controller on a route of a Kubernetes API that refuses, is busy, breaks, or is written to by others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from deploy.actuators.kube_samples import NAMESPACE, pools
from deploy.actuators.kube_server import Fault, KubeServer
from detectors.fallback.controller_rig import MODEL, STEPS, World
from specwatch_detectors.fallback.audit_log import AuditLog, read_log
from specwatch_detectors.fallback.controller import Controller
from specwatch_detectors.fallback.controller_rules import Rules
from specwatch_detectors.fallback.controller_view import ControllerView
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.level import Level

ROUTE = ("httproutes", NAMESPACE, "llama")
SETTINGS = FallbackSettings(levels=(Level.DRAFT, Level.NGRAM), dwell_s=0.0, switch_cost_s=5.0, flips_per_day=8)
PATCH = ("patch",)


@dataclass
class Deployed:
    """A controller over a route, at a clock of its own."""

    kube: KubeServer
    log: Path
    now: float = 1_000_000.0
    world: World = field(default_factory=lambda: World(lambda _: 0.8))
    controller: Controller = field(init=False)

    def __post_init__(self) -> None:
        rules = Rules(MODEL, SETTINGS, STEPS, acting=True)
        self.controller = Controller(rules, pools(self.kube), self.world, AuditLog(self.log), lambda: self.now)

    @property
    def weights(self) -> list[int]:
        refs = self.kube.objects.get(ROUTE)["spec"]["rules"][1]["backendRefs"]
        return [ref["weight"] for ref in refs]

    def rounds(self, count: int) -> ControllerView:
        for _ in range(count):
            self.now += 30.0
            self.kube.advance(30)
            view = self.controller.round()
        return view

    def until(self, done: Callable[[], bool], most: int = 60) -> None:
        for _ in range(most):
            self.rounds(1)
            if done():
                return
        raise AssertionError(self.controller.view)

    def told(self, kind: str) -> list[str]:
        return [entry["words"] for entry in read_log(self.log).entries if entry["kind"] == kind]


@pytest.fixture
def deployed(kube: KubeServer, tmp_path: Path) -> Iterator[Deployed]:
    own = Deployed(kube, tmp_path / "fallback.jsonl")
    own.rounds(1)
    yield own
    own.controller.close()


def patches(kube: KubeServer) -> list[int]:
    return [call.status for call in kube.calls if call.verb == "patch"]


def test_a_route_is_moved_all_the_way(deployed: Deployed) -> None:
    deployed.until(lambda: deployed.weights == [0, 1000])
    assert deployed.told("done") == []
    deployed.until(lambda: bool(deployed.told("done")))
    assert patches(deployed.kube) == [200, 200, 200]


@pytest.mark.parametrize("status", [401, 403])
def test_rights_that_are_missing_move_nothing_and_are_asked_for_again_later(
    deployed: Deployed, status: int
) -> None:
    deployed.kube.faults.append(Fault(status, verbs=PATCH))
    deployed.until(lambda: bool(deployed.told("refused")))
    view = deployed.rounds(3)
    assert deployed.weights == [1, 0]
    assert patches(deployed.kube) == [status]
    assert str(status) in view.reason
    deployed.until(lambda: deployed.weights == [0, 1000])


@pytest.mark.parametrize("fault", [Fault(429, retry_after=60, verbs=PATCH), Fault(503, verbs=PATCH)])
def test_a_busy_or_broken_api_is_waited_for(deployed: Deployed, fault: Fault) -> None:
    deployed.kube.faults.extend([fault] * (2 if fault.retry_after else 3))
    deployed.until(lambda: bool(deployed.told("waiting")))
    if fault.retry_after:
        assert deployed.told("waiting")[0].endswith("tried again in 60 s"), "as it asks, and not sooner"
    assert str(fault.status) in deployed.told("waiting")[0]
    deployed.until(lambda: deployed.weights == [0, 1000])
    assert deployed.told("undone") == deployed.told("refused") == []


def test_an_api_that_stays_broken_is_given_up_with_nothing_moved(deployed: Deployed) -> None:
    deployed.kube.faults.extend([Fault(500, verbs=PATCH)] * 3 * STEPS.tries)
    deployed.until(lambda: bool(deployed.told("refused")))
    assert "given up after 3 tries" in deployed.told("refused")[0]
    assert deployed.weights == [1, 0]


def test_a_route_that_is_put_back_in_the_middle_is_not_fought_over(deployed: Deployed) -> None:
    deployed.until(lambda: deployed.weights == [950, 50])

    def back(found: dict[str, object]) -> None:
        refs = found["spec"]["rules"][1]["backendRefs"]  # type: ignore[index]
        refs[0]["weight"], refs[1]["weight"] = 1, 0

    deployed.kube.objects.edit(ROUTE, back, "argocd-controller")
    view = deployed.rounds(40)
    assert deployed.weights == [1, 0]
    assert patches(deployed.kube).count(200) == 1
    assert "Argo CD" in view.reason
