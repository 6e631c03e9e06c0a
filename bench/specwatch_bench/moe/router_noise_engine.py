"""Runs inside vLLM's processes: Qwen3-MoE whose router gets Gaussian noise at every forward pass.

A copy of this file lies beside its entry point in a folder of its own (`noise_plugin.py`), because the engine's
interpreter need not have this project. The level stands in the model's `config.json` as `router_noise`: the
standard deviation of the noise over that of the token's router logits. The noise is drawn anew for each token,
layer and pass.
"""

from __future__ import annotations

import importlib
from typing import Any

ARCHITECTURE = "NoisyRouterQwen3MoeForCausalLM"


def register() -> None:
    """Entry point of `vllm.general_plugins`: the architecture, loaded when a model asks for it."""
    registry = importlib.import_module("vllm").ModelRegistry
    if ARCHITECTURE not in registry.get_supported_archs():
        registry.register_model(ARCHITECTURE, f"{__name__}:{ARCHITECTURE}")


def add_noise(model: Any, level: float) -> int:
    """Add noise of a level to what every router of a model gives; returns how many routers it has."""
    torch = importlib.import_module("torch")

    def noisy(_module: Any, _given: Any, answer: Any) -> Any:
        logits, *rest = answer if isinstance(answer, tuple) else (answer,)
        spread = logits.float().std(dim=-1, keepdim=True)
        moved = (logits.float() + level * spread * torch.randn_like(logits, dtype=torch.float32)).to(logits.dtype)
        return (moved, *rest) if isinstance(answer, tuple) else moved

    routers = [module for name, module in model.named_modules() if name.endswith("mlp.gate")]
    for router in routers:
        router.register_forward_hook(noisy)
    return len(routers)


def __getattr__(name: str) -> Any:
    """The model class, made when vLLM asks for it by name: this file loads before vLLM's models may."""
    if name != ARCHITECTURE:
        raise AttributeError(name)
    base = importlib.import_module("vllm.model_executor.models.qwen3_moe").Qwen3MoeForCausalLM

    def build(self: Any, *, vllm_config: Any, prefix: str = "") -> None:
        base.__init__(self, vllm_config=vllm_config, prefix=prefix)
        level = float(vllm_config.model_config.hf_config.router_noise)
        if not add_noise(self, level):
            raise RuntimeError("this vLLM's Qwen3-MoE has no router named mlp.gate: no noise can be added")

    made = type(ARCHITECTURE, (base,), {"__init__": build, "__module__": __name__})
    globals()[ARCHITECTURE] = made
    return made
