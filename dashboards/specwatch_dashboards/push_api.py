"""Calls of Grafana's HTTP API: bounded in time and size, no redirect is followed, the token is never told."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any, Final

from specwatch_alerts.slack.secret_file import SecretFile
from specwatch_exporters.json_text import decode
from specwatch_exporters.sidecar.endpoint import Endpoint

TIMEOUT_S: Final = 20.0
_MOST_BYTES: Final = 16 * 1024 * 1024
_SHOWN: Final = 200
_MEANINGS: Final = {
    401: "it does not accept the token",
    403: "the token may not do this",
    404: "there is no such thing there",
    409: "it is there already",
    412: "it does not replace what is there",
    413: "it is too large for the server or a proxy before it",
    429: "it has too many requests",
}


class PushError(ValueError):
    """Grafana did not do it; one line.

    Attributes:
        status: HTTP status; 0 without an answer.
        kind: Grafana's own word, such as `version-mismatch`; may be empty.
    """

    def __init__(self, message: str, status: int = 0, kind: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class GrafanaApi:
    """One Grafana.

    Args:
        url: without `/api`; a path before it is kept.
        token: of a service account.
        timeout_s: for each wait on the network.

    Raises:
        ValueError: it is no URL; one clause that does not repeat credentials.
    """

    def __init__(self, url: str, token: SecretFile, timeout_s: float = TIMEOUT_S) -> None:
        self._endpoint = Endpoint.parse(url)
        self._token = token
        self._timeout_s = timeout_s

    @property
    def display(self) -> str:
        """Its address for people, without credentials and without a slash at the end."""
        return self._endpoint.display.rstrip("/")

    def get(self, path: str) -> Any:
        """What is at a path below `/api`.

        Raises:
            PushError: Grafana does not give it.
            SecretError: the token's file holds none.
        """
        return self._call("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send JSON to a path below `/api`.

        Raises:
            PushError: Grafana does not take it.
            SecretError: the token's file holds none.
        """
        return self._call("POST", path, json.dumps(body, ensure_ascii=False).encode())

    def _call(self, method: str, path: str, body: bytes | None) -> Any:
        headers = {"Accept": "application/json", "Authorization": f"Bearer {self._token.read()}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = self._connection()
        try:
            connection.request(method, f"{self._endpoint.path.rstrip('/')}/api{path}", body, headers)
            answer = connection.getresponse()
            text = answer.read(_MOST_BYTES)
        except TimeoutError:
            raise PushError(f"{self.display} did not answer within {self._timeout_s:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise PushError(f"{self.display} cannot be reached: {reason}") from None
        finally:
            connection.close()
        return self._read(answer.status, decode(text))

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._endpoint.host, self._endpoint.port
        if self._endpoint.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=context)
        return http.client.HTTPConnection(host, port, timeout=self._timeout_s)

    def _read(self, status: int, body: Any) -> Any:
        if 300 <= status < 400:
            raise PushError(f"{self.display} answers {status}: give the address that it redirects to", status)
        if status >= 400:
            raise PushError(f"{self.display} answers {status}: {_said(status, body)}", status, _kind(body))
        if body is None:
            raise PushError(f"{self.display} is not a Grafana: its answer is not JSON", status)
        return body


def _said(status: int, body: Any) -> str:
    """What a status means, and Grafana's own words, printable and short."""
    words = body.get("message") if isinstance(body, Mapping) else None
    own = "".join(letter for letter in str(words or "") if letter.isprintable())[:_SHOWN]
    meaning = _MEANINGS.get(status, "it is out of order; try again later" if status >= 500 else "it refuses")
    return f"{meaning} ({own})" if own else meaning


def _kind(body: Any) -> str:
    return str(body.get("status", "")) if isinstance(body, Mapping) else ""
