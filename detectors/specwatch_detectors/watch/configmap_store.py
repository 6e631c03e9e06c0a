"""State and lease in a Kubernetes ConfigMap.

Each write names the version that it replaces, so that Kubernetes refuses it (409) if somebody wrote in between;
then the lease is looked at again. Needs get, create and update of ConfigMaps.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Mapping
from typing import Any, Final

from kubernetes import client, config
from urllib3.exceptions import HTTPError

from specwatch_detectors.watch.lease import Kept, Lease
from specwatch_detectors.watch.packed_state import packed, unpacked
from specwatch_detectors.watch.store import HeldByAnotherError, StoreError

LOG = logging.getLogger("specwatch.watch")
STATE_KEY: Final = "state.json.gz"
LEASE_KEY: Final = "lease.json"
TRIES: Final = 5
TIMEOUT_S: Final = 10
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409


def connect() -> client.CoreV1Api:
    """The API of the cluster that this runs in, or of the kubeconfig's present context.

    Raises:
        StoreError: there is neither.
    """
    try:
        config.load_incluster_config()  # type: ignore[no-untyped-call]
    except config.ConfigException:
        try:
            config.load_kube_config()  # type: ignore[no-untyped-call]
        except (config.ConfigException, OSError) as error:
            raise StoreError(f"no cluster to keep the state in: {' '.join(str(error).split())}") from error
    return client.CoreV1Api()


class ConfigMapStore:
    """One ConfigMap; labels, annotations and other keys in it are kept.

    Args:
        namespace: where it is.
        name: of the ConfigMap; it is made if there is none.
        api: of the cluster.
    """

    def __init__(self, namespace: str, name: str, api: client.CoreV1Api) -> None:
        self._namespace = namespace
        self._name = name
        self._api = api
        self._map: client.V1ConfigMap | None = None
        self._said = False

    def load(self) -> Kept:
        """What is in the ConfigMap; without one there is no state and nobody watches.

        Raises:
            StoreError: it cannot be read, or is no state.
        """
        self._map = self._read()
        if self._map is None:
            return Kept(None, Lease())
        text = (self._map.binary_data or {}).get(STATE_KEY)
        if text is None:
            return Kept(None, _lease(self._map))
        try:
            body = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise StoreError(f"{self._place}: {STATE_KEY} is no base64; delete it to begin anew") from error
        return Kept(unpacked(body), _lease(self._map))

    def save(self, state: Mapping[str, Any], lease: Lease, over: Lease | None = None) -> None:
        """Replace both; a lease that is `over` does not count.

        Raises:
            HeldByAnotherError: somebody else's lease holds.
            StoreError: it cannot be written, or does not fit.
        """
        body, cut = packed(state)
        if cut and not self._said:
            LOG.warning("%s: the state is too large; pods' lives are left out of it", self._place)
            self._said = True
        for _ in range(TRIES):
            if self._map is None:
                self._map = self._read()
            found = Lease() if self._map is None else _lease(self._map)
            if found != over and found.blocks(lease.holder, lease.renewed):
                raise HeldByAnotherError(found)
            if self._written(body, lease):
                return
            self._map = None  # somebody wrote in between: look again
        raise StoreError(f"{self._place}: somebody else keeps writing to it; {TRIES} tries")

    def _written(self, body: bytes, lease: Lease) -> bool:
        """Write once; false if somebody wrote in between."""
        new = self._map or client.V1ConfigMap(metadata=client.V1ObjectMeta(name=self._name))
        new.binary_data = {**(new.binary_data or {}), STATE_KEY: base64.b64encode(body).decode()}
        new.data = {**(new.data or {}), LEASE_KEY: json.dumps(lease.as_json())}
        try:
            if self._map is None:
                self._map = self._api.create_namespaced_config_map(self._namespace, new, _request_timeout=TIMEOUT_S)
            else:
                self._map = self._api.replace_namespaced_config_map(
                    self._name, self._namespace, new, _request_timeout=TIMEOUT_S
                )
        except client.ApiException as error:
            self._map = None
            if error.status in {_CONFLICT, _NOT_FOUND}:
                return False
            raise self._refused(error) from error
        except HTTPError as error:
            self._map = None  # it may have been written: its version is not known any more
            raise StoreError(f"{self._place}: {error}") from error
        return True

    def _read(self) -> client.V1ConfigMap | None:
        try:
            return self._api.read_namespaced_config_map(self._name, self._namespace, _request_timeout=TIMEOUT_S)
        except client.ApiException as error:
            if error.status == _NOT_FOUND:
                return None
            raise self._refused(error) from error
        except HTTPError as error:
            raise StoreError(f"{self._place}: {error}") from error

    def _refused(self, error: client.ApiException) -> StoreError:
        try:
            said = json.loads(error.body or "")["message"]
        except (KeyError, TypeError, ValueError):
            said = error.reason
        return StoreError(f"{self._place}: {error.status} {' '.join(str(said).split())[:200]}")

    @property
    def _place(self) -> str:
        return f"ConfigMap {self._namespace}/{self._name}"


def _lease(found: client.V1ConfigMap) -> Lease:
    try:
        return Lease.from_json(json.loads((found.data or {}).get(LEASE_KEY, "")))
    except ValueError:
        return Lease()
