"""Engines as they are given: an address, a saved page, or a name with a version."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from specwatch_deploy.doctor.engine import SPELLINGS, Engine, exposed, versions_of
from specwatch_deploy.doctor.input_error import InputError
from specwatch_deploy.doctor.series_list import as_page
from specwatch_exporters.engine_metrics.metric_table import load_tables
from specwatch_exporters.engine_metrics.version import Version
from specwatch_exporters.engines.registry import read_page
from specwatch_exporters.exposition import Exposition, ExpositionError, parse
from specwatch_exporters.inspection import Content, InspectionError
from specwatch_exporters.page import Declared
from specwatch_exporters.sidecar.fetch import fetch
from specwatch_exporters.sidecar.version_probe import probe
from specwatch_exporters.source import load

_NAMED: Final = re.compile(r"([a-z][a-z-]*)@(.+)")
_WITH_VERSION: Final = re.compile(r"(.+)@(v?\d[\w.+-]*)")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z-]*")
_TIMEOUT_S: Final = 10.0
_OPENING: Final = re.compile(r"^(# (HELP|TYPE) |[a-zA-Z_:][a-zA-Z0-9_:]*(?<!:)(\{| [-+0-9NI]))", re.MULTILINE)


def engine_of(source: str) -> Engine:
    """The engine that a source is.

    Args:
        source: URL, host:port, file of a page or of names of series (`series_list.as_page`), any of them with
            `@version` behind it, or `vllm@0.33.0`.

    Raises:
        InputError: it cannot be read, or is of no engine that is known.
    """
    named = _NAMED.fullmatch(source)
    if named is not None and named[1] in SPELLINGS:
        prefix = SPELLINGS[named[1]][0]
        return Engine(source, named[1], _version(named[2]), prefix=prefix)
    versioned = _WITH_VERSION.fullmatch(source)
    address = versioned[1] if versioned is not None else source
    if _WORD.fullmatch(address) and not Path(address).exists():
        raise InputError(_no_engine(source, address))
    try:
        content = load(address)
        engine = page_engine(content)
    except InspectionError as error:
        raise InputError(str(error)) from error
    if versioned is not None:
        return replace(engine, version=_version(versioned[2]))
    return replace(engine, version=_asked(content.name, engine.name))


def _no_engine(source: str, address: str) -> str:
    """What to write instead of a word that is no address, no file, and no engine with its version."""
    tables = load_tables()
    if address in SPELLINGS:
        return f"--engine {source}: which version? The newest that is known is {address}@{tables[address].newest}"
    known = ", ".join(SPELLINGS)
    return f"--engine {source}: no such file and no such engine; known, with a version each (vllm@0.33.0): {known}"


def is_page(text: str) -> bool:
    """Whether a text looks like a metrics page."""
    return _OPENING.match(text.lstrip()) is not None and not text.lstrip().startswith("{")


def page_engine(content: Content) -> Engine:
    """The engine whose page this is.

    Raises:
        InputError: it is no metrics page, or of no engine that is known.
    """
    text = content.data.decode("utf-8", "replace")
    try:
        exposition = parse(as_page(text) or text, content.content_type)
    except ExpositionError as error:
        raise InputError(f"{content.name}: {error}") from error
    series = exposed(exposition.families)
    found = [
        (name, prefix)
        for name, prefixes in SPELLINGS.items()
        for prefix in prefixes
        if any(one.startswith(prefix) for one in series)
    ]
    if not found:
        raise InputError(f"{content.name}: no series of {', '.join(SPELLINGS)} on the page")
    name, prefix = found[0]
    return Engine(
        content.name,
        name,
        None,
        series,
        prefix,
        _speculating(exposition),
        exposition.openmetrics and f"{prefix}cache_config_info" not in series,
        span=versions_of(load_tables()[name], series, prefix),
    )


def _speculating(exposition: Exposition) -> bool | None:
    declared = set(read_page(exposition).declared.values())
    if Declared.CONFIGURED in declared:
        return True
    return False if declared == {Declared.OFF} else None


def _version(text: str) -> Version:
    try:
        return Version.parse(text)
    except ValueError as error:
        raise InputError(f"@{text}: {error}") from error


def _asked(address: str, name: str) -> Version | None:
    """What a live engine says of its version; None for a file."""
    if not address.startswith(("http://", "https://")):
        return None
    base = address.removesuffix("/metrics").rstrip("/")
    told = probe(base, name, lambda url: fetch(url, timeout_s=_TIMEOUT_S)).version
    try:
        return Version.parse(told) if told else None
    except ValueError:
        return None
