"""The pools on the admin port: everybody there may look, and who holds the token may set the weights."""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from specwatch_exporters.json_text import decode
from specwatch_exporters.proxy.lane import Lane
from specwatch_exporters.proxy.pool_weights import (
    MAX_SETTER,
    PoolWeights,
    StaleWeightsError,
    Weights,
    WeightsError,
)
from specwatch_exporters.proxy.upstreams import Upstream
from specwatch_exporters.sidecar.site import Answer, Change

LOG: Final = logging.getLogger("specwatch.proxy")
PATH: Final = "/pools"
_UNNAMED: Final = "somebody who gave no name"


class PoolsPage:
    """`GET` and `PUT /pools`.

    Args:
        pools: as they are set up.
        lanes: one per pool.
        weights: in force.
        token_file: holds the bearer token, read for every change; None refuses all changes.
        anywhere: take changes from other machines, too.
    """

    def __init__(
        self,
        pools: Sequence[Upstream],
        lanes: Sequence[Lane],
        weights: PoolWeights,
        token_file: Path | None,
        *,
        anywhere: bool,
    ) -> None:
        self._pools = tuple(zip(pools, lanes, strict=True))
        self._weights = weights
        self._token_file = token_file
        self._anywhere = anywhere

    def get(self, _query: str, _accept: str) -> Answer:
        """Weights with their version, and figures since the start."""
        return self._shown(self._weights.now)

    def put(self, change: Change) -> Answer:
        """Set weights: a JSON object `{"weights": {"ngram": 1}, "by": "who"}` for the version in If-Match."""
        refused = self._not_allowed(change)
        if refused is not None:
            return refused
        version = change.headers.get("if-match", "")
        if not version:
            return _problem(HTTPStatus.PRECONDITION_REQUIRED, "If-Match is missing: say which version is meant")
        wanted = decode(change.body)
        if not isinstance(wanted, Mapping) or not {"weights"} <= set(wanted) <= {"weights", "by"}:
            return _problem(HTTPStatus.BAD_REQUEST, 'accepted: {"weights": {"NAME": NUMBER, ...}, "by": "WHO"}')
        return self._set(wanted["weights"], version.strip().strip('"'), _setter(wanted.get("by")))

    def _set(self, weights: Any, version: str, setter: str) -> Answer:
        try:
            now = self._weights.replace(weights, version, setter)
        except WeightsError as error:
            return _problem(HTTPStatus.BAD_REQUEST, str(error))
        except StaleWeightsError:
            return _problem(HTTPStatus.PRECONDITION_FAILED, "somebody has set other weights meanwhile: look again")
        except OSError as error:
            return _problem(HTTPStatus.INTERNAL_SERVER_ERROR, f"the weights cannot be kept: {error.strerror}")
        shares = ", ".join(f"{lane.name} {now.share(at):.1%}" for at, (_, lane) in enumerate(self._pools))
        LOG.info("weights set by %s: %s", now.setter, shares)
        return self._shown(now)

    def _not_allowed(self, change: Change) -> Answer | None:
        if self._token_file is None:
            return _problem(HTTPStatus.FORBIDDEN, "weights can be set only with --admin-token-file")
        if not self._anywhere and not _is_local(change.peer):
            return _problem(HTTPStatus.FORBIDDEN, "weights are set from this machine only (--pool-control)")
        try:
            token = self._token_file.read_bytes().strip()
        except OSError as error:
            return _problem(HTTPStatus.FORBIDDEN, f"the token file cannot be read: {error.strerror}")
        kind, _, given = change.headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token)
        if not token or kind.lower() != "bearer" or not same:
            bearer = (("WWW-Authenticate", "Bearer"),)
            return _problem(HTTPStatus.UNAUTHORIZED, "the bearer token is missing or wrong", bearer)
        return None

    def _shown(self, now: Weights) -> Answer:
        pools = [
            {
                "name": lane.name,
                "url": pool.endpoint.display,
                "method": lane.method,
                "weight": now.values[at],
                "share": now.share(at),
                **lane.ledger.as_json(),
            }
            for at, (pool, lane) in enumerate(self._pools)
        ]
        body = {"version": now.version, "by": now.setter, "pools": pools}
        return _json(HTTPStatus.OK, body, (("ETag", f'"{now.version}"'),))


def _is_local(peer: str) -> bool:
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _setter(text: Any) -> str:
    """Who sets weights, made printable."""
    kept = "".join(letter for letter in text if letter.isprintable()) if isinstance(text, str) else ""
    return kept.strip()[:MAX_SETTER] or _UNNAMED


def _problem(status: HTTPStatus, text: str, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    return _json(status, {"error": text}, headers)


def _json(status: HTTPStatus, body: Mapping[str, Any], headers: tuple[tuple[str, str], ...]) -> Answer:
    return Answer(status, "application/json", json.dumps(body, indent=1).encode() + b"\n", headers)
