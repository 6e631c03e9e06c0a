"""The stat logger that vLLM drives: its calls go to the recorder, and no error ever goes back."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from specwatch_exporters.vllm_plugin.vllm_interface import VllmInterface


class Recorder(Protocol):
    """What a stat logger feeds; neither method raises."""

    def record(self, scheduler_stats: Any, iteration_stats: Any, engine: int) -> None:
        """Take one step of one engine."""

    def flush(self) -> None:
        """Make everything that was recorded visible."""


StartRecorder = Callable[[Any, Sequence[int], str], Recorder | None]


class RecordingLogger:
    """The methods that vLLM calls; `stat_logger_class` joins them with vLLM's base class.

    Args:
        vllm_config: vLLM's configuration.
        engine_indexes: data-parallel indexes, or the one index where vLLM makes a logger for each engine.
    """

    start: StartRecorder
    vllm_version: str

    def __init__(
        self, vllm_config: Any = None, engine_indexes: Sequence[int] | int = 0, *_more: Any, **named: Any
    ) -> None:
        indexes = named.get("engine_index", engine_indexes)
        indexes = [indexes] if isinstance(indexes, int) else list(indexes or [0])
        self._recorder = type(self).start(vllm_config, indexes, self.vllm_version)

    def record(
        self,
        scheduler_stats: Any = None,
        iteration_stats: Any = None,
        mm_cache_stats: Any = None,  # noqa: ARG002 - vLLM names it
        engine_idx: int = 0,
        *_more: Any,
        **_named: Any,
    ) -> None:
        """Take one engine step; called by vLLM for every batch of outputs."""
        if self._recorder is not None:
            self._recorder.record(scheduler_stats, iteration_stats, engine_idx)

    def log(self) -> None:
        """Make what was recorded visible; vLLM calls it every ten seconds or so."""
        if self._recorder is not None:
            self._recorder.flush()

    def log_engine_initialized(self) -> None:
        """Nothing to say: everything is known at construction."""


def stat_logger_class(interface: VllmInterface, start: StartRecorder) -> type:
    """Class that vLLM accepts as a stat logger.

    Args:
        interface: the loading vLLM.
        start: makes the recorder, or returns None when the plugin must stay off; must not raise.

    Abstract methods that only a newer vLLM has do nothing, so that its server starts all the same.
    """
    abstract: frozenset[str] = getattr(interface.base, "__abstractmethods__", frozenset())
    unknown = [name for name in abstract if not hasattr(RecordingLogger, name)]

    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(dict.fromkeys(unknown, _do_nothing))
        namespace.update(start=staticmethod(start), vllm_version=interface.version)
        namespace.update(__doc__=RecordingLogger.__doc__, __module__=__name__)

    return types.new_class("SpecwatchStatLogger", (RecordingLogger, interface.base), {}, fill)


def _do_nothing(*_arguments: Any, **_named: Any) -> None:
    return None
