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

_FOREIGN = {
    ("nv_trt_llm_", "nv_llm_", "nv_inference_"): "This is Triton's page. Its TensorRT-LLM backend exports no "
    "acceptance at all, only requests and KV cache blocks; trtllm-serve has it, under /prometheus/metrics.",
    (
        "sgl_router_",
        "smg_",
        "inference_pool_",
        "inference_objective_",
        "inference_extension_",
        "litellm_",
    ): "This is a router's or gateway's page: it has no acceptance; scrape the engines behind it.",
    ("llamacpp:",): "This is llama.cpp's page; vLLM's, SGLang's and TensorRT-LLM's are read.",
    (
        "DCGM_FI_",
    ): "This is dcgm-exporter's page: it is about GPUs. The engine's series are on the engine's own port.",
    (
        "specwatch_",
    ): "This is specwatch's own page, made from the engine's; inspect the engine's, or look at /status.",
}


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
    if not page.models():
        page.note(
            "no_spec_series",
            f"Nothing on this page of {page.engine} is a number that is read ({len(names)} names, such as "
            f"{min(names)}): creation times and help texts are no counts.",
        )
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
    for prefixes, meaning in _FOREIGN.items():
        if any(name.startswith(prefixes) for name in names):
            page.note("no_engine", meaning)
            return page
    seen = f"{len(names)} other series names, such as {min(names)}" if names else "an empty page"
    page.note("no_engine", f"No vLLM, SGLang or TensorRT-LLM series in the body ({seen}).")
    return page
