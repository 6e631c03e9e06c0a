"""What the plugin needs to know of vLLM's configuration: names for labels, and whether drafts are drafts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from specwatch_exporters.request_labels import UNKNOWN, model_label

OFF = "off"
P_EAGLE = "p-eagle"
_ADAPTS: Final = {
    "num_speculative_tokens_per_batch_size": "K by batch",
    "enable_adaptive_verification": "adaptive verification",
}
"""Settings of vLLM's speculative configuration that make it change drafting by itself, where they are set."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """Constants of one engine.

    Attributes:
        model: the name under which vLLM's own series run: the first served name. Printable and short, as a label.
        method: speculation method as configured, likewise; `off` without a configuration, `p-eagle` for EAGLE with
            `parallel_drafting`.
        speculative_tokens: configured draft tokens per step, or None.
        drafting: False where the speculative counts mean something else: diffusion models report denoising steps
            through them (vLLM 0.24 and newer).
        adapts: what the engine changes by itself while it runs: its K by batch size (0.24 and newer), how much of a
            draft is verified (0.28 and newer).
    """

    model: str
    method: str
    speculative_tokens: int | None
    drafting: bool
    adapts: tuple[str, ...] = ()


def read_facts(vllm_config: Any) -> EngineFacts:
    """Read a `VllmConfig`; what is missing is `unknown`, nothing is raised."""
    model_config = getattr(vllm_config, "model_config", None)
    speculation = getattr(vllm_config, "speculative_config", None)
    depth = getattr(speculation, "num_speculative_tokens", None)
    return EngineFacts(
        model=model_label(_model_name(model_config)),
        method=OFF if speculation is None else _method(speculation),
        speculative_tokens=depth if isinstance(depth, int) else None,
        drafting=speculation is not None and not getattr(model_config, "is_diffusion", False),
        adapts=tuple(what for setting, what in _ADAPTS.items() if getattr(speculation, setting, None)),
    )


def _method(speculation: Any) -> str:
    """As configured; vLLM has no name of its own for EAGLE heads that draft all tokens in one pass."""
    method = str(getattr(speculation, "method", None) or UNKNOWN)
    in_one_pass = method.startswith("eagle") and getattr(speculation, "parallel_drafting", False) is True
    return P_EAGLE if in_one_pass else model_label(method)


def _model_name(model_config: Any) -> str:
    served = getattr(model_config, "served_model_name", None) or getattr(model_config, "model", None)
    if isinstance(served, list | tuple):
        served = served[0] if served else None
    return str(served) if served else UNKNOWN
