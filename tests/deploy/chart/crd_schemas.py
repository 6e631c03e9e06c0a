"""Strict schemas of the custom resources that the chart makes, written here from their documented fields.

KEDA 2.20 (keda.sh/v1alpha1), prometheus-operator 0.8x (monitoring.coreos.com/v1), Gateway API 1.x. Only fields that
somebody could want in this chart are in them, so that a misspelt one is found.
"""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

Schema = dict[str, Any]
TEXT: Schema = {"type": "string", "minLength": 1}
WHOLE: Schema = {"type": "integer", "minimum": 0}
TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
DURATION: Schema = {"type": "string", "pattern": "^[0-9]+(ms|s|m|h)$"}


def table(required: str = "", **fields: Schema) -> Schema:
    """An object that has these fields and no others."""
    return {"type": "object", "additionalProperties": False, "required": required.split(), "properties": fields}


def rows(items: Schema, least: int = 0) -> Schema:
    """A list."""
    return {"type": "array", "items": items, "minItems": least}


def one_of(*values: str) -> Schema:
    """A word of a list."""
    return {"enum": list(values)}


REQUIREMENT = table(
    "key operator", key=TEXT, operator=one_of("In", "NotIn", "Exists", "DoesNotExist"), values=rows(TEXT)
)
MONITOR = {
    "namespaceSelector": table(matchNames=rows(TEXT), any={"type": "boolean"}),
    "podTargetLabels": rows(TEXT),
    "selector": table(matchLabels=TEXTS, matchExpressions=rows(REQUIREMENT)),
}
ENDPOINTS = rows(table("port", port=TEXT, interval=DURATION, path=TEXT, scrapeTimeout=DURATION), 1)
RULE = {
    **table("expr", record=TEXT, alert=TEXT, expr=TEXT, labels=TEXTS, annotations=TEXTS, keep_firing_for=DURATION),
    "oneOf": [{"required": ["record"]}, {"required": ["alert"]}],
}
RULE["properties"]["for"] = DURATION
POLICY = table(
    "type value periodSeconds",
    type=one_of("Pods", "Percent"),
    value=WHOLE,
    periodSeconds={"maximum": 1800, **WHOLE},
)
DIRECTION = table(
    stabilizationWindowSeconds={"maximum": 3600, **WHOLE},
    selectPolicy=one_of("Max", "Min", "Disabled"),
    policies=rows(POLICY, 1),
)
BEHAVIOR = table(scaleUp=DIRECTION, scaleDown=DIRECTION)
TRIGGER = table(
    "type metadata",
    type=TEXT,
    name=TEXT,
    metricType=one_of("AverageValue", "Value"),
    useCachedMetrics={"type": "boolean"},
    metadata=table(
        "serverAddress query threshold ignoreNullValues",
        serverAddress=TEXT,
        query=TEXT,
        threshold={"type": "string", "pattern": "^[0-9.]+$"},
        activationThreshold={"type": "string", "pattern": "^[0-9.]+$"},
        ignoreNullValues=one_of("true", "false"),
        timeout={"type": "string", "pattern": "^[0-9]+(ms|s)?$"},
    ),
)
FALLBACK = table(
    "failureThreshold replicas",
    failureThreshold=WHOLE,
    replicas=WHOLE,
    behavior=one_of("static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"),
)
SCALED_OBJECT = table(
    "scaleTargetRef triggers",
    scaleTargetRef=table("name", apiVersion=TEXT, kind=TEXT, name={"maxLength": 54, **TEXT}),
    pollingInterval=WHOLE,
    cooldownPeriod=WHOLE,
    minReplicaCount={"type": "integer", "minimum": 1},
    maxReplicaCount=WHOLE,
    fallback=FALLBACK,
    advanced=table(
        restoreToOriginalReplicaCount={"type": "boolean"},
        horizontalPodAutoscalerConfig=table(behavior=BEHAVIOR, name=TEXT),
    ),
    triggers=rows(TRIGGER, 1),
)
BACKEND = table(
    "name port", name=TEXT, port={"minimum": 1, "maximum": 65535, **WHOLE}, weight={"maximum": 1000000, **WHOLE}
)
PATH = table("type value", type=one_of("Exact", "PathPrefix", "RegularExpression"), value=TEXT)
ROUTE_RULE = table(
    matches=rows(table(path=PATH)),
    backendRefs=rows(BACKEND, 1),
    timeouts=table(request=DURATION, backendRequest=DURATION),
)
PARENT = table("name", name=TEXT, namespace=TEXT, sectionName=TEXT, port=WHOLE)

SPECS: dict[str, tuple[str, Schema]] = {
    "PodMonitor": (
        "monitoring.coreos.com/v1",
        table("selector podMetricsEndpoints", podMetricsEndpoints=ENDPOINTS, **MONITOR),
    ),
    "ServiceMonitor": ("monitoring.coreos.com/v1", table("selector endpoints", endpoints=ENDPOINTS, **MONITOR)),
    "PrometheusRule": (
        "monitoring.coreos.com/v1",
        table("groups", groups=rows(table("name rules", name=TEXT, interval=DURATION, rules=rows(RULE, 1)), 1)),
    ),
    "ScaledObject": ("keda.sh/v1alpha1", SCALED_OBJECT),
    "HTTPRoute": (
        "gateway.networking.k8s.io/v1",
        table("parentRefs rules", parentRefs=rows(PARENT, 1), hostnames=rows(TEXT), rules=rows(ROUTE_RULE, 1)),
    ),
}


def mistakes(one: dict[str, Any]) -> list[str]:
    """What is wrong with a custom resource, a line each."""
    api, spec = SPECS[one["kind"]]
    metadata = table("name namespace", name=TEXT, namespace=TEXT, labels=TEXTS, annotations=TEXTS)
    whole = table("metadata spec", apiVersion=one_of(api), kind=TEXT, metadata=metadata, spec=spec)
    errors = Draft202012Validator(whole).iter_errors(one)
    name = f"{one['kind']} {one['metadata']['name']}"
    return [f"{name}: {'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in errors]
