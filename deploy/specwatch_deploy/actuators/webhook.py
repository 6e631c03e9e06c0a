"""The webhook: a signed POST to whoever has a lever of their own.

It says which shares are wanted, under an idempotency key that is the same however often it is sent. Where the
lever is, its owner tells at `status_url`; without one, an answer of success means that it has moved, and a file
keeps that.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple

from specwatch_deploy.actuators.json_call import TIMEOUT_S, Call, Caller, Reply, caller, json_bytes
from specwatch_deploy.actuators.lever_table import LeverTable
from specwatch_deploy.actuators.movement import checked_shares, same_shares
from specwatch_deploy.actuators.webhook_position import KeptPosition, Told, told
from specwatch_deploy.actuators.webhook_signature import IDEMPOTENCY_KEY, SIGNATURE, TIMESTAMP, sign
from specwatch_detectors.fallback.actuator import ActuatorError, Health, Plan, Position, Shares
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.transition import shares_as_json, shares_text
from specwatch_exporters.sidecar.endpoint import Endpoint

STEPS: Final = (0.05, 0.25, 1.0)
TRIES: Final = 3
KEYS: Final = (
    "url",
    "status_url",
    "state_file",
    "start",
    "secret_file",
    "steps",
    "timeout_s",
    "tries",
    "ca_file",
    "force",
)
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 10.0
_LEAST_SECRET: Final = 16


class Times(NamedTuple):
    """Clock and patience.

    Attributes:
        now: epoch seconds.
        sleep: waits for seconds.
        tries: of one call.
    """

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    tries: int = TRIES


class Webhook:
    """Asks somebody else to move.

    Args:
        url: that is told.
        where: that is asked, or the file that keeps what was answered.
        levels: that it can serve.
        secret_file: holds the secret of the signature, read for every call.
        call: makes calls.
        steps: shares of a new level on the way to all.
        times: clock and patience.
    """

    def __init__(
        self,
        url: Endpoint,
        where: Endpoint | KeptPosition,
        levels: tuple[Level, ...],
        secret_file: Path,
        call: Caller,
        steps: tuple[float, ...] = STEPS,
        times: Times = Times(),  # noqa: B008 - immutable
    ) -> None:
        self._url = url
        self._where = where
        self._levels = levels
        self._secret_file = secret_file
        self._call = call
        self._steps = steps
        self._times = times

    @property
    def levels(self) -> tuple[Level, ...]:
        """As they were declared."""
        return self._levels

    @property
    def steps(self) -> tuple[float, ...]:
        """Shares of a new level on the way to all."""
        return self._steps

    def describe(self) -> Position:
        """Where its owner says that it is, or where it was answered to be."""
        return self._told().position

    def plan(self, shares: Shares) -> Plan:
        """The one call; its identity follows from the movement before, so that the same one later is another."""
        wanted = _some(checked_shares(shares, self._levels))
        now = self._told()
        before = dict(now.position.shares)
        last = now.movement or str(int(self._times.now()))
        chain = [self._url.display, shares_as_json(before), shares_as_json(wanted), last]
        identity = hashlib.sha256(json_bytes(chain)).hexdigest()[:32]
        body = _body(identity, "apply", wanted, before)
        change = {"method": "POST", "url": self._url.display, "idempotencyKey": identity, "body": body}
        text = f"POST {self._url.display}: {shares_text(before)} to {shares_text(wanted)}"
        return Plan(identity, wanted, before, (change,), text)

    def apply(self, plan: Plan) -> None:
        """Send it; an answer of success means that it was taken."""
        self._post(plan.identity, _body(plan.identity, "apply", plan.shares, plan.before), plan.shares)

    def verify(self, plan: Plan) -> Position:
        """Where it is; settled once its shares are the plan's and its owner says so."""
        found = self._told().position
        there = same_shares(found.shares, plan.shares, 1e-3)
        return Position(found.shares, settled=found.settled and there, foreign=found.foreign, note=found.note)

    def health(self) -> Health:
        """As its owner judges; unknown if they do not say."""
        return self._told().health

    def undo(self, plan: Plan) -> None:
        """Send that the movement is to be taken back."""
        if same_shares(self._told().position.shares, plan.before, 1e-3):
            return
        key = f"{plan.identity}-undo"
        self._post(key, _body(key, "undo", plan.before, plan.shares), plan.before)

    def _told(self) -> Told:
        if isinstance(self._where, KeptPosition):
            return self._where.read()
        reply = self._patient(lambda endpoint: Call("GET", endpoint, self._signed(b"")), self._where)
        return told(reply.body, self._levels, self._where.display)

    def _post(self, key: str, body: Mapping[str, Any], shares: Shares) -> None:
        data = json_bytes(body)
        self._patient(
            lambda endpoint: Call("POST", endpoint, {**self._signed(data), IDEMPOTENCY_KEY: key}, data), self._url
        )
        if isinstance(self._where, KeptPosition):
            self._where.write(shares_as_json(shares), key)

    def _signed(self, body: bytes) -> dict[str, str]:
        """Headers of a call that is made now."""
        timestamp = int(self._times.now())
        return {TIMESTAMP: str(timestamp), SIGNATURE: sign(self._secret(), timestamp, body)}

    def _secret(self) -> bytes:
        try:
            secret = self._secret_file.read_bytes().strip()
        except OSError as error:
            raise ActuatorError(f"{self._secret_file} cannot be read: {error.strerror}", retry=False) from error
        if len(secret) < _LEAST_SECRET:
            words = f"{self._secret_file} holds fewer than {_LEAST_SECRET} bytes: no secret worth signing with"
            raise ActuatorError(words, retry=False)
        return secret

    def _patient(self, make: Callable[[Endpoint], Call], endpoint: Endpoint) -> Reply:
        """Call, and again after a growing wait while the other side may recover; every try is signed anew."""
        wait, tries = _FIRST_WAIT_S, self._times.tries
        for left in reversed(range(tries)):
            try:
                reply = self._call(make(endpoint))
            except ActuatorError as error:
                if not error.retry or not left:
                    raise
            else:
                if 200 <= reply.status < 300:
                    return reply
                passing = reply.status == HTTPStatus.TOO_MANY_REQUESTS or reply.status >= 500
                if not passing or not left:
                    words = f"{endpoint.display} answered {reply.status}"
                    problem = f": {reply.problem}" if reply.problem else ""
                    raise ActuatorError(f"{words}{problem}", retry=passing, wait_s=_asked_wait(reply))
                wait = max(wait, _asked_wait(reply))
            self._times.sleep(min(wait, _LONGEST_WAIT_S))
            wait *= 2.0
        raise ActuatorError(f"{endpoint.display} was not called", retry=True)


def _body(identity: str, action: str, shares: Shares, before: Shares) -> dict[str, Any]:
    return {
        "movement": identity,
        "action": action,
        "shares": shares_as_json(_some(shares)),
        "before": shares_as_json(_some(before)),
    }


def _some(shares: Shares) -> dict[Level, float]:
    return {level: share for level, share in shares.items() if share > 0.0}


def _asked_wait(reply: Reply) -> float:
    """Seconds of Retry-After; 0 where it is missing or a date."""
    text = reply.headers.get("retry-after", "")
    return float(text) if text.isdecimal() and text.isascii() and len(text) < 6 else 0.0


def build(table: Mapping[str, Any], levels: tuple[Level, ...]) -> Webhook:
    """Kind `webhook`, from the table `[lever]` without `kind`.

    Raises:
        ValueError: what is wrong in the table, in one line.
    """
    read = LeverTable("lever", table, KEYS)
    url = _endpoint(read, "url")
    if read.has("status_url") == read.has("state_file"):
        raise ValueError(
            "[lever] give either status_url, to be asked, or state_file, which keeps what was answered"
        )
    where: Endpoint | KeptPosition
    if read.has("status_url"):
        where = _endpoint(read, "status_url")
    else:
        start, names = read.text("start", levels[0].value), [level.value for level in levels]
        if start not in names:
            raise ValueError(f"[lever] start must be one of {', '.join(names)}, got {start!r}")
        path = Path(read.text("state_file"))
        if not path.parent.is_dir():
            raise ValueError(f"[lever] state_file {path}: its directory does not exist")
        where = KeptPosition(path, Level(start), levels)
    call = caller(read.number("timeout_s", TIMEOUT_S), read.text("ca_file", ""))
    times = Times(tries=read.count("tries", TRIES))
    read.flag("force")  # the controller's: it passes over a foreign manager
    return Webhook(url, where, levels, read.file("secret_file"), call, read.steps("steps", STEPS), times)


def _endpoint(read: LeverTable, key: str) -> Endpoint:
    try:
        found = Endpoint.parse(read.text(key))
    except ValueError as error:
        raise ValueError(f"[lever] {key}: {str(error).removeprefix(f'[lever] {key} ')}") from None
    if found.userinfo is not None:
        raise ValueError(f"[lever] {key}: credentials do not belong into it; the signature says who calls")
    return found
