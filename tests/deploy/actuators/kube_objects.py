"""The objects of the tests' API: versions, generations, field managers, and what a write may not do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from deploy.actuators.kube_fields import Json, Path, fields_v1, leaves, merged, shown, without

Key = tuple[str, str, str]
"""Plural, namespace, name."""
Manager = tuple[str, str, str]
"""Name, operation, subresource."""
HAS_GENERATION = {"Deployment", "HTTPRoute"}
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


class RefusedError(Exception):
    """An answer that is no success."""

    def __init__(self, code: int, message: str, reason: str = "", causes: list[Json] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.body: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
            **({"details": {"causes": causes}} if causes else {}),
        }


@dataclass
class KubeObjects:
    """What the API keeps; not thread-safe.

    Attributes:
        now: gives the time that managers are stamped with.
    """

    now: Callable[[], str] = lambda: "2026-01-01T00:00:00Z"
    _kept: dict[Key, Json] = field(default_factory=dict)
    _managers: dict[Key, dict[Manager, set[Path]]] = field(default_factory=lambda: defaultdict(dict))
    _times: dict[tuple[Key, Manager], str] = field(default_factory=dict)
    _version: int = 1000

    def get(self, key: Key) -> Json:
        if key not in self._kept:
            raise RefusedError(404, f'{key[0]} "{key[2]}" not found', "NotFound")
        return deepcopy(self._kept[key])

    def select(self, plural: str, namespace: str, labels: dict[str, str]) -> list[Json]:
        return [
            deepcopy(found)
            for (one, place, _), found in sorted(self._kept.items())
            if one == plural
            and namespace in {place, ""}
            and labels.items() <= (found["metadata"].get("labels") or {}).items()
        ]

    def every(self, plural: str) -> list[Json]:
        return [deepcopy(found) for (one, _, _), found in sorted(self._kept.items()) if one == plural]

    def create(self, key: Key, body: Json, manager: str) -> Json:
        if key in self._kept:
            raise RefusedError(409, f'{key[0]} "{key[2]}" already exists', "AlreadyExists")
        metadata = {**body["metadata"], "namespace": key[1], "uid": f"uid-{self._version}"}
        return self._written(key, {"metadata": metadata}, {**body, "metadata": metadata}, (manager, "Update", ""))

    def replace(self, key: Key, body: Json, manager: str) -> Json:
        old = self.get(key)
        self._check_version(old, body)
        metadata = {**body["metadata"], "uid": old["metadata"]["uid"]}
        return self._written(key, old, {**body, "metadata": metadata}, (manager, "Update", ""))

    def edit(self, key: Key, change: Callable[[Json], None], manager: str, subresource: str = "") -> Json:
        """Change an object in place, as somebody with a patch or an update would."""
        old = self.get(key)
        new = deepcopy(old)
        change(new)
        return self._written(key, old, new, (manager, "Update", subresource))

    def release(self, key: Key, body: Json, keeper: str) -> None:
        """All but one manager give up the fields of a body, as by applying without them."""
        for who, paths in self._managers[key].items():
            if who[0] != keeper:
                paths.difference_update(leaves(body["kind"], body))
        self._shown(key)

    def delete(self, key: Key) -> None:
        self.get(key)
        del self._kept[key]
        self._managers.pop(key, None)

    def apply(self, key: Key, body: Json, manager: str, *, force: bool = False) -> Json:
        """Server-side apply."""
        if not manager:
            raise RefusedError(400, "fieldManager is required for apply patch", "BadRequest")
        if body.get("metadata", {}).get("managedFields"):
            raise RefusedError(400, "metadata.managedFields must be nil", "BadRequest")
        old = self._kept.get(key)
        if old is None:
            if "resourceVersion" in body["metadata"]:
                raise RefusedError(409, "resourceVersion is set, but there is no such object", "Conflict")
            old = {"metadata": {"uid": f"uid-{self._version}"}}
        self._check_version(old, body)
        kind, who = body["kind"], (manager, "Apply", "")
        wanted = leaves(kind, body)
        self._settle_conflicts(key, kind, old, wanted, who, force=force)
        dropped = self._managers[key].get(who, set()) - set(wanted)
        held = set().union(*(paths for other, paths in self._managers[key].items() if other != who))
        plain = {name: value for name, value in body["metadata"].items() if name != "resourceVersion"}
        new = merged(kind, without(old, dropped - held), {**body, "metadata": plain})
        new["metadata"]["namespace"] = key[1]
        stored = self._stored(key, old, new, dropped - held, {})
        if self._managers[key].get(who) != set(wanted) or stored != old:
            self._times[key, who] = self.now()
        self._managers[key][who] = set(wanted)
        return self._shown(key)

    def _settle_conflicts(
        self, key: Key, kind: str, old: Json, wanted: dict[Path, Any], who: Manager, *, force: bool
    ) -> None:
        now = leaves(kind, old)
        clashes = [
            (other, path)
            for other, paths in self._managers[key].items()
            for path in sorted(paths)
            if other != who and path in wanted and path in now and now[path] != wanted[path]
        ]
        if clashes and not force:
            causes = [
                {"reason": "FieldManagerConflict", "message": f'conflict with "{other[0]}"', "field": shown(path)}
                for other, path in clashes
            ]
            raise RefusedError(409, f"Apply failed with {len(clashes)} conflicts", "Conflict", causes)
        for other, path in clashes:
            self._managers[key][other].discard(path)

    def _written(self, key: Key, old: Json, new: Json, who: Manager) -> Json:
        """An update: what changed is the writer's now, and nobody else's."""
        kind = new["kind"]
        before, after = leaves(kind, old), leaves(kind, new)
        changed = {path for path, value in after.items() if path not in before or before[path] != value}
        self._stored(key, old, new, set(before) - set(after), {who: changed})
        return self._shown(key)

    def _stored(self, key: Key, old: Json, new: Json, gone: set[Path], taken: dict[Manager, set[Path]]) -> Json:
        new = _normal(new)
        _validate(new)
        if new != old:
            self._version += 1
            spec_changed = new.get("spec") != old.get("spec")
            new["metadata"]["resourceVersion"] = str(self._version)
            if new["kind"] in HAS_GENERATION:
                new["metadata"]["generation"] = int(old["metadata"].get("generation", 0)) + spec_changed
        lost = gone.union(*taken.values())
        for paths in self._managers[key].values():
            paths.difference_update(lost)
        for who, changed in taken.items():
            if changed:
                self._managers[key][who] = self._managers[key].get(who, set()) | changed
                self._times[key, who] = self.now()
        self._managers[key] = {who: paths for who, paths in self._managers[key].items() if paths}
        self._kept[key] = new
        return new

    def _shown(self, key: Key) -> Json:
        self._kept[key]["metadata"]["managedFields"] = [
            {
                "manager": name,
                "operation": operation,
                "apiVersion": self._kept[key]["apiVersion"],
                "time": self._times[key, (name, operation, subresource)],
                "fieldsType": "FieldsV1",
                "fieldsV1": fields_v1(paths),
                **({"subresource": subresource} if subresource else {}),
            }
            for (name, operation, subresource), paths in self._managers[key].items()
        ]
        return self.get(key)

    def _check_version(self, old: Json, body: Json) -> None:
        wanted = body["metadata"].get("resourceVersion")
        if wanted is not None and wanted != old["metadata"].get("resourceVersion"):
            raise RefusedError(
                409, "the object has been modified; please apply your changes to the latest version", "Conflict"
            )


def _normal(found: Json) -> Json:
    """Fields that the API leaves out when they are empty."""
    found = deepcopy(found)
    if found["kind"] == "Deployment":
        for container in found["spec"]["template"]["spec"]["containers"]:
            for name in ("command", "args"):
                if container.get(name) == []:
                    del container[name]
    if found["metadata"].get("annotations") == {}:
        del found["metadata"]["annotations"]
    return found


def _validate(found: Json) -> None:
    faults = {"Deployment": _deployment_fault, "HTTPRoute": _route_fault, "Lease": _lease_fault}
    fault = faults.get(found["kind"], lambda _: "")(found)
    if fault:
        raise RefusedError(422, f"{found['kind']} {found['metadata'].get('name')} is invalid: {fault}", "Invalid")


def _deployment_fault(found: Json) -> str:
    containers = found["spec"]["template"]["spec"]["containers"]
    lacking = [one["name"] for one in containers if not one.get("image")]
    return f"spec.template.spec.containers {lacking}: image: Required value" if lacking else ""


def _route_fault(found: Json) -> str:
    refs = [ref for rule in found["spec"].get("rules", []) for ref in rule.get("backendRefs", [])]
    weights = [ref.get("weight", 1) for ref in refs]
    good = all(isinstance(weight, int) and 0 <= weight <= 1_000_000 for weight in weights)
    return "" if good else f"spec.rules.backendRefs.weight must be whole and from 0 to 1000000: {weights}"


def _lease_fault(found: Json) -> str:
    spec = found.get("spec", {})
    times = [spec[name] for name in ("renewTime", "acquireTime") if name in spec]
    if not all(MICRO_TIME.fullmatch(time) for time in times):
        return f"spec: times need microseconds: {times}"
    return "" if spec.get("leaseDurationSeconds", 1) > 0 else "spec.leaseDurationSeconds: must be greater than 0"
