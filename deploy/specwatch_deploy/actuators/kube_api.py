"""The Kubernetes API through the official client, which this module alone imports (extra `kube`)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubernetes import client, config
from urllib3.exceptions import HTTPError

from specwatch_deploy.actuators.cluster import (
    FIELD_MANAGER,
    ConflictError,
    Json,
    MissingError,
    OwnedError,
    Resource,
)
from specwatch_detectors.fallback.actuator import ActuatorError

JSON_TYPE: Final = "application/json"
APPLY_TYPE: Final = "application/apply-patch+yaml"
TIMEOUT_S: Final = 5.0
TRIES: Final = 3
MOST_WAIT_S: Final = 10.0
"""A longer Retry-After is not sat out here: the caller is told, and decides again when it comes back."""
FIRST_WAIT_S: Final = 0.2
"""Wait before the second try where the server asks for none; it doubles."""
PASSING: Final = frozenset({429, 500, 502, 503, 504})
WRITES: Final = frozenset({"POST", "PUT", "PATCH"})


def connect(kubeconfig: str = "", context: str = "") -> client.ApiClient:
    """A client of the cluster that this runs in, or of a kubeconfig.

    Args:
        kubeconfig: path; empty for the pod's ServiceAccount, and without one for the user's own kubeconfig.
        context: of the kubeconfig; empty for its present one.

    Raises:
        ActuatorError: there is no cluster to talk to.
    """
    settings = client.Configuration()
    try:
        _load(settings, kubeconfig, context)
    except (config.ConfigException, OSError) as error:
        raise ActuatorError(f"no cluster to talk to: {_one_line(error)}", retry=False) from error
    settings.retries = False  # urllib3 would sit out any Retry-After; retrying is KubeApi's
    return client.ApiClient(settings)


def _load(settings: client.Configuration, kubeconfig: str, context: str) -> None:
    if not kubeconfig and not context:
        try:
            config.load_incluster_config(client_configuration=settings)  # type: ignore[no-untyped-call]
        except config.ConfigException:
            pass
        else:
            return
    config.load_kube_config(  # type: ignore[no-untyped-call]
        config_file=kubeconfig or None, context=context or None, client_configuration=settings, persist_config=False
    )


class KubeApi:
    """A `Cluster`: every call has a time-out; throttling and passing faults are tried again.

    Writes may be repeated: an apply is idempotent, and create and update name the version that they replace.

    Args:
        api: client of the cluster, without retries of its own.
        timeout_s: to connect, and again for each read of the answer.
        tries: of one call.
        sleep: waits; given by tests.
        before_write: called before every try of a write; raises to forbid it (leadership lost).
    """

    def __init__(
        self,
        api: client.ApiClient,
        *,
        timeout_s: float = TIMEOUT_S,
        tries: int = TRIES,
        sleep: Callable[[float], None] = time.sleep,
        before_write: Callable[[], None] = lambda: None,
    ) -> None:
        self._api = api
        self._timeout_s = timeout_s
        self._tries = tries
        self._sleep = sleep
        self._before_write = before_write

    def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """One object."""
        return self._call("GET", resource.path(namespace, name))

    def labelled(self, resource: Resource, namespace: str, labels: Mapping[str, str]) -> list[Json]:
        """Objects with these labels."""
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        found = self._call("GET", resource.path(namespace), query=[("labelSelector", selector)])
        return list(found.get("items") or [])

    def apply(self, resource: Resource, body: Json, *, force: bool) -> Json:
        """Server-side apply under the field manager of specwatch."""
        query = [("fieldManager", FIELD_MANAGER), ("force", str(force).lower())]
        return self._call("PATCH", _path(resource, body), query=query, body=body, content_type=APPLY_TYPE)

    def create(self, resource: Resource, body: Json) -> Json:
        """Create an object."""
        path = resource.path(body["metadata"]["namespace"])
        return self._call("POST", path, query=[("fieldManager", FIELD_MANAGER)], body=body)

    def replace(self, resource: Resource, body: Json) -> Json:
        """Replace an object."""
        return self._call("PUT", _path(resource, body), query=[("fieldManager", FIELD_MANAGER)], body=body)

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: list[tuple[str, str]] | None = None,
        body: Json | None = None,
        content_type: str = JSON_TYPE,
    ) -> Json:
        wait_s = FIRST_WAIT_S
        for left in range(self._tries - 1, -1, -1):
            if method in WRITES:
                self._before_write()
            try:
                status, headers, text = self._once(method, path, query or [], body, content_type)
            except (HTTPError, client.ApiException) as error:
                if not left:
                    raise ActuatorError(f"{method} {path}: {_one_line(error)}", retry=True) from error
                asked_s = None
            else:
                if status not in PASSING:
                    return _answer(f"{method} {path}", status, text)
                asked_s = _retry_after(headers.get("Retry-After"))
                if not left or (asked_s or 0.0) > MOST_WAIT_S:
                    later = "" if asked_s is None else f"; it asks to wait {asked_s:g} s"
                    words = f"{method} {path}: {status} {_said(text)}{later}"
                    raise ActuatorError(words, retry=True, wait_s=asked_s or 0.0)
            self._sleep(wait_s if asked_s is None else asked_s)
            wait_s *= 2.0
        raise ActuatorError(f"{method} {path}: no try was allowed", retry=False)

    def _once(
        self, method: str, path: str, query: list[tuple[str, str]], body: Json | None, content_type: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Accept": JSON_TYPE, "Content-Type": content_type}
        sent: Any = json.dumps(body) if content_type == APPLY_TYPE else body
        request = self._api.param_serialize(
            method, path, query_params=query, header_params=headers, body=sent, auth_settings=["BearerToken"]
        )
        response = self._api.call_api(*request, _request_timeout=self._timeout_s)
        return response.status, response.headers, bytes(response.read())  # type: ignore[no-untyped-call]


def _path(resource: Resource, body: Json) -> str:
    return resource.path(body["metadata"]["namespace"], body["metadata"]["name"])


def _answer(call: str, status: int, text: bytes) -> Json:
    """The object in an answer, or the error that it means."""
    if 200 <= status < 300:
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ActuatorError(f"{call}: the answer is no JSON; is this a Kubernetes API?", retry=True) from error
        if isinstance(found, dict):
            return found
        raise ActuatorError(f"{call}: the answer is no object; is this a Kubernetes API?", retry=True)
    said = f"{call}: {status} {_said(text)}"
    if status == 404:
        raise MissingError(said)
    if status == 409:
        raise OwnedError(said) if _is_owned(text) else ConflictError(said)
    raise ActuatorError(said, retry=False)


def _is_owned(text: bytes) -> bool:
    """Whether a 409 is a conflict of field managers; a change in between is the other kind."""
    causes = (_status(text).get("details") or {}).get("causes") or []
    return any(cause.get("reason") == "FieldManagerConflict" for cause in causes)


def _status(text: bytes) -> Json:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _said(text: bytes) -> str:
    """What the server said, in one line of at most 300 characters."""
    said = _status(text).get("message") or text.decode("utf-8", "replace")
    return _one_line(said)[:300]


def _one_line(said: object) -> str:
    return " ".join(str(said).split())


def _retry_after(value: str | None) -> float | None:
    """Seconds that a server asks to wait; Kubernetes sends whole seconds, never a date."""
    try:
        return None if value is None else max(0.0, float(value))
    except ValueError:
        return None
