"""A file of manifests: its documents as data, and where in the text each one's parts stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

import yaml

from specwatch_deploy.inject.inject_error import InjectError
from specwatch_deploy.inject.pod_form import malformed

_POD_SPEC: Final = {
    "Pod": ("spec",),
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "ReplicaSet": ("spec", "template", "spec"),
}


@dataclass(frozen=True, slots=True)
class Workload:
    """One document that has pods.

    Attributes:
        number: of the document in the file, from 0.
        kind: of the object.
        name: of the object.
        spec: of its pods, as data.
        node: the same in the text.
    """

    number: int
    kind: str
    name: str
    spec: dict[str, Any]
    node: yaml.MappingNode


def documents(text: str) -> list[Any]:
    """All documents as data.

    Raises:
        InjectError: the text is no YAML.
    """
    return [data for data, _ in _parsed(text)]


def workloads(text: str) -> list[Workload]:
    """The documents that have pods.

    Raises:
        InjectError: the text is no YAML, or has objects inside a List.
    """
    found = []
    for number, (data, node) in enumerate(_parsed(text)):
        if not isinstance(data, dict):
            continue
        kind = str(data.get("kind"))
        if kind == "List":
            raise InjectError("it holds a List; write its items as documents of their own, with --- between them")
        if kind in _POD_SPEC:
            found.append(_workload(number, kind, data, node))
    return found


def _workload(number: int, kind: str, data: dict[str, Any], node: yaml.Node) -> Workload:
    metadata = data.get("metadata")
    name = str(metadata.get("name")) if isinstance(metadata, dict) else "without a name"
    spec: Any = data
    for key in _POD_SPEC[kind]:
        spec = (spec.get(key) or {}) if isinstance(spec, dict) else {}
        node = child(node, key)
    if not isinstance(node, yaml.MappingNode) or not isinstance(spec, dict) or "containers" not in spec:
        raise InjectError(f"{kind} {name} has no containers")
    if wrong := malformed(spec):
        raise InjectError(f"{kind} {name}: {wrong}; Kubernetes would refuse it, too")
    return Workload(number, kind, name, spec, node)


def child(node: yaml.Node, key: str) -> yaml.Node:
    """The value of a key, or the node itself if there is none."""
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == key:
                return value  # type: ignore[no-any-return]
    return node


def _parsed(text: str) -> Iterator[tuple[Any, yaml.Node]]:
    loader = yaml.SafeLoader(text)
    try:
        while loader.check_node():
            node = cast("yaml.Node", loader.get_node())
            yield loader.construct_document(node), node
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or "it cannot be read"
        hint = "; a template must be rendered first (helm template)" if "{{" in text else ""
        raise InjectError(f"it is no YAML: {where}{problem}{hint}") from error
    finally:
        loader.dispose()
