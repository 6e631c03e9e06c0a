"""A deployment in files: a lever whose position and calls survive a kill, a draft that is good by the clock."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from specwatch_detectors.fallback.actuator import ActuatorError, Health, Plan, Position, Shares
from specwatch_detectors.fallback.audit_log import AuditLog, read_log
from specwatch_detectors.fallback.controller import Controller
from specwatch_detectors.fallback.controller_rules import Rules
from specwatch_detectors.fallback.controller_view import ControllerView
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.observation import Observation, ObservationError, Seen
from specwatch_detectors.fallback.operator_command import Command, Order, control_path, give
from specwatch_detectors.fallback.transition import shares_as_json, shares_from_json, shares_text
from specwatch_detectors.fallback.transition_settings import TransitionSettings
from specwatch_detectors.payoff.payoff import Bounds

ROUND_S = 30.0
START = 1_000_000.0
MODEL = "llama"
QUICK = FallbackSettings(
    levels=(Level.DRAFT, Level.NGRAM, Level.OFF),
    switch_cost_s=5.0,
    dwell_s=0.0,
    probe_first_s=60.0,
    probe_most_s=3600.0,
    flips_per_day=8,
)
STEPS = TransitionSettings(
    watch_s=30.0, watch_most_s=60.0, settle_s=120.0, backoff_s=20.0, refused_s=300.0, tries=3
)


class FileLever:
    """A lever whose position is a file; every call that moves is a line of another, synced."""

    levels = (Level.DRAFT, Level.NGRAM, Level.OFF)

    def __init__(self, folder: Path, steps: tuple[float, ...] = (0.05, 0.25, 1.0)) -> None:
        self.steps = steps
        self.foreign = ""
        self.settled = True
        self.healthy: Callable[[], Health] = lambda: Health(ok=True, reason="0 of 100 requests failed")
        self.errors: dict[str, list[ActuatorError]] = {}
        self._position = folder / "position.json"
        self._calls = folder / "calls.jsonl"
        if not self._position.exists():
            self.set({Level.DRAFT: 1.0})

    def set(self, shares: Shares) -> None:
        """Move without a call, as somebody else would."""
        new = self._position.with_suffix(".new")
        new.write_text(json.dumps(shares_as_json(shares)))
        new.replace(self._position)

    @property
    def calls(self) -> list[str]:
        """Calls that moved, in order."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    @property
    def shares(self) -> Shares:
        return shares_from_json(json.loads(self._position.read_text()))

    def describe(self) -> Position:
        self._fail("describe")
        return Position(self.shares, self.settled, self.foreign)

    def plan(self, shares: Shares) -> Plan:
        self._fail("plan")
        text = shares_text(shares)
        return Plan(f"to {text}", dict(shares), self.shares, ({"weights": shares_as_json(shares)},), f"set {text}")

    def apply(self, plan: Plan) -> None:
        self._fail("apply")
        self._move(f"apply {plan.identity}", plan.shares)

    def verify(self, plan: Plan) -> Position:  # noqa: ARG002 - the interface has it
        self._fail("verify")
        return Position(self.shares, self.settled, self.foreign)

    def health(self) -> Health:
        self._fail("health")
        return self.healthy()

    def undo(self, plan: Plan) -> None:
        self._fail("undo")
        self._move(f"undo to {shares_text(plan.before)}", plan.before)

    def _move(self, call: str, shares: Shares) -> None:
        with self._calls.open("a") as file:
            file.write(f"{call}\n")
            file.flush()
            os.fsync(file.fileno())
        self.set(shares)

    def _fail(self, call: str) -> None:
        if self.errors.get(call):
            raise self.errors[call].pop(0)


@dataclass
class World:
    """What is seen, as the clock says; `gone` makes the source fail."""

    draft: Callable[[float], float]
    ngram: float = 1.2
    gone: bool = False
    changes: dict[str, Any] = field(default_factory=dict)

    def observe(self, now: float, level: Level, since: float) -> Observation:  # noqa: ARG002 - likewise
        assert since <= now
        if self.gone:
            raise ObservationError("connection refused")
        seen = {Level.DRAFT: around(self.draft(now), now), Level.NGRAM: around(self.ngram, now)}
        return replace(Observation(now, seen), **self.changes)


def around(value: float, now: float) -> Seen:
    return Seen(Bounds(value * 0.99, value, value * 1.01), now, 1000.0)


@dataclass
class Rig:
    """A controller over the files of a folder, at a clock of its own."""

    folder: Path
    world: World
    lever: FileLever
    rules: Rules
    now: float = START
    log: AuditLog = field(init=False)
    controller: Controller = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """A new process over the same files."""
        if hasattr(self, "controller"):
            self.controller.close()
        self.log = AuditLog(self.path)
        self.controller = Controller(self.rules, self.lever, self.world, self.log, lambda: self.now)

    @property
    def path(self) -> Path:
        return self.folder / "fallback.jsonl"

    def rounds(self, count: int) -> ControllerView:
        for _ in range(count):
            self.now += ROUND_S
            view = self.controller.round()
        return view

    def until(self, done: Callable[[ControllerView], bool], most: int = 200) -> ControllerView:
        for _ in range(most):
            view = self.rounds(1)
            if done(view):
                return view
        raise AssertionError(f"not within {most} rounds: {view}")

    def command(self, order: Order, identity: str = "1", age: float = 0.0) -> None:
        give(control_path(self.path), Command(identity, order, self.now - age, "somebody"))

    def entries(self, *kinds: str) -> list[dict[str, Any]]:
        found = read_log(self.path).entries
        return [entry for entry in found if not kinds or entry["kind"] in kinds]

    def kinds(self) -> list[str]:
        return [entry["kind"] for entry in self.entries() if entry["kind"] != "round"]


def rig(
    folder: Path,
    draft: Callable[[float], float] = lambda _: 1.8,
    *,
    steps: tuple[float, ...] = (0.05, 0.25, 1.0),
    settings: FallbackSettings = QUICK,
    **rules: Any,
) -> Rig:
    """A controller that acts, unless told otherwise."""
    known: Mapping[str, Any] = {"acting": True, "control": control_path(folder / "fallback.jsonl"), **rules}
    return Rig(folder, World(draft), FileLever(folder, steps), Rules(MODEL, settings, STEPS, **known))


def level(view: ControllerView) -> Level | None:
    return None if view.memory is None else view.memory.policy.level


def at_rest(wanted: Level) -> Callable[[ControllerView], bool]:
    """Whether a level is in force with all of the traffic."""
    return lambda view: view.memory is not None and view.memory.transition is None and level(view) is wanted


NewRig = Callable[..., Rig]
"""Makes a rig in the test's folder; it is closed at the end."""
