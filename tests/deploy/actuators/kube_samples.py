"""Objects of a namespace that serves one model, and the levers on them."""

from __future__ import annotations

from typing import Any

from deploy.actuators.kube_fields import Json
from deploy.actuators.kube_server import KubeServer
from specwatch_deploy.actuators.http_route import HttpRoutePools
from specwatch_deploy.actuators.kube_api import KubeApi
from specwatch_deploy.actuators.rollout import Rollout
from specwatch_deploy.actuators.service_selector import ServiceSelector
from specwatch_deploy.actuators.spec_flags import VLLM
from specwatch_deploy.actuators.spec_place import ContainerArgs
from specwatch_detectors.fallback.level import Level

NAMESPACE = "serving"
EAGLE = '{"method": "eagle3", "model": "/models/draft", "num_speculative_tokens": 3}'
NGRAM = '{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":4}'
ARGS = [
    "/models/target",
    "--port=8000",
    "--speculative-config",
    EAGLE,
    "--max-model-len",
    "8192",
    "--note",
    "a 'b'",
]
ARGUMENTS = {
    Level.DRAFT: ["--speculative-config", EAGLE],
    Level.NGRAM: ["--speculative-config", NGRAM],
    Level.OFF: [],
}
SERVICES = {Level.DRAFT: "llama-draft", Level.NGRAM: "llama-ngram"}
VALUES = {Level.DRAFT: "draft", Level.NGRAM: "ngram"}


def no_sleep(_: float) -> None:
    """Wait for nothing."""


def metadata(name: str, **more: Any) -> Json:
    return {"name": name, "namespace": NAMESPACE, **more}


def deployment(name: str, pool: str, args: list[str], replicas: int = 2) -> Json:
    labels = {"app": "llama", "pool": pool}
    engine = {
        "name": "engine",
        "image": "example.com/vllm:1",
        "command": ["vllm", "serve"],
        "args": args,
        "env": [{"name": "HF_HOME", "value": "/cache"}],
    }
    side = {"name": "sidecar", "image": "example.com/specwatch:1", "args": ["--speculative-config", "not mine"]}
    pod = {
        "containers": [engine, side],
        "volumes": [{"name": "options", "configMap": {"name": "options-draft"}}, {"name": "shm", "emptyDir": {}}],
    }
    spec = {
        "replicas": replicas,
        "progressDeadlineSeconds": 60,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(name), "spec": spec}


def service(name: str, pool: str) -> Json:
    spec = {"selector": {"app": "llama", "pool": pool}, "ports": [{"port": 8000, "protocol": "TCP"}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata(name), "spec": spec}


def route(**weights: int) -> Json:
    weights = weights or {"draft": 1, "ngram": 0}
    refs = [{"name": f"llama-{pool}", "port": 8000, "weight": weight} for pool, weight in weights.items()]
    health = {
        "matches": [{"path": {"type": "Exact", "value": "/healthz"}}],
        "backendRefs": [{"name": "llama-draft"}],
    }
    main = {
        "matches": [{"path": {"type": "PathPrefix", "value": "/v1"}}],
        "filters": [
            {"type": "RequestHeaderModifier", "requestHeaderModifier": {"add": [{"name": "x", "value": "y"}]}}
        ],
        "backendRefs": refs,
        "timeouts": {"request": "300s"},
    }
    spec = {"parentRefs": [{"name": "public"}], "hostnames": ["llama.example.com"], "rules": [health, main]}
    kind = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute"}
    return {**kind, "metadata": metadata("llama", labels={"app": "llama"}), "spec": spec}


def take(kube: KubeServer, plural: str, name: str) -> None:
    """The field that a lever moves is ours alone, as after its first movement, whoever set it."""
    key = (plural, NAMESPACE, name)
    found = kube.objects.get(key)
    spec = found["spec"]
    if plural == "deployments":
        engine = spec["template"]["spec"]["containers"][0]
        field = "args" if "args" in engine else "command"
        ours: Json = {"template": {"spec": {"containers": [{"name": engine["name"], field: engine[field]}]}}}
    else:
        ours = {field: spec[field] for field in ("rules", "selector") if field in spec}
    body = {**found, "metadata": metadata(name), "spec": ours}
    body.pop("status", None)
    kube.objects.apply(key, body, "specwatch-fallback", force=True)
    kube.objects.release(key, body, "specwatch-fallback")


def fill(kube: KubeServer) -> None:
    """Two pools behind a route and behind a Service, all ready; what the levers move is ours already."""
    for pool in ("draft", "ngram"):
        kube.add("deployments", deployment(f"llama-{pool}", pool, ARGS))
        kube.add("services", service(f"llama-{pool}", pool))
    kube.add("services", service("llama", "draft"))
    kube.add("httproutes", route())
    for plural, name in (("deployments", "llama-draft"), ("services", "llama"), ("httproutes", "llama")):
        take(kube, plural, name)
    kube.advance(40)


def cluster(kube: KubeServer, **changes: Any) -> KubeApi:
    return KubeApi(kube.api, **{"sleep": no_sleep, **changes})


def pools(kube: KubeServer, **changes: Any) -> HttpRoutePools:
    return HttpRoutePools(cluster(kube), NAMESPACE, "llama", SERVICES, **{"pause": no_sleep, **changes})


def selector(kube: KubeServer, **changes: Any) -> ServiceSelector:
    return ServiceSelector(cluster(kube), NAMESPACE, "llama", "pool", VALUES, **{"pause": no_sleep, **changes})


def rollout(kube: KubeServer, **changes: Any) -> Rollout:
    place = changes.pop("place", None) or ContainerArgs("engine", ARGUMENTS, VLLM)
    return Rollout(cluster(kube), NAMESPACE, "llama-draft", place, **{"pause": no_sleep, **changes})
