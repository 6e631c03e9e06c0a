"""One HTTP call with a JSON body: bounded in time and size, follows no redirect, keeps its secret to itself."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_detectors.fallback.actuator import ActuatorError
from specwatch_exporters.json_text import decode
from specwatch_exporters.sidecar.endpoint import Endpoint

TIMEOUT_S: Final = 5.0
_MAX_ANSWER: Final = 1024 * 1024
_SHOWN: Final = 160


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer.

    Attributes:
        status: HTTP status.
        headers: by name in lower case.
        body: as JSON, or None if it is none.
    """

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def problem(self) -> str:
        """What the other side says is wrong, as one short printable clause; empty if it says nothing."""
        said = self.body.get("error") if isinstance(self.body, Mapping) else None
        text = said if isinstance(said, str) else ""
        return "".join(letter for letter in text if letter.isprintable())[:_SHOWN]


@dataclass(frozen=True, slots=True)
class Call:
    """What is sent.

    Attributes:
        method: HTTP method.
        url: where to.
        headers: further headers.
        body: bytes of a JSON text, or None.
    """

    method: str
    url: Endpoint
    headers: Mapping[str, str]
    body: bytes | None = None


Caller = Callable[[Call], Reply]
"""Makes a call; raises ActuatorError if there is no answer."""


def json_bytes(body: Any) -> bytes:
    """JSON in one form only: keys sorted, no blanks."""
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def caller(timeout_s: float = TIMEOUT_S, ca_file: str = "") -> Caller:
    """What makes calls over http and https.

    Args:
        timeout_s: for each wait on the network.
        ca_file: PEM file of authorities to trust instead of the system's; empty for those.

    Raises:
        ValueError: the file holds no certificates.
    """
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
    except (OSError, ValueError) as error:
        raise ValueError(f"[lever] ca_file {ca_file}: it holds no certificates in PEM form") from error
    return lambda call: _made(call, timeout_s, context)


def _made(call: Call, timeout_s: float, context: ssl.SSLContext) -> Reply:
    host, port = call.url.host, call.url.port
    if call.url.scheme == "https":
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=timeout_s, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
    headers = {"Accept": "application/json", **call.headers}
    if call.body is not None:
        headers["Content-Type"] = "application/json"
    try:
        connection.request(call.method, call.url.target, call.body, headers)
        answer = connection.getresponse()
        body = answer.read(_MAX_ANSWER + 1)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise ActuatorError(f"{call.url.display} does not answer: {reason}", retry=True) from error
    finally:
        connection.close()
    if len(body) > _MAX_ANSWER:
        raise ActuatorError(f"{call.url.display} answered with more than 1 MiB", retry=False)
    return Reply(answer.status, {name.lower(): text for name, text in answer.getheaders()}, decode(body))
