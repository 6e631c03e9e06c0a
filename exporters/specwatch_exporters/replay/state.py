"""The engine's state as JSON: settings in force, load, and the true counts per traffic class."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from specwatch_exporters.replay.core import EngineCore
from specwatch_exporters.replay.faults import Fault


def state_of(core: EngineCore, restarts: int, faults: list[Fault]) -> dict[str, Any]:
    """What `/replay/state` shows.

    `classes` holds draft counts per class since the last start; no real engine tells them, so tests use them
    as the truth to compare with.
    """
    load = core.scheduler.load
    return {
        "settings": _settings(core),
        "running": load.running,
        "waiting": load.waiting,
        "kv_cache_usage": load.kv_usage,
        "open_requests": core.open_requests,
        "steps": core.steps,
        "aborted": core.aborted,
        "restarts": restarts,
        "process_start_time_seconds": core.started,
        "faults": [{"mode": fault.mode.value, "target": fault.target.value} for fault in faults],
        "classes": {name: asdict(tally) for name, tally in core.scheduler.tallies.items()},
    }


def _settings(core: EngineCore) -> dict[str, Any]:
    settings = core.settings
    return {
        "profile": settings.profile,
        "method": settings.method,
        "model": settings.model_name,
        "slots": settings.slots,
        "num_speculative_tokens": settings.depth,
        "k": settings.depth_now,
        "acceptance": {name: list(settings.rates(name)) for name in settings.class_names},
        "per_request": settings.per_request.value,
        "timings": settings.timings,
        "speed": settings.speed,
        "draft_probability": settings.draft_probability,
        "count_aborts": settings.count_aborts,
        "max_model_len": settings.max_model_len,
        "kv_tokens": settings.kv_size,
        "seed": settings.seed,
        "version": settings.version,
    }
