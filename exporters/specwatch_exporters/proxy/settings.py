"""Settings of the request sidecar, from flags and environment, validated before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specwatch_exporters.classes.classifier import Classifier
from specwatch_exporters.classes.hashed_linear import HashedLinearClassifier
from specwatch_exporters.classes.model_file import ModelFileError
from specwatch_exporters.proxy.class_rules import Rule, RulesError, load_rules
from specwatch_exporters.proxy.descriptor_limit import current_client_room
from specwatch_exporters.proxy.options import (
    BY_FLAG,
    NO_CLASSIFIER,
    OPTIONS,
    SHIPPED_CLASSIFIER,
    UPSTREAM_ACCEPTED,
)
from specwatch_exporters.proxy.own_address import leads_to
from specwatch_exporters.sidecar.endpoint import Endpoint
from specwatch_exporters.sidecar.engine_address import EngineAddress
from specwatch_exporters.sidecar.setting_values import Listen
from specwatch_exporters.sidecar.settings import SettingsError, given_text, parsed, wrong


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """Validated settings.

    Attributes:
        upstream: the engine; its path is put before every request's.
        listen: where clients connect.
        admin_listen: where metrics are served.
        rules: traffic class rules, in order.
        classifier: what classifies prompts, or None.
        classes: names that the classifier can return.
        max_body: bytes of a request's body.
        max_connections: of clients, or None for as many as the limit on open files has room for.
        drain_s: time for answers under way when the sidecar is stopped.
    """

    upstream: Endpoint
    listen: Listen
    admin_listen: Listen
    request_usage: bool
    rules: tuple[Rule, ...]
    classifier: Classifier | None
    classes: tuple[str, ...]
    speculation_method: str | None
    model: str | None
    max_body: int
    max_connections: int | None
    rewrite_host: bool
    ca_file: Path | None
    insecure: bool
    drain_s: float
    log_level: str


def load(flags: Mapping[str, str | bool | None], environ: Mapping[str, str]) -> ProxySettings:
    """Build settings from flags by field name and from the environment.

    Args:
        flags: text per field of `OPTIONS`; None is not given; a switch may be a bool.
        environ: the environment.

    Raises:
        SettingsError: the first setting that is wrong.
    """
    given = {option.field: given_text(option, flags, environ) for option in OPTIONS}
    source = {field: where for field, (where, _) in given.items()}
    values = {option.field: parsed(option, *given[option.field]) for option in OPTIONS}
    upstream = _upstream(values.pop("upstream"), source["upstream"])
    if values["insecure"] and values["ca_file"] is not None:
        raise _pair(source, "insecure", "ca_file", "would not be used", "one of the two")
    _check_upstream(upstream, values, source)
    _check_room(values["max_connections"], source["max_connections"])
    if values["listen"].port and values["listen"].port == values["admin_listen"].port:
        raise _pair(source, "admin_listen", "listen", "has the same port", "another port")
    classifier = _classifier(values.pop("classifier"), source["classifier"])
    return ProxySettings(
        upstream=upstream,
        rules=_rules(values.pop("class_rules"), source["class_rules"]),
        classifier=classifier,
        classes=() if classifier is None else classifier.classes,
        drain_s=values.pop("drain"),
        **values,
    )


def _check_upstream(upstream: Endpoint, values: Mapping[str, Any], source: Mapping[str, str]) -> None:
    """The upstream is not the sidecar, and settings of https belong to https."""
    for field in ("listen", "admin_listen"):
        if leads_to(upstream.host, upstream.port, values[field]):
            raise _pair(source, "upstream", field, "is the same address", "the engine's address")
    for field in ("ca_file", "insecure"):
        if values[field] and upstream.scheme != "https":
            raise _pair(source, field, "upstream", "is not https, so it would not be used", "an https upstream")


def _check_room(connections: int | None, source: str) -> None:
    room = current_client_room()
    if connections is not None and connections > room:
        problem = f"the limit on open files has room for {room} (see ulimit -n)"
        raise wrong(BY_FLAG["--max-connections"], source, str(connections), problem)


def _pair(source: Mapping[str, str], field: str, other: str, problem: str, accepted: str) -> SettingsError:
    return SettingsError(f"{source[field]}: {source[other]} {problem}; accepted: {accepted}")


def _upstream(text: str | None, source: str) -> Endpoint:
    if text is None:
        raise SettingsError(f"--upstream (or SPECWATCH_UPSTREAM) is missing; accepted: {UPSTREAM_ACCEPTED}")
    try:
        endpoint = Endpoint.parse(EngineAddress.parse(text).base_url)
    except ValueError as error:
        raise wrong(BY_FLAG["--upstream"], source, text, str(error)) from None
    if endpoint.userinfo is not None:
        problem = "credentials belong into the clients' own requests, which carry them through"
        raise wrong(BY_FLAG["--upstream"], source, text, problem)
    return endpoint


def _rules(path: Path | None, source: str) -> tuple[Rule, ...]:
    try:
        return () if path is None else load_rules(path)
    except RulesError as error:
        raise SettingsError(f"{source}: {error}") from None


def _classifier(text: Any, source: str) -> HashedLinearClassifier | None:
    if text.lower() == NO_CLASSIFIER:
        return None
    try:
        if text.lower() == SHIPPED_CLASSIFIER:
            return HashedLinearClassifier.default()
        return HashedLinearClassifier.load(Path(text))
    except ModelFileError as error:
        raise SettingsError(f"{source}: {error}") from None
