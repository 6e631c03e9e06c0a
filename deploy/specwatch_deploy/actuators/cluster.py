"""What the actuators ask of a Kubernetes API, and how it can refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from specwatch_detectors.fallback.actuator import ActuatorError

Json = dict[str, Any]
"""An object of the API as it comes and goes."""

FIELD_MANAGER: Final = "specwatch-fallback"
"""Under this name everything is applied, so that `managedFields` tells what is ours."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object.

    Attributes:
        group: API group, empty for the core.
        version: of the group.
        plural: as it stands in paths and Roles.
        kind: as it stands in manifests.
    """

    group: str
    version: str
    plural: str
    kind: str

    @property
    def api_version(self) -> str:
        """As it stands in manifests."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str, name: str = "") -> str:
        """Path of one object, or of all in a namespace."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" + (f"/{name}" if name else "")


SERVICES: Final = Resource("", "v1", "services", "Service")
PODS: Final = Resource("", "v1", "pods", "Pod")
DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
ENDPOINT_SLICES: Final = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
HTTP_ROUTES: Final = Resource("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")


class MissingError(ActuatorError):
    """There is no such object."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retry=False)


class ConflictError(ActuatorError):
    """Somebody wrote in between: read again, then decide again."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retry=True)


class OwnedError(ActuatorError):
    """Server-side apply found that somebody else manages the field."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retry=False)


class Cluster(Protocol):
    """The calls that are made; each raises ActuatorError or one of the errors above."""

    def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """One object; MissingError without it. Verb get."""

    def labelled(self, resource: Resource, namespace: str, labels: Mapping[str, str]) -> list[Json]:
        """Objects that carry all these labels. Verb list."""

    def apply(self, resource: Resource, body: Json, *, force: bool) -> Json:
        """Server-side apply of what this manager manages; may be repeated. Verb patch.

        A `resourceVersion` in the body is a condition (ConflictError).
        """

    def create(self, resource: Resource, body: Json) -> Json:
        """Create; ConflictError if there is one already. Verb create."""

    def replace(self, resource: Resource, body: Json) -> Json:
        """Replace the version that the body names; ConflictError if it is not that one any more. Verb update."""
