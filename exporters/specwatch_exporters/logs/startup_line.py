"""What an engine says about itself when it starts: model, version, speculation.

Source: vLLM `v1/engine/core.py` ("Initializing a V1 LLM engine (v…) with config: …"), sglang `launch_server`
("server_args=ServerArgs(…)").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

VLLM_MARKER = "LLM engine (v"
SGLANG_MARKER = "server_args=ServerArgs("
_VERSION = re.compile(r"LLM engine \(v([^)\s]{1,64})\) with config")
_MODEL = re.compile(r"\b(?:model|model_path)='([^']{1,512})'")
_SERVED = re.compile(r"served_model_name=(?:'([^']{1,512})'|([^,'\s)]{1,512}))")
_VLLM_SPEC = re.compile(r"speculative_config=(None|SpeculativeConfig\(([^)]*)\))")
_METHOD = re.compile(r"method='([^']{1,64})'")
_DEPTH = re.compile(r"num_spec_tokens=(\d{1,4})\b")
_ALGORITHM = re.compile(r"speculative_algorithm=(None|'([^']{1,64})')")
_SLOTS = re.compile(r"speculative_num_draft_tokens=(\d{1,4})\b")
_ADAPTIVE = re.compile(r"speculative_adaptive=True\b")


@dataclass(frozen=True, slots=True)
class StartUp:
    """An engine's own declaration.

    Attributes:
        model: served name, else the model's path, or None.
        version: engine version, or None.
        speculating: True or False as declared, None if the line does not say.
        method: method or algorithm, lower case.
        depth: K, or None.
        adaptive: True if the engine changes K by itself, down to 0.
    """

    model: str | None = None
    version: str | None = None
    speculating: bool | None = None
    method: str | None = None
    depth: int | None = None
    adaptive: bool = False


def parse_vllm_startup(text: str) -> StartUp | None:
    """Read vLLM's line; None if it is another one."""
    version = _VERSION.search(text)
    if version is None:
        return None
    spec = _VLLM_SPEC.search(text)
    inner = (spec[2] if spec else None) or ""
    method, depth = _METHOD.search(inner), _DEPTH.search(inner)
    return StartUp(
        model=_model(text),
        version=version[1],
        speculating=None if spec is None else spec[1] != "None",
        method=method[1].lower() if method else None,
        depth=int(depth[1]) if depth else None,
    )


def parse_sglang_startup(text: str) -> StartUp | None:
    """Read SGLang's line; None if it is another one. K is the number of draft tokens less the root."""
    if SGLANG_MARKER not in text:
        return None
    algorithm, slots = _ALGORITHM.search(text), _SLOTS.search(text)
    return StartUp(
        model=_model(text),
        speculating=None if algorithm is None else algorithm[1] != "None",
        method=algorithm[2].lower() if algorithm and algorithm[2] else None,
        depth=int(slots[1]) - 1 if slots and int(slots[1]) > 1 else None,
        adaptive=_ADAPTIVE.search(text) is not None,
    )


def _model(text: str) -> str | None:
    served, model = _SERVED.search(text), _MODEL.search(text)
    name = (served[1] or served[2]) if served else None
    if name and name != "None":
        return name
    return model[1] if model else None
