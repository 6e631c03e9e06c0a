"""The local pool: a request sidecar in front of several engines, whose weights are set through its admin port."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from specwatch_deploy.actuators.health_change import HealthLimits, judge, judge_all
from specwatch_deploy.actuators.health_keys import LIMIT_KEYS, health_limits
from specwatch_deploy.actuators.json_call import TIMEOUT_S, caller, json_bytes
from specwatch_deploy.actuators.lever_table import LeverTable
from specwatch_deploy.actuators.movement import checked_shares, same_shares
from specwatch_deploy.actuators.pool_admin import AT_START, OvertakenError, PoolAdmin, PoolState
from specwatch_deploy.actuators.pool_figures import PoolComparison
from specwatch_detectors.fallback.actuator import ActuatorError, Health, Plan, Position, Shares
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.transition import shares_text
from specwatch_exporters.sidecar.endpoint import Endpoint

STEPS: Final = (0.05, 0.25, 1.0)
SETTER: Final = "specwatch fallback"
KEYS: Final = (
    "url",
    "token_file",
    "pools",
    "steps",
    "setter",
    "force",
    "timeout_s",
    "ca_file",
    *LIMIT_KEYS,
)
_TRIES: Final = 3
_WHOLE: Final = 1.0 - 1e-3


class LocalPool:
    """Moves requests between the pools of one request sidecar.

    Args:
        admin: of the sidecar.
        pools: name of the pool of each level.
        steps: shares of a new level on the way to all.
        limits: what still counts as no worse.
        clock: monotonic seconds.
        force: weights that somebody else has set are replaced.
    """

    def __init__(
        self,
        admin: PoolAdmin,
        pools: Mapping[Level, str],
        *,
        steps: tuple[float, ...] = STEPS,
        limits: HealthLimits = HealthLimits(),  # noqa: B008 - immutable
        clock: Callable[[], float] = time.monotonic,
        force: bool = False,
    ) -> None:
        self._admin = admin
        self._pools = dict(pools)
        self._steps = steps
        self._limits = limits
        self._force = force
        self._comparison = PoolComparison(clock, limits.requests)
        self._gained: tuple[Level, ...] = ()

    @property
    def levels(self) -> tuple[Level, ...]:
        """Those that have a pool."""
        return tuple(level for level in Level if level in self._pools)

    @property
    def steps(self) -> tuple[float, ...]:
        """Shares of a new level on the way to all."""
        return self._steps

    def describe(self) -> Position:
        """The weights in force: they hold for the next request, so they are settled at once."""
        return self._position(self._look())

    def plan(self, shares: Shares) -> Plan:
        """The one call that sets the weights."""
        wanted = checked_shares(shares, self.levels)
        state = self._look()
        before = self._shares(state)
        weights = self._weights(wanted)
        call = {
            "method": "PUT",
            "url": self._admin.url.display,
            "ifMatch": state.version,
            "body": self._admin.body(weights),
        }
        told = [self._admin.url.display, self._weights(before), weights]
        text = f"PUT {self._admin.url.display}: {shares_text(before)} to {shares_text(wanted)}"
        identity = hashlib.sha256(json_bytes(told)).hexdigest()[:32]
        return Plan(identity, dict(wanted), before, (call,), text)

    def apply(self, plan: Plan) -> None:
        """Set the weights, if they are still those that the plan starts from and not yet its own."""
        state = self._look()
        shares = self._shares(state)
        if same_shares(shares, plan.shares):
            return
        if not same_shares(shares, plan.before):
            words = f"{state.setter} has set {shares_text(shares)} since the plan was made"
            raise ActuatorError(f"{words}; it was {shares_text(plan.before)}", retry=False)
        if self._foreign(state) and not self._force:
            raise ActuatorError(f"the weights were set by {state.setter}; force = true replaces them", retry=False)
        self._set(plan.shares, state)

    def verify(self, plan: Plan) -> Position:
        """Where the weights are; `settled` only if they are the plan's."""
        state = self._look()
        position = self._position(state)
        there = same_shares(position.shares, plan.shares)
        return Position(position.shares, settled=there, foreign=position.foreign, note=position.note)

    def health(self) -> Health:
        """Error rate and p99 of seconds per output token of what gained traffic, against the traffic before."""
        self._look()
        if not self._gained:
            return Health(ok=False, reason="nothing was moved since this controller started", known=False)
        return judge_all(
            judge(level, self._comparison.change([self._pools[level]]), self._limits) for level in self._gained
        )

    def undo(self, plan: Plan) -> None:
        """Set the weights that the plan started from, whatever they are now."""
        for _ in range(_TRIES):
            state = self._look()
            if same_shares(self._shares(state), plan.before):
                return
            try:
                self._set(plan.before, state)
            except OvertakenError:
                continue
            return
        raise ActuatorError(f"{self._admin.url.display}: others set weights again and again", retry=True)

    def _look(self) -> PoolState:
        state = self._admin.read()
        missing = [name for name in self._pools.values() if name not in state.shares]
        if missing:
            there = ", ".join(state.shares)
            raise ActuatorError(f"the request sidecar has no pool {missing[0]}; it has {there}", retry=False)
        self._comparison.see(state.counts)
        return state

    def _set(self, shares: Shares, state: PoolState) -> None:
        before = self._shares(state)
        rest = max(before.values(), default=0.0) >= _WHOLE
        self._admin.write(self._weights(shares), state.version)
        used = [pool for level, pool in self._pools.items() if before.get(level, 0.0) > 0.0]
        self._comparison.moved(state.counts, used, first=rest)
        self._gained = tuple(level for level in self.levels if shares.get(level, 0.0) > before.get(level, 0.0))

    def _weights(self, shares: Shares) -> dict[str, float]:
        return {pool: round(shares.get(level, 0.0), 6) for level, pool in self._pools.items()}

    def _shares(self, state: PoolState) -> dict[Level, float]:
        """Shares of the levels.

        Raises:
            ActuatorError: a pool that belongs to no level has traffic.
        """
        others = [name for name, share in state.shares.items() if share > 0.0 and name not in self._pools.values()]
        if others:
            words = f"pool {others[0]} has traffic and belongs to no level; see [lever] pools"
            raise ActuatorError(words, retry=False)
        return {level: state.shares[pool] for level, pool in self._pools.items() if state.shares[pool] > 0.0}

    def _foreign(self, state: PoolState) -> str:
        return "" if state.setter in {AT_START, self._admin.setter} else state.setter

    def _position(self, state: PoolState) -> Position:
        draining = [
            f"requests still under way at {name}: {count}"
            for name, count in state.in_flight.items()
            if count and not state.shares[name]
        ]
        notes = ["no token_file is given: weights cannot be set"] if not self._admin.may_write else []
        return Position(
            self._shares(state), settled=True, foreign=self._foreign(state), note="; ".join(notes + draining)
        )


def build(table: Mapping[str, Any], levels: tuple[Level, ...]) -> LocalPool:
    """Kind `local`, from the table `[lever]` without `kind`.

    Raises:
        ValueError: what is wrong in the table, in one line.
    """
    read = LeverTable("lever", table, KEYS)
    try:
        url = Endpoint.parse(read.text("url"))
    except ValueError as error:
        raise ValueError(f"[lever] url: {str(error).removeprefix('[lever] url ')}") from None
    if read.has("pools"):
        pools = {level: read.word(f"pools.{level}", name) for level, name in read.by_level("pools", levels).items()}
    else:
        pools = {level: level.value for level in levels}
    limits = health_limits(read)
    call = caller(read.number("timeout_s", TIMEOUT_S), read.text("ca_file", ""))
    token_file = read.file("token_file") if read.has("token_file") else None
    admin = PoolAdmin(url, call, token_file, read.text("setter", SETTER) or SETTER)
    return LocalPool(admin, pools, steps=read.steps("steps", STEPS), limits=limits, force=read.flag("force"))
