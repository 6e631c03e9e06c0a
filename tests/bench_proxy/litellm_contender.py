"""LiteLLM's proxy (PyPI `litellm[proxy]`): one worker, no database, no callbacks, only errors logged."""

from __future__ import annotations

import json

from bench_proxy import wire
from bench_proxy.child import Launch
from bench_proxy.contender import Contender, Place
from bench_proxy.pinned_venv import pinned_version, provide_venv

_NAME = "litellm"
_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOG": "ERROR",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_TELEMETRY": "False",
}


def prepare() -> str:
    """Install it; return its version."""
    provide_venv(_NAME)
    return pinned_version(_NAME, "litellm")


def launch(place: Place) -> Launch:
    """Write the configuration (JSON is YAML) and return its command line; without keys it does the least."""
    upstream = {"model": f"hosted_vllm/{wire.MODEL}", "api_base": f"{place.upstream}/v1", "api_key": "none"}
    settings = {
        "model_list": [{"model_name": wire.MODEL, "litellm_params": upstream}],
        "general_settings": {"dangerously_permit_weak_or_unset_master_key": True},
        "litellm_settings": {"telemetry": False, "num_retries": 0, "turn_off_message_logging": True},
    }
    configuration = place.folder / "litellm.yaml"
    configuration.write_text(json.dumps(settings))
    command = [str(provide_venv(_NAME) / "bin" / "litellm"), "--config", str(configuration)]
    command += ["--host", "127.0.0.1", "--port", str(place.port), "--num_workers", "1"]
    return Launch(command, _ENVIRONMENT)


LITELLM = Contender("LiteLLM", prepare, launch)
