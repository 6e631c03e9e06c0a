"""The pools of a request sidecar, read and set through its admin port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from specwatch_deploy.actuators.json_call import Call, Caller, Reply, json_bytes
from specwatch_deploy.actuators.pool_figures import PoolCounts, PoolFigures
from specwatch_detectors.fallback.actuator import ActuatorError
from specwatch_exporters.sidecar.endpoint import Endpoint

PATH: Final = "/pools"
AT_START: Final = "start"
_PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


@dataclass(frozen=True, slots=True)
class PoolState:
    """The pools at one moment.

    Attributes:
        version: of the weights.
        setter: who set them; `start` as the sidecar was started.
        shares: of new requests, by pool.
        in_flight: requests under way, by pool.
        counts: by pool, since the sidecar started.
    """

    version: str
    setter: str
    shares: Mapping[str, float]
    in_flight: Mapping[str, int]
    counts: PoolCounts


class OvertakenError(ActuatorError):
    """Somebody has set other weights meanwhile; looking again tells which."""


class PoolAdmin:
    """One sidecar's admin port.

    Args:
        url: of the port, or of what its path hangs on.
        call: makes calls.
        token_file: holds the bearer token, read for every change; None if only looking is wanted.
        setter: name that changes are made under.
    """

    def __init__(self, url: Endpoint, call: Caller, token_file: Path | None, setter: str) -> None:
        self.url = Endpoint(url.scheme, url.host, url.port, url.path.rstrip("/") + PATH)
        self.setter = setter
        self._call = call
        self._token_file = token_file

    @property
    def may_write(self) -> bool:
        """Whether there is a token to set weights with."""
        return self._token_file is not None

    def read(self) -> PoolState:
        """The pools now.

        Raises:
            ActuatorError: there is no answer, or it tells no pools.
        """
        reply = self._call(Call("GET", self.url, {}))
        if reply.status == HTTPStatus.NOT_FOUND:
            raise ActuatorError(f"{self.url.display}: this request sidecar has no pools", retry=False)
        return self._state(reply)

    def body(self, weights: Mapping[str, float]) -> dict[str, Any]:
        """What is sent to set weights."""
        return {"weights": dict(weights), "by": self.setter}

    def write(self, weights: Mapping[str, float], version: str) -> PoolState:
        """Set weights.

        Args:
            weights: by pool.
            version: of those that they replace.

        Raises:
            OvertakenError: other weights are in force than those.
            ActuatorError: they were not set.
        """
        headers = {"If-Match": f'"{version}"', "Authorization": f"Bearer {self._token()}"}
        reply = self._call(Call("PUT", self.url, headers, json_bytes(self.body(weights))))
        if reply.status == HTTPStatus.PRECONDITION_FAILED:
            raise OvertakenError(f"{self.url.display}: {reply.problem}", retry=True)
        return self._state(reply)

    def _token(self) -> str:
        if self._token_file is None:
            raise ActuatorError("[lever] token_file is missing: weights are set only with a token", retry=False)
        try:
            token = self._token_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise ActuatorError(f"{self._token_file} cannot be read: {reason}", retry=False) from error
        if not token or not token.isascii() or not token.isprintable():
            raise ActuatorError(f"{self._token_file} holds no token: one line of ASCII", retry=False)
        return token

    def _state(self, reply: Reply) -> PoolState:
        if reply.status != HTTPStatus.OK:
            passing = reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR or reply.status in _PASSING
            words = reply.problem or "it gives no reason"
            raise ActuatorError(f"{self.url.display} answered {reply.status}: {words}", retry=passing)
        try:
            pools = {str(pool["name"]): pool for pool in reply.body["pools"]}
            return PoolState(
                version=str(reply.body["version"]),
                setter=str(reply.body["by"]),
                shares={name: float(pool["share"]) for name, pool in pools.items()},
                in_flight={name: int(pool["in_flight"]) for name, pool in pools.items()},
                counts={name: PoolFigures.from_json(pool) for name, pool in pools.items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ActuatorError(
                f"{self.url.display} does not answer as a request sidecar does", retry=False
            ) from error
