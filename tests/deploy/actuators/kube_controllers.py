"""What runs beside the API: Deployments make pods, Services get endpoints, a gateway looks at routes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from deploy.actuators.kube_fields import Json
from deploy.actuators.kube_objects import Key, KubeObjects

MANAGER = "kube-controller-manager"
GATEWAY = "the-gateway"


@dataclass
class KubeControllers:
    """They work when time is moved on, one step a second; time stands still otherwise.

    Attributes:
        objects: of the API.
        pod_start_s: seconds until a pod is ready.
        fails: whether a pod with this template never gets ready.
    """

    objects: KubeObjects
    pod_start_s: float = 5.0
    fails: Callable[[Json], bool] = lambda _: False
    time_s: float = 0.0
    _progress: dict[str, float] = field(default_factory=dict)
    _born: dict[str, float] = field(default_factory=dict)
    _count: int = 0

    def advance(self, seconds: int) -> None:
        for _ in range(seconds):
            self.time_s += 1.0
            for deployment in self.objects.every("deployments"):
                self._roll(deployment)
            for service in self.objects.every("services"):
                self._follow(service)
            for route in self.objects.every("httproutes"):
                self._route(route)

    def _roll(self, deployment: Json) -> None:
        """One step of a rolling update with one pod more and none fewer."""
        name, namespace = deployment["metadata"]["name"], deployment["metadata"]["namespace"]
        template = deployment["spec"]["template"]
        mark = json.dumps(template, sort_keys=True)
        pods = [pod for pod in self.objects.every("pods") if pod["owner"] == name]
        new = [pod for pod in pods if pod["template"] == mark]
        old = [pod for pod in pods if pod["template"] != mark]
        wanted = deployment["spec"].get("replicas", 1)
        status = deployment.get("status") or {}
        if status.get("observedGeneration") != deployment["metadata"]["generation"]:
            self._progress[name] = self.time_s
        ready_new = [pod for pod in new if self._grow(pod, template)]
        if len(new) < wanted and len(pods) <= wanted:
            self._make_pod(namespace, name, template, mark)
            self._progress[name] = self.time_s
        elif old and len(ready_new) + len(old) > wanted:
            self.objects.delete(("pods", namespace, old[0]["metadata"]["name"]))
            self._progress[name] = self.time_s
        self._report(deployment, mark)

    def _grow(self, pod: Json, template: Json) -> bool:
        """Whether a pod is ready; it gets so with time."""
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        ready = self.time_s - self._born[name] >= self.pod_start_s and not self.fails(template)
        if ready and not _is_ready(pod):
            self.objects.edit(("pods", namespace, name), _mark_ready, MANAGER, "status")
            self._progress[pod["owner"]] = self.time_s
        return ready

    def _make_pod(self, namespace: str, owner: str, template: Json, mark: str) -> None:
        self._count += 1
        name = f"{owner}-{self._count:05d}"
        self._born[name] = self.time_s
        labels = template["metadata"]["labels"]
        status = {"conditions": [{"type": "Ready", "status": "False"}]}
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "owner": owner, "template": mark}
        self.objects.create(("pods", namespace, name), {**body, "status": status}, MANAGER)

    def _report(self, deployment: Json, mark: str) -> None:
        name, namespace = deployment["metadata"]["name"], deployment["metadata"]["namespace"]
        pods = [pod for pod in self.objects.every("pods") if pod["owner"] == name]
        new = [pod for pod in pods if pod["template"] == mark]
        wanted = deployment["spec"].get("replicas", 1)
        ready = [pod for pod in pods if _is_ready(pod)]
        done = len(new) == wanted and len(pods) == len(new) and len(ready) == len(pods)
        limit = deployment["spec"].get("progressDeadlineSeconds", 600)
        late = not done and self.time_s - self._progress[name] > limit
        reason = "NewReplicaSetAvailable" if done else ("ProgressDeadlineExceeded" if late else "ReplicaSetUpdated")
        status = {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": len(pods),
            "updatedReplicas": len(new),
            "readyReplicas": len(ready),
            "availableReplicas": len(ready),
            "conditions": [{"type": "Progressing", "status": str(not late), "reason": reason}],
        }
        self._set_status(("deployments", namespace, name), status)

    def _follow(self, service: Json) -> None:
        """Endpoints of the pods that a Service selects."""
        name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
        pods = self.objects.select("pods", namespace, service["spec"].get("selector") or {"": ""})
        endpoints = [
            {
                "addresses": [f"192.0.2.{at + 1}"],
                "conditions": {"ready": _is_ready(pod)},
                "targetRef": {"kind": "Pod", "name": pod["metadata"]["name"]},
            }
            for at, pod in enumerate(pods)
        ]
        key = ("endpointslices", namespace, f"{name}-abcde")
        labels = {"kubernetes.io/service-name": name}
        if not self.objects.select("endpointslices", namespace, labels):
            metadata = {"name": key[2], "labels": labels}
            body = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata}
            self.objects.create(key, {**body, "endpoints": []}, MANAGER)
        if self.objects.get(key)["endpoints"] != endpoints:
            self.objects.edit(key, lambda found: found.update(endpoints=endpoints), MANAGER)

    def _route(self, route: Json) -> None:
        """A gateway looks at a route's last generation."""
        namespace = route["metadata"]["namespace"]
        services = {one["metadata"]["name"] for one in self.objects.every("services")}
        refs = [ref["name"] for rule in route["spec"]["rules"] for ref in rule.get("backendRefs", [])]
        resolved = set(refs) <= services
        generation = route["metadata"]["generation"]
        conditions = [
            _condition("Accepted", "Accepted", generation, holds=True),
            _condition(
                "ResolvedRefs", "ResolvedRefs" if resolved else "BackendNotFound", generation, holds=resolved
            ),
        ]
        parents = [
            {"parentRef": ref, "controllerName": "example.com/gateway", "conditions": conditions}
            for ref in route["spec"]["parentRefs"]
        ]
        self._set_status(("httproutes", namespace, route["metadata"]["name"]), {"parents": parents}, GATEWAY)

    def _set_status(self, key: Key, status: Json, manager: str = MANAGER) -> None:
        if self.objects.get(key).get("status") != status:
            self.objects.edit(key, lambda found: found.update(status=status), manager, "status")


def _condition(kind: str, reason: str, generation: int, *, holds: bool) -> Json:
    return {"type": kind, "status": str(holds), "reason": reason, "observedGeneration": generation}


def _is_ready(pod: Json) -> bool:
    conditions: list[Any] = pod["status"]["conditions"]
    return bool(conditions[0]["status"] == "True")


def _mark_ready(pod: Json) -> None:
    pod["status"]["conditions"][0]["status"] = "True"
