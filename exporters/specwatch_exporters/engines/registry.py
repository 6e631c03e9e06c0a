"""All page readers, in the order in which they are asked."""

from __future__ import annotations

from specwatch_exporters.engines.dynamo_frontend import DynamoFrontendReader
from specwatch_exporters.engines.intake import sample_names
from specwatch_exporters.engines.reader import Reader
from specwatch_exporters.engines.sglang import SglangReader
from specwatch_exporters.engines.trtllm import TrtllmReader
from specwatch_exporters.engines.vllm_v0 import VllmV0Reader
from specwatch_exporters.engines.vllm_v1 import VllmV1Reader
from specwatch_exporters.exposition import Exposition
from specwatch_exporters.page import Page

# V0 before V1: both have vLLM's prefix. Engines before gateways: a worker's page carries both kinds of series.
READERS: tuple[Reader, ...] = (
    VllmV0Reader(),
    VllmV1Reader(),
    SglangReader(),
    TrtllmReader(),
    DynamoFrontendReader(),
)
_FAMILIES = frozenset({"sglang", "trtllm", "vllm"})
ENGINES: tuple[str, ...] = tuple(sorted(reader.engine for reader in READERS))


def read_page(exposition: Exposition, engine: str | None = None) -> Page:
    """Read a parsed page with the reader that recognises it.

    Args:
        exposition: the parsed page.
        engine: name of the reader to use instead, one of `ENGINES`.

    Returns:
        The page; with `engine` None and a notice if nothing on it is an engine's.

    Raises:
        ValueError: `engine` is not one of `ENGINES`.
    """
    names = sample_names(exposition.families)
    page = _choose(names, engine, exposition)
    for notice in exposition.notices:
        page.note(notice.code, notice.message)
    return page


def _choose(names: frozenset[str], engine: str | None, exposition: Exposition) -> Page:
    if engine is not None:
        chosen = next((reader for reader in READERS if reader.engine == engine), None)
        if chosen is None:
            raise ValueError(f"unknown engine {engine!r}; known: {', '.join(ENGINES)}")
        return chosen.read(exposition, names)
    fitting = [reader for reader in READERS if reader.recognises(names)]
    if not fitting:
        return _unrecognised(names)
    page = fitting[0].read(exposition, names)
    others = sorted({reader.engine for reader in fitting[1:] if reader.engine in _FAMILIES - {page.engine}})
    if others:
        page.note("mixed_engines", f"The page also has series of {', '.join(others)}; read them with --engine.")
    return page


def _unrecognised(names: frozenset[str]) -> Page:
    page = Page(None)
    if any(name.startswith("ray_") for name in names):
        page.note(
            "ray_serve_page",
            "This is Ray Serve's own page, with counters exposed as gauges (Ray 2.52); "
            "the engine's ray_vllm series are on the replicas' metrics port.",
        )
    seen = f"{len(names)} other series names, such as {min(names)}" if names else "an empty page"
    page.note("no_engine", f"No vLLM, SGLang or TensorRT-LLM series in the body ({seen}).")
    return page
