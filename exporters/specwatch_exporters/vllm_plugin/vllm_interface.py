"""Find what the plugin has to be a subclass of in the vLLM that loads it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LOGGERS = "vllm.v1.metrics.loggers"
# Newest first: one object for all engines of a server, or one object for each engine.
BASES = ("AggregateStatLoggerBase", "StatLoggerBase")


@dataclass(frozen=True, slots=True)
class VllmInterface:
    """The loading side.

    Attributes:
        base: abstract class that vLLM asks of a stat logger.
        version: vLLM's own version, or `unknown`.
    """

    base: type
    version: str


def find_interface(import_module: Callable[[str], Any] = importlib.import_module) -> VllmInterface:
    """Look the base class up in vLLM.

    Raises:
        ImportError: this vLLM has no class that is known here; vLLM logs it and goes on without the plugin.

    Source: `load_stat_logger_plugin_factories` in `vllm/v1/metrics/loggers.py`, 0.25.0 to 0.33.0, which refuses to
    start the server when a plugin is not a subclass of `StatLoggerBase`.
    """
    version = str(getattr(import_module("vllm"), "__version__", "unknown"))
    loggers = import_module(LOGGERS)
    required = getattr(loggers, "StatLoggerBase", None)
    for name in BASES:
        base = getattr(loggers, name, None)
        if isinstance(base, type) and isinstance(required, type) and issubclass(base, required):
            return VllmInterface(base, version)
    raise ImportError(
        f"specwatch plugin: vLLM {version} has no {' or '.join(BASES)} in {LOGGERS}; "
        "the plugin is off and the engine is not affected; update specwatch"
    )
