"""Files, folders and manifests as documents: lists are opened, and what ConfigMaps and Secrets hold as well."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import yaml

from specwatch_deploy.doctor.document import Document, Key, node_at
from specwatch_deploy.doctor.input_error import InputError

_JSON: Final = (".json",)
_YAML: Final = (".yaml", ".yml")
_SUFFIXES: Final = frozenset((*_JSON, *_YAML))
_ALERTMANAGER: Final = ("alertmanager", "config")
"""Where values of the kube-prometheus-stack have Alertmanager's configuration."""
# Keys under which a Secret holds what the doctor reads; others may be secrets in earnest.
_SECRET_KEYS: Final = ("alertmanager.yaml", "alertmanager.yml")


class _Loader(yaml.CSafeLoader):
    """Reads tags of other programs (`!Ref`, `!reference`, `!vault`) as the plain values that they stand before."""


def _plain(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return node.value


_Loader.add_constructor(None, _plain)


def files_in(path: Path) -> list[Path]:
    """The file itself, or the JSON and YAML files in a folder and below it, sorted; hidden ones are left out."""
    if not path.is_dir():
        return [path]
    found = (one for one in path.rglob("*") if one.suffix in _SUFFIXES and one.is_file())
    return sorted(one for one in found if not any(part.startswith(".") for part in one.relative_to(path).parts))


def documents(text: str, name: str) -> Iterator[Document]:
    """All documents of a text, lists and carriers opened.

    Args:
        text: YAML or JSON.
        name: of the file, for places and messages.

    Raises:
        InputError: it is neither.
    """
    for one in _parsed(text, name, 0, ""):
        yield from opened(one)


def opened(document: Document) -> Iterator[Document]:
    """The document, or what it carries: items of a List, data of a ConfigMap, a Secret or a GrafanaDashboard."""
    body = document.body
    if isinstance(body, list):
        yield document
    if not isinstance(body, Mapping):
        return
    if document.kind.endswith("List") and isinstance(body.get("items"), list):
        for number, item in enumerate(body["items"]):
            node = _node(document.node, "items", number)
            yield from opened(Document(document.file, item, node, "", document.before, document.part))
        return
    yield document
    config = document.at(*_ALERTMANAGER)
    if isinstance(config, Mapping) and not document.kind:
        node = node_at(document.node, _ALERTMANAGER)
        yield Document(document.file, config, node, document.text, document.before, ".".join(_ALERTMANAGER))
    for path, text in _carried(document):
        yield from _inside(document, path, text)


def _carried(document: Document) -> Iterator[tuple[tuple[Key, ...], str]]:
    """Paths and texts of what a carrier holds."""
    if document.kind == "ConfigMap":
        yield from (
            (("data", key), text) for key, text in (document.at("data") or {}).items() if isinstance(text, str)
        )
    elif document.kind == "Secret":
        for key in _SECRET_KEYS:
            plain, coded = document.at("stringData", key), document.at("data", key)
            if isinstance(plain, str):
                yield ("stringData", key), plain
            elif isinstance(coded, str):
                yield ("data", key), _decoded(coded, document)
    elif document.kind == "GrafanaDashboard" and isinstance(document.at("spec", "json"), str):
        yield ("spec", "json"), document.at("spec", "json")


def _inside(document: Document, path: tuple[Key, ...], text: str) -> Iterator[Document]:
    key = str(path[-1])
    if not key.endswith((*_SUFFIXES, "json")):
        return
    line = document.line(*path)
    part = f"{document.kind} {document.name}, {key}"
    try:
        yield from _parsed(text, document.file, line, part)
    except InputError:
        return  # a carrier holds what it likes; a file that was given as such is refused


def _parsed(text: str, name: str, before: int, part: str) -> Iterator[Document]:
    if text.lstrip().startswith(("{", "[")):
        try:
            yield Document(name, json.loads(text), None, text, before, part)
        except (ValueError, RecursionError) as error:
            if name.endswith(_JSON):
                line, why = getattr(error, "lineno", 0), getattr(error, "msg", "nested too deeply")
                raise InputError(f"{name} is no JSON: {f'line {line}: ' if line else ''}{why}") from None
        else:
            return
    yield from _yaml(text, name, before, part)


def _yaml(text: str, name: str, before: int, part: str) -> Iterator[Document]:
    try:
        loader = _Loader(text)
    except yaml.YAMLError as error:
        raise InputError(f"{name} is no YAML: {_problem(error, text)}") from error
    try:
        while loader.check_node():
            node = cast("yaml.Node", loader.get_node())
            yield Document(name, loader.construct_document(node), node, "", before, part)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{name} is no YAML: {_problem(error, text)}") from error
    finally:
        loader.dispose()


def _problem(error: Exception, text: str) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}: " if mark is not None else ""
    problem = getattr(error, "problem", None) or " ".join(str(error).split())[:120]
    hint = "; a template must be rendered first (helm template)" if "{{" in text else ""
    return f"{where}{problem}{hint}"


def _decoded(text: str, document: Document) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise InputError(f"{document.file}: Secret {document.name} holds no base64 text") from error


def _node(node: yaml.Node | None, key: str, number: int) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    items: Any = next((value for name, value in node.value if name.value == key), None)
    return items.value[number] if isinstance(items, yaml.SequenceNode) else None
