"""One object of which one field is moved by server-side apply, with care for who else manages it.

The list or map that holds the field is atomic in Kubernetes (the rules of an HTTPRoute, the selector of a Service,
the arguments of a container): whoever applies part of it applies and manages all of it. So it is read, changed in
the one place, and sent back whole under the condition that nobody wrote in between (`resourceVersion`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_deploy.actuators.cluster import FIELD_MANAGER, Cluster, ConflictError, Json, Resource
from specwatch_deploy.actuators.kept_fields import kept_fields, overlaid
from specwatch_deploy.actuators.managed_fields import FieldPath, owned_by, owners
from specwatch_deploy.actuators.permission import Permission, permissions
from specwatch_detectors.fallback.actuator import ActuatorError

NOTE: Final = "specwatch/fallback-before"
"""Annotation with what was there before leaving home, so that a person can put it back by hand; gone at home."""
NOTE_FIELD: Final = ("f:metadata", "f:annotations", f"f:{NOTE}")
TRIES: Final = 5
PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Change:
    """What is applied to an object.

    Attributes:
        fields: what it becomes, from the top (`{"spec": …}`); what else is ours is sent along.
        field: what moves, as managers hold it.
        before: what is there now, to put back; None when this itself puts something back.
        home: it comes home, to the first level.
    """

    fields: Mapping[str, Any]
    field: FieldPath
    before: Any
    home: bool


class AppliedObject:
    """The object.

    Args:
        cluster: where it is.
        resource: its kind.
        namespace: where.
        name: its name.
        force: take the field over from whoever manages it.
        pause: waits between tries after a conflict, seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        force: bool = False,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cluster = cluster
        self._resource = resource
        self._namespace = namespace
        self._name = name
        self._force = force
        self._pause = pause

    def __str__(self) -> str:
        return f"{self._resource.kind} {self._namespace}/{self._name}"

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Read it, and apply to it."""
        return permissions(self._resource, "get", "patch", name=self._name)

    def read(self) -> Json:
        """The object as it is now."""
        return self._cluster.get(self._resource, self._namespace, self._name)

    def foreign(self, found: Json, field: FieldPath) -> str:
        """Who else manages a field, in words, or empty."""
        others = [owner for owner in owners(found, field) if owner.name != FIELD_MANAGER]
        if not others:
            return ""
        words = ", ".join(sorted({owner.words for owner in others}))
        if self._taken_back(found, field):
            since = max(owner.at for owner in others)
            return f"{words}, who took it back after our last movement" + (f" ({since})" if since else "")
        return words

    def sent(self, found: Json, change: Change) -> Json:
        """The one call that makes a change, as JSON: what a dry run shows and `apply` sends."""
        return {
            "method": "PATCH",
            "path": self._resource.path(self._namespace, self._name),
            "query": {"fieldManager": FIELD_MANAGER, "force": self._force},
            "contentType": "application/apply-patch+yaml",
            "body": self._body(found, change),
            "before": change.before,
        }

    def move(self, decide: Callable[[Json], Change | None]) -> None:
        """Read, decide, apply; again from the start if somebody wrote in between.

        Args:
            decide: what to apply to what is there, or None if it is as wanted.

        Raises:
            ActuatorError: somebody else manages the field, or keeps writing; or the cluster refuses.
        """
        for attempt in range(TRIES):
            found = self.read()
            change = decide(found)
            if change is None:
                return
            self._refuse_foreign(found, change.field)
            try:
                self._cluster.apply(self._resource, self._body(found, change), force=self._force)
            except ConflictError:
                self._pause(PAUSE_S * 2.0**attempt)
            else:
                return
        raise ActuatorError(f"{self}: somebody else keeps writing to it; {TRIES} tries", retry=True)

    def _body(self, found: Json, change: Change) -> Json:
        fields = overlaid(kept_fields(found), change.fields)
        kept: Json = fields.pop("metadata", {})
        notes: Json = kept.pop("annotations", {})
        if change.home:
            notes.pop(NOTE, None)
        elif change.before is not None:
            notes.setdefault(NOTE, json.dumps(change.before, separators=(",", ":")))
        metadata: Json = {"name": self._name, "namespace": self._namespace, **kept}
        metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
        if notes:
            metadata["annotations"] = notes
        kind = {"apiVersion": self._resource.api_version, "kind": self._resource.kind}
        return {**kind, "metadata": metadata, **fields}

    def _taken_back(self, found: Json, field: FieldPath) -> bool:
        """Our annotation is there and the field is not ours any more: somebody has set it since."""
        return owned_by(found, NOTE_FIELD, FIELD_MANAGER) and not owned_by(found, field, FIELD_MANAGER)

    def _refuse_foreign(self, found: Json, field: FieldPath) -> None:
        words = self.foreign(found, field)
        if not words:
            return
        if self._taken_back(found, field):
            raise ActuatorError(
                f"{self} is managed by {words}: not fought over; let it ignore what {FIELD_MANAGER} manages, then"
                f" remove the annotation {NOTE}",
                retry=False,
            )
        if not self._force:
            raise ActuatorError(f"{self} is managed by {words}: set force = true to take it over", retry=False)
