"""The demonstration's fallback: the controller as it is, on the local pool, with times of seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from specwatch_deploy.actuators.health_change import HealthLimits
from specwatch_deploy.actuators.json_call import caller
from specwatch_deploy.actuators.local import SETTER, LocalPool
from specwatch_deploy.actuators.pool_admin import PoolAdmin
from specwatch_detectors.demo_watch import STEPS as STEPS_OF
from specwatch_detectors.demo_watch import fallback_watch
from specwatch_detectors.fallback.audit_log import AuditError, AuditLog, read_log
from specwatch_detectors.fallback.audit_words import story
from specwatch_detectors.fallback.controller import Controller
from specwatch_detectors.fallback.controller_loop import ControllerLoop
from specwatch_detectors.fallback.controller_rules import Rules
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.fallback_source import SeriesSource, SourceSettings
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.fallback.page_source import LEVEL_LABEL, PageSource
from specwatch_detectors.fallback.probe_batch import ProbeAtBatch
from specwatch_detectors.fallback.transition_settings import TransitionSettings
from specwatch_detectors.payoff.payoff import Bounds
from specwatch_detectors.payoff.profile_file import load_profile
from specwatch_exporters.demo.fallback import FallbackNow, FallbackScene, Told
from specwatch_exporters.sidecar.endpoint import Endpoint
from specwatch_exporters.sidecar.watcher import Watcher

ROUND_S: Final = 1.0
_CALL_S: Final = 2.0
STEPS: Final = (0.2, 0.5, 1.0)
"""Three requests a second arrive: a fifth is what can be judged within seconds."""
ESTIMATE: Final = Bounds(1.1, 1.2, 1.3)
"""Speed-up of n-gram until it is measured: what its step times gave at batch 8 to 32."""
POLICY: Final = FallbackSettings(
    levels=(Level.DRAFT, Level.NGRAM),
    switch_cost_s=2.0,
    dwell_s=8.0,
    probe_first_s=12.0,
    probe_most_s=12.0,
    probe_s=10.0,
    probe_wins=1,
    stale_after_s=6.0,
)
MOVING: Final = TransitionSettings(watch_s=2.0, watch_most_s=3.0, settle_s=10.0, backoff_s=1.0)
_QUIET: Final = frozenset({"settled", "applied", "start", "waiting"})


class DemoFallback:
    """Makes the parts of the demonstration that fall back."""

    def judge(self) -> Watcher:
        """What tells whether n-gram pays."""
        return fallback_watch()

    @contextmanager
    def at_work(self, scene: FallbackScene) -> Iterator[DemoController]:
        """A controller that works until the context ends."""
        controller = _controller(scene)
        stop = threading.Event()
        loop = ControllerLoop(controller, ROUND_S)
        thread = threading.Thread(target=loop.run, args=(stop,), name="demo-fallback", daemon=True)
        thread.start()
        try:
            yield DemoController(controller, scene.log)
        finally:
            stop.set()
            thread.join()
            controller.close()


class DemoController:
    """What can be seen of the controller.

    Args:
        controller: at work.
        log: its audit log.
    """

    def __init__(self, controller: Controller, log: Path) -> None:
        self._controller = controller
        self._log = log
        self._read = 0

    def now(self) -> FallbackNow | None:
        """Where the traffic is; None before the first round."""
        view = self._controller.view
        if view.memory is None or view.position is None:
            return None
        shares = tuple((level.words, view.position.shares.get(level, 0.0)) for level in POLICY.levels)
        return FallbackNow(view.memory.policy.level.words, shares, view.reason)

    def told(self) -> list[Told]:
        """What it did since the last call, as `specwatch fallback history` tells it."""
        try:
            entries = read_log(self._log).entries
        except AuditError:
            return []  # it is not there before the first round
        fresh, self._read = entries[self._read :], len(entries)
        return [
            Told(f"fallback: {line.text}", alarming=line.kind in {"undo", "refused"})
            for line in story(fresh)
            if line.kind not in _QUIET
        ]


def _controller(scene: FallbackScene) -> Controller:
    admin = PoolAdmin(Endpoint.parse(scene.admin_url), caller(_CALL_S), scene.token_file, SETTER)
    pools = {Level(level): pool for level, pool in scene.pools.items()}
    lever = LocalPool(admin, pools, steps=STEPS, limits=HealthLimits(requests=4))
    seen = SourceSettings(
        scene.model,
        POLICY.home,
        LevelRule(label=LEVEL_LABEL),
        estimates={Level.NGRAM: ESTIMATE},
        fresh_s=POLICY.stale_after_s,
    )
    cost = load_profile(STEPS_OF).cost_of(scene.pools[POLICY.home.value])
    pages = {Level(level): [read] for level, read in scene.pages.items()}
    rules = Rules(scene.model, POLICY, MOVING, acting=True)
    source = ProbeAtBatch(SeriesSource(PageSource(pages), seen), POLICY.home, cost, scene.depth)
    return Controller(rules, lever, source, AuditLog(scene.log), time.time)
