"""Ask an engine what its metrics page does not say: version, speculation method, draft model, K.

Endpoints by version: vLLM `/version` (always there; the speculative configuration is only on `/server_info` in
developer mode, which nobody should need to enable, so it is not asked). TensorRT-LLM `/version`. SGLang
`/server_info` since 0.5.6, `/get_server_info` before; it lists the server's arguments, API keys among them, so
nothing but the named fields is kept and the body is never logged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from specwatch_exporters.json_text import decode
from specwatch_exporters.page import Declared
from specwatch_exporters.sidecar.fetch import Fetched
from specwatch_exporters.sidecar.fetch_error import Cause, FetchError

Fetch = Callable[[str], Fetched]

_MAX_BODY = 2 * 2**20
_MAX_TEXT = 200
_MAX_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What an engine says about itself; None is unknown.

    Attributes:
        version: of the engine.
        declared: whether speculation is configured.
        method: speculation method, lower case.
        speculative_tokens: K, draft tokens per step without the root (SGLang counts the root, so one less).
        depth: draft steps; differs from K for trees.
        draft_model: name or path.
        served_model: name under which the target is served.
        adaptive: True if the engine changes K by itself.
    """

    version: str | None = None
    declared: Declared = Declared.UNKNOWN
    method: str | None = None
    speculative_tokens: int | None = None
    depth: int | None = None
    draft_model: str | None = None
    served_model: str | None = None
    adaptive: bool | None = None


UNKNOWN = EngineFacts()


def probe(base_url: str, engine_kind: str | None, fetch: Fetch) -> EngineFacts:
    """Ask an engine about itself; at most two requests, never an error.

    Args:
        base_url: the engine's address without the metrics path and without a slash at the end.
        engine_kind: kind that the metrics page showed.
        fetch: fetches one URL or raises `FetchError`.

    Returns:
        What is known; all None when the engine does not answer or is of a kind that has no such endpoint.
    """
    ask = _PROBES.get((engine_kind or "").partition("-")[0])
    if ask is None:
        return UNKNOWN
    try:
        return ask(base_url, fetch)
    except FetchError:
        return UNKNOWN


def _version_only(base_url: str, fetch: Fetch) -> EngineFacts:
    return EngineFacts(version=_text(_object(fetch(f"{base_url}/version")).get("version")))


def _sglang(base_url: str, fetch: Fetch) -> EngineFacts:
    try:
        page = fetch(f"{base_url}/server_info")
    except FetchError as error:
        if error.cause is not Cause.STATUS:
            raise
        page = fetch(f"{base_url}/get_server_info")
    return sglang_facts(_object(page))


def sglang_facts(info: Mapping[str, Any]) -> EngineFacts:
    """Facts from SGLang's server information.

    Args:
        info: the decoded object; `speculative_algorithm` is null when speculation is off.
    """
    method = _text(info.get("speculative_algorithm"))
    if method is None:
        off = "speculative_algorithm" in info and info["speculative_algorithm"] is None
        declared = Declared.OFF if off else Declared.UNKNOWN
        return EngineFacts(
            version=_text(info.get("version")), declared=declared, served_model=_text(info.get("served_model_name"))
        )
    depth = _count(info.get("speculative_num_steps"))
    width = _count(info.get("speculative_num_draft_tokens"))
    adaptive = info.get("speculative_adaptive")
    return EngineFacts(
        version=_text(info.get("version")),
        declared=Declared.CONFIGURED,
        method=method.lower(),
        speculative_tokens=depth if width is None else width - 1,
        depth=depth,
        draft_model=_text(info.get("speculative_draft_model_path")),
        served_model=_text(info.get("served_model_name")),
        adaptive=adaptive if isinstance(adaptive, bool) else None,
    )


_PROBES: Mapping[str, Callable[[str, Fetch], EngineFacts]] = {
    "vllm": _version_only,
    "trtllm": _version_only,
    "sglang": _sglang,
}


def _object(page: Fetched) -> Mapping[str, Any]:
    """The JSON object in a page, or an empty one: a body that is something else says nothing."""
    if len(page.body) > _MAX_BODY:
        return {}
    found = decode(page.body)
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str | None:
    """A short printable text, or None."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    return text if text and text.isprintable() and len(text) <= _MAX_TEXT else None


def _count(value: object) -> int | None:
    """A plausible number of tokens, or None."""
    plain = isinstance(value, int) and not isinstance(value, bool)
    return value if plain and isinstance(value, int) and 1 <= value <= _MAX_TOKENS else None
