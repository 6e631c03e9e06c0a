"""Silences a group through Alertmanager's API v2."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from specwatch_exporters.sidecar.endpoint import Endpoint

SILENCE_S: Final = 3600.0
_TIMEOUT_S: Final = 5.0
_MOST_BYTES: Final = 65_536


class SilenceError(ValueError):
    """Nothing was silenced; one line says why."""


def silence(url: str, labels: Mapping[str, str], now: float, by: str, why: str) -> str:
    """Silence what has all of these labels for an hour.

    Args:
        url: of Alertmanager, without `/api/v2`.
        labels: names and values; each is an equality.
        now: epoch seconds.
        by: who asked for it.
        why: comment.

    Returns:
        The silence's ID.

    Raises:
        SilenceError: there are no labels (that would silence everything), or Alertmanager does not do it.
    """
    if not labels:
        raise SilenceError("the group's alerts share no label to silence them by")
    body = {
        "matchers": [
            {"name": name, "value": value, "isRegex": False, "isEqual": True}
            for name, value in sorted(labels.items())
        ],
        "startsAt": _written(now),
        "endsAt": _written(now + SILENCE_S),
        "createdBy": by,
        "comment": why,
    }
    try:
        return str(_post(url, body)["silenceID"])
    except HTTPError as error:
        error.close()
        raise SilenceError(f"Alertmanager answers {error.code}") from None
    except (OSError, HTTPException) as error:
        raise SilenceError(f"Alertmanager cannot be reached: {getattr(error, 'reason', error)}") from None
    except (KeyError, TypeError, ValueError):
        raise SilenceError("the answer is not Alertmanager's") from None


def _post(url: str, body: Mapping[str, Any]) -> Any:
    endpoint = Endpoint.parse(url)
    headers = {"Content-Type": "application/json"}
    if endpoint.authorization is not None:
        headers["Authorization"] = endpoint.authorization
    address = f"{endpoint.scheme}://{endpoint.authority}{endpoint.path.rstrip('/')}/api/v2/silences"
    request = Request(address, json.dumps(body).encode(), headers)  # noqa: S310 - Endpoint takes http(s) only
    with urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - likewise
        return json.loads(answer.read(_MOST_BYTES))


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
