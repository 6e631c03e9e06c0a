"""Stand-ins for what vLLM hands to a stat logger, by version: the same classes, fields and calls, no vLLM.

Written after reading `vllm/v1/metrics/{stats,loggers}.py` and `vllm/v1/spec_decode/metrics.py` of the releases
0.25.0 to 0.33.0. Objects have exactly their release's fields, so that reading another one fails as it would there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

SCHEDULER_FIELDS = (
    "num_running_reqs num_waiting_reqs num_skipped_waiting_reqs step_counter current_wave kv_cache_usage "
    "prefix_cache_stats connector_prefix_cache_stats kv_cache_eviction_events spec_decoding_stats "
    "kv_connector_stats waiting_lora_adapters running_lora_adapters cudagraph_stats perf_stats"
)
ITERATION_FIELDS = (
    "iteration_timestamp num_generation_tokens prompt_token_stats num_preempted_reqs finished_requests "
    "max_num_generation_tokens_iter n_params_iter time_to_first_tokens_iter inter_token_latencies_iter "
    "num_corrupted_reqs"
)
SPECULATION_FIELDS = (
    "num_spec_tokens num_drafts num_draft_tokens num_accepted_tokens num_accepted_tokens_per_pos "
    "num_draft_tokens_per_pos"
)
FINISHED_FIELDS = (
    "finish_reason request_id e2e_latency num_prompt_tokens num_generation_tokens max_tokens_param queued_time "
    "prefill_time inference_time decode_time mean_time_per_output_token is_corrupted num_cached_tokens"
)


@dataclass(frozen=True)
class Release:
    """What of one vLLM release a stat logger sees.

    Attributes:
        version: of vLLM.
        scheduler, iteration, speculation, finished: field names of the four statistics classes.
        aggregate: there is a base class for one logger over all engines.
        rejections: that base class has `record_admission_rejection`.
        abstract: abstract methods beside the constructor, `record` and `log_engine_initialized`.
    """

    version: str
    scheduler: str = SCHEDULER_FIELDS
    iteration: str = ITERATION_FIELDS
    speculation: str = SPECULATION_FIELDS
    finished: str = FINISHED_FIELDS
    aggregate: bool = True
    rejections: bool = False
    abstract: tuple[str, ...] = ()


_DETAILS = f"{SCHEDULER_FIELDS} iteration_details"
_CONNECTORS = f"{_DETAILS} ec_connector_stats"
_FETCHES = f"{_CONNECTORS} num_kv_fetch_reqs_by_stage"
_PREEMPTIONS = f"{FINISHED_FIELDS} num_preemptions"
_WATERMARKS = f"{ITERATION_FIELDS} num_watermarked_reqs num_watermark_skipped_reqs num_not_watermarked_reqs"

RELEASES = (
    Release("0.25.0"),
    Release("0.26.0", _DETAILS),
    Release("0.30.0", _DETAILS, finished=_PREEMPTIONS),
    Release("0.31.0", _CONNECTORS, finished=_PREEMPTIONS),
    Release("0.32.0", _FETCHES, _WATERMARKS, finished=_PREEMPTIONS, rejections=True),
    Release("0.33.0", _FETCHES, f"{_WATERMARKS} compute_nans_in_logits", finished=_PREEMPTIONS, rejections=True),
)
# Not real: what the plugin must survive.
PER_ENGINE_ONLY = Release("0.24.0", aggregate=False)
NO_DRAFTED = Release("0.23.0", speculation=SPECULATION_FIELDS.removesuffix(" num_draft_tokens_per_pos"))
NEW_DUTIES = Release("0.99.0", rejections=True, abstract=("record_weather", "close"))
RENAMED_GAPS = Release("0.99.0", iteration=ITERATION_FIELDS.replace("inter_token_latencies_iter", "gaps"))
RENAMED_DRAFTS = Release("0.99.0", speculation=SPECULATION_FIELDS.replace("num_drafts", "drafts"))
RENAMED_RUNNING = Release("0.99.0", scheduler=SCHEDULER_FIELDS.replace("num_running_reqs", "running"))
RENAMED_QUEUED = Release("0.99.0", finished=FINISHED_FIELDS.replace("queued_time", "queue_s"))


class FinishReason(IntEnum):
    """vLLM's: an integer that prints as a word."""

    STOP = 0
    LENGTH = 1
    ABORT = 2
    ERROR = 3
    REPETITION = 4

    def __str__(self) -> str:
        return self.name.lower()


def record_of(kind: str, fields: str, values: Mapping[str, Any]) -> Any:
    """Return an object of a class of that name with exactly these fields; the ones without a value are 0."""
    names = tuple(fields.split())
    made = type(kind, (), {"__slots__": names})()
    for name in names:
        setattr(made, name, values.get(name, 0))
    return made


def speculation_stats(release: Release, steps: Sequence[tuple[int, int]], positions: int) -> Any:
    """Return the speculative counts of one engine step, from (drafted, accepted) of each request that drafted."""
    values = {
        "num_spec_tokens": positions,
        "num_drafts": len(steps),
        "num_draft_tokens": sum(drafted for drafted, _ in steps),
        "num_accepted_tokens": sum(accepted for _, accepted in steps),
        "num_accepted_tokens_per_pos": [sum(accepted > at for _, accepted in steps) for at in range(positions)],
        "num_draft_tokens_per_pos": [sum(drafted > at for drafted, _ in steps) for at in range(positions)],
    }
    return record_of("SpecDecodingStats", release.speculation, values)


def scheduler_stats(
    release: Release, running: int, steps: Sequence[tuple[int, int]] = (), positions: int = 4
) -> Any:
    """Return the scheduler's side of one engine step; without drafts its speculation is None, as in vLLM."""
    speculation = speculation_stats(release, steps, positions) if steps else None
    values = {"num_running_reqs": running, "spec_decoding_stats": speculation}
    return record_of("SchedulerStats", release.scheduler, values)


def iteration_stats(
    release: Release,
    tokens: int = 0,
    firsts: Sequence[float] = (),
    gaps: Sequence[float] = (),
    finished: Sequence[Any] = (),
) -> Any:
    """Return the front end's side of one engine step; seconds."""
    values = {
        "num_generation_tokens": tokens,
        "time_to_first_tokens_iter": list(firsts),
        "inter_token_latencies_iter": list(gaps),
        "finished_requests": list(finished),
    }
    return record_of("IterationStats", release.iteration, values)


def finished_request(release: Release, reason: object = FinishReason.LENGTH, **values: Any) -> Any:
    """Return the record of one finished request."""
    return record_of("FinishedRequestStats", release.finished, {"finish_reason": reason, **values})


def vllm_config(
    method: str | None = "eagle3", depth: int = 4, model: object = "m", *, diffusion: bool = False, **more: Any
) -> Any:
    """Return the parts of a `VllmConfig` that name the engine; no method means no speculation."""
    speculation = SimpleNamespace(method=method, num_speculative_tokens=depth, **more) if method else None
    names = SimpleNamespace(served_model_name=model, model="path/of/m", is_diffusion=diffusion)
    return SimpleNamespace(model_config=names, speculative_config=speculation)


def base_classes(release: Release) -> dict[str, type]:
    """Return the abstract classes of that release's `vllm.v1.metrics.loggers`."""

    class StatLoggerBase(ABC):
        @abstractmethod
        def __init__(self, vllm_config: Any, engine_index: int = 0) -> None: ...

        @abstractmethod
        def record(
            self, scheduler_stats: Any, iteration_stats: Any, mm_cache_stats: Any = None, engine_idx: int = 0
        ) -> None: ...

        @abstractmethod
        def log_engine_initialized(self) -> None: ...

        def log(self) -> None:
            return None

        def record_sleep_state(self, *_: int) -> None:
            return None

    found: dict[str, type] = {"StatLoggerBase": StatLoggerBase}
    if release.aggregate:
        methods: dict[str, Any] = {name: abstractmethod(lambda *_: None) for name in release.abstract}
        if release.rejections:
            methods["record_admission_rejection"] = lambda *_: None
        found["AggregateStatLoggerBase"] = type("AggregateStatLoggerBase", (StatLoggerBase,), methods)
    return found


def importer(release: Release, classes: Mapping[str, type] | None = None) -> Callable[[str], Any]:
    """Return an `import_module` in whose world that release of vLLM is installed."""
    modules = {
        "vllm": SimpleNamespace(__version__=release.version),
        "vllm.v1.metrics.loggers": SimpleNamespace(**(base_classes(release) if classes is None else classes)),
    }
    return modules.__getitem__


class Manager:
    """Drives a stat logger as vLLM's `StatLoggerManager` does: by keyword, one for all engines or one for each."""

    def __init__(self, release: Release, logger: type, config: Any, engines: Sequence[int] = (0,)) -> None:
        self._engines = engines
        if release.aggregate:
            one = logger(vllm_config=config, engine_indexes=list(engines))
            self._loggers = dict.fromkeys(engines, one)
        else:
            self._loggers = {engine: logger(config, engine) for engine in engines}
        for each in self._loggers.values():
            each.log_engine_initialized()

    def record(self, scheduler: Any, iteration: Any, engine: int = 0) -> None:
        """Hand over one engine step."""
        self._loggers[engine].record(scheduler, iteration, mm_cache_stats=None, engine_idx=engine)

    def log(self) -> None:
        """Do what vLLM does every ten seconds."""
        for logger in set(self._loggers.values()):
            logger.log()

    def other_calls(self) -> None:
        """Make the calls that a stat logger may get beside these."""
        for logger in self._loggers.values():
            logger.record_sleep_state(1, 0)
            if hasattr(logger, "record_admission_rejection"):
                logger.record_admission_rejection("max_num_queued_reqs")
