"""Settings of the request sidecar, from flags and environment, validated before anything starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from specwatch_exporters.proxy.upstreams import Upstream, UpstreamError, endpoint_of, has_name, load_pools, named
from specwatch_exporters.sidecar.endpoint import Endpoint
from specwatch_exporters.sidecar.setting_values import Listen
from specwatch_exporters.sidecar.settings import SettingsError, given_text, parsed, wrong


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """Validated settings.

    Attributes:
        upstream: the engine, or that of the first pool; its path is put before every request's.
        pools: pools with names and weights; empty for an only upstream.
        pool_state: keeps the weights over a restart, or None.
        admin_token_file: token of those who may set weights, or None for nobody.
        pool_control: weights may be set from other machines.
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
    pools: tuple[Upstream, ...]
    pool_state: Path | None
    admin_token_file: Path | None
    pool_control: bool
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

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Of all engines."""
        return tuple(pool.endpoint for pool in self.pools) or (self.upstream,)

    @property
    def display(self) -> str:
        """The engines for people, without credentials."""
        return ", ".join(f"{pool.name} {pool.endpoint.display}" for pool in self.pools) or self.upstream.display


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
    pools = _pools(values.pop("upstream"), values.pop("pools"), source)
    _check_pools(pools, values, source)
    if values["insecure"] and values["ca_file"] is not None:
        raise _pair(source, "insecure", "ca_file", "would not be used", "one of the two")
    _check_upstreams([pool.endpoint for pool in pools], values, source)
    _check_room(values["max_connections"], source["max_connections"])
    if values["listen"].port and values["listen"].port == values["admin_listen"].port:
        raise _pair(source, "admin_listen", "listen", "has the same port", "another port")
    classifier = _classifier(values.pop("classifier"), source["classifier"])
    return ProxySettings(
        upstream=pools[0].endpoint,
        pools=pools if pools[0].name else (),
        rules=_rules(values.pop("class_rules"), source["class_rules"]),
        classifier=classifier,
        classes=() if classifier is None else classifier.classes,
        drain_s=values.pop("drain"),
        **values,
    )


def _check_upstreams(upstreams: Sequence[Endpoint], values: Mapping[str, Any], source: Mapping[str, str]) -> None:
    """No upstream is the sidecar, and settings of https belong to https."""
    for field in ("listen", "admin_listen"):
        if any(leads_to(upstream.host, upstream.port, values[field]) for upstream in upstreams):
            raise _pair(source, "upstream", field, "is the same address", "the engine's address")
    for field in ("ca_file", "insecure"):
        if values[field] and all(upstream.scheme != "https" for upstream in upstreams):
            raise _pair(source, field, "upstream", "is not https, so it would not be used", "an https upstream")


def _check_room(connections: int | None, source: str) -> None:
    room = current_client_room()
    if connections is not None and connections > room:
        problem = f"the limit on open files has room for {room} (see ulimit -n)"
        raise wrong(BY_FLAG["--max-connections"], source, str(connections), problem)


def _pair(source: Mapping[str, str], field: str, other: str, problem: str, accepted: str) -> SettingsError:
    return SettingsError(f"{source[field]}: {source[other]} {problem}; accepted: {accepted}")


def _check_pools(pools: Sequence[Upstream], values: Mapping[str, Any], source: Mapping[str, str]) -> None:
    """Settings of pools belong to pools."""
    if pools[0].name:
        if values["speculation_method"] is not None:
            raise _pair(source, "speculation_method", "upstream", "has pools", "a method per pool, in --pools")
        return
    for field in ("pool_state", "admin_token_file", "pool_control"):
        if values[field]:
            raise _pair(source, field, "upstream", "has no pools, so it would not be used", "several --upstream")


def _pools(text: str | None, path: Path | None, source: Mapping[str, str]) -> tuple[Upstream, ...]:
    """All upstreams; an only one may go without a name."""
    if text is not None and path is not None:
        raise _pair(source, "pools", "upstream", "is given as well", "one of the two")
    if path is not None:
        try:
            return load_pools(path)
        except UpstreamError as error:
            raise SettingsError(f"{source['pools']}: {error}") from None
    if text is None:
        raise SettingsError(f"--upstream (or SPECWATCH_UPSTREAM) is missing; accepted: {UPSTREAM_ACCEPTED}")
    texts = text.split()
    try:
        if len(texts) == 1 and not has_name(texts[0]):
            return (Upstream("", endpoint_of(texts[0]), None, 1.0),)
        return named(texts)
    except UpstreamError as error:
        raise wrong(BY_FLAG["--upstream"], source["upstream"], text, str(error)) from None


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
