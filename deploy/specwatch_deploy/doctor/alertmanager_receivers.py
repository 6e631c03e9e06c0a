"""Receivers that cannot hear anything: not defined, with an address that is none, or, if asked, out of reach."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from specwatch_deploy.doctor.alertmanager_file import is_alertmanager, routes
from specwatch_deploy.doctor.document import Document, Key
from specwatch_deploy.doctor.finding import Finding, Place, found
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.scaler_trigger import rows_of

WAIT_S: Final = 3.0
"""For one connection."""

_URLS: Final = ("url", "api_url", "webhook_url")
_GLOBAL: Final = {"slack_configs": "slack_api_url", "opsgenie_configs": "opsgenie_api_url"}
_PORTS: Final = {"http": 80, "https": 443}

Address = tuple[str, int]


def receivers(inputs: Inputs) -> Iterator[Finding]:
    """Receivers that are routed to and not defined, and addresses that are none."""
    for document in inputs.documents:
        if not is_alertmanager(document):
            continue
        yield from _undefined(document)
        for place, name, text in _addresses(document):
            if _address(text) is None and not _is_placeholder(text):
                yield found(
                    "alertmanager-receiver-unreachable",
                    place,
                    f"the receiver {name} has an address that is none: {_shown(text)}",
                )


def unreachable(inputs: Inputs) -> Iterator[Finding]:
    """With `--reach`: receivers that nobody answers for, seen from here."""
    if not inputs.reach:
        return
    tried: dict[Address, str] = {}
    for document in inputs.documents:
        if not is_alertmanager(document):
            continue
        for place, name, text in _addresses(document):
            address = _address(text)
            if address is None:
                continue
            if address not in tried:
                tried[address] = _problem(address)
            if tried[address]:
                yield found(
                    "alertmanager-receiver-unreachable",
                    place,
                    f"the receiver {name} cannot be reached at {address[0]}:{address[1]}: {tried[address]}",
                )


def _undefined(document: Document) -> Iterator[Finding]:
    known = {str(row.get("name")) for _, row in rows_of(document, "receivers")}
    for path, route in routes(document):
        name = route.get("receiver")
        if name is None and path != ("route",):
            continue
        if str(name) not in known:
            said = "has no receiver" if name is None else f"names the receiver {name}, which is not defined"
            where = path if name is None else (*path, "receiver")
            yield found("alertmanager-unknown-receiver", document.place(*where, part="route"), f"the route {said}")


def _addresses(document: Document) -> Iterator[tuple[Place, str, str]]:
    """Every address of every receiver: place, receiver, and the text."""
    defaults = document.at("global")
    shared: Mapping[str, Any] = defaults if isinstance(defaults, Mapping) else {}
    for number, row in rows_of(document, "receivers"):
        name = str(row.get("name"))
        for key in row:
            for at, own in rows_of(document, "receivers", number, key):
                path: tuple[Key, ...] = ("receivers", number, key, at)
                yield from (
                    (document.place(*where, part=f"receiver {name}"), name, text)
                    for where, text in _of(path, str(key), own, shared)
                )


def _of(
    path: tuple[Key, ...], key: str, own: Mapping[str, Any], shared: Mapping[str, Any]
) -> Iterator[tuple[tuple[Key, ...], str]]:
    """Paths and texts of one integration's addresses; those that stand in files are not read."""
    for field in _URLS:
        if isinstance(own.get(field), str) and not (
            key == "pagerduty_configs" and field == "url" and not own[field]
        ):
            yield (*path, field), own[field]
    field = _GLOBAL.get(key, "")
    if field and not own.get("api_url") and not own.get("api_url_file") and isinstance(shared.get(field), str):
        yield ("global", field), shared[field]
    if key == "email_configs":
        smart = own.get("smarthost") or shared.get("smtp_smarthost")
        if isinstance(smart, str):
            yield (
                ((*path, "smarthost") if own.get("smarthost") else ("global", "smtp_smarthost")),
                f"smtp://{smart}",
            )


def _address(text: str) -> Address | None:
    """Host and port; None if it is no address."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    known = parts.scheme in _PORTS or (parts.scheme == "smtp" and port)
    return (parts.hostname, port) if known and parts.hostname else None


def _is_placeholder(text: str) -> bool:
    """Whether something is filled in before Alertmanager reads it, or kept secret by it."""
    return "$" in text or "<" in text or "{{" in text


def _problem(address: Address) -> str:
    try:
        with socket.create_connection(address, timeout=WAIT_S):
            return ""
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__


def _shown(text: str) -> str:
    """The beginning of an address; the rest may be a secret."""
    return repr(text if len(text) <= 24 else f"{text[:24]}...")
