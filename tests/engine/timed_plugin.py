"""The plugin with a stop watch, for `make bench-plugin`: how long it and vLLM's own metrics take in a real engine.

It is copied beside an installed plugin and loaded in its place (`VLLM_PLUGINS=timed`). The times go to the file
that SPECWATCH_TIMES names, as JSON: the seconds of every call.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WRITE_EVERY = 50
TIMES: dict[str, list[float]] = {"plugin": [], "publish": [], "vllm": []}


def timed(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method, with the processor time of each call kept under a name."""

    def call(*arguments: Any, **named: Any) -> Any:
        began = time.thread_time()
        result = method(*arguments, **named)
        TIMES[name].append(time.thread_time() - began)
        return result

    return call


def write_after(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method, which now and then writes all times down after its own is taken."""

    def call(*arguments: Any, **named: Any) -> Any:
        result = method(*arguments, **named)
        if len(TIMES["vllm"]) % WRITE_EVERY == 0:
            Path(os.environ["SPECWATCH_TIMES"]).write_text(json.dumps(TIMES))
        return result

    return call


def timed_logger() -> type:
    """Return the plugin's class with the stop watch, and put one on vLLM's own Prometheus logger."""
    loggers = importlib.import_module("vllm.v1.metrics.loggers")
    entry = importlib.import_module("specwatch_exporters.vllm_plugin.entry")
    start = importlib.import_module("specwatch_exporters.vllm_plugin.start")
    own = loggers.PrometheusStatLogger
    own.record = write_after(timed("vllm", own.record))
    start.PluginRecorder._publish = timed("publish", start.PluginRecorder._publish)
    plugin: type = entry.SpecwatchStatLogger
    return type("TimedLogger", (plugin,), {"record": timed("plugin", plugin.record)})  # type: ignore[attr-defined]


def __getattr__(name: str) -> type:
    """Make the class when vLLM asks for it, so that this module can be read without vLLM."""
    if name != "TimedLogger":
        raise AttributeError(name)
    return timed_logger()
