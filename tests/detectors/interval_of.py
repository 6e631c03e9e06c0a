"""Intervals as the scrape sidecar hands them to the detectors, made of few numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from specwatch_exporters import catalog
from specwatch_exporters.acceptance import Tally
from specwatch_exporters.page import Key
from specwatch_exporters.report import ModelReport, State
from specwatch_exporters.sidecar.watcher import Interval

WALL = 1_800_000_000.0


def report(
    model: str = "m",
    *,
    depth: int | None = 3,
    method: str | None = "eagle3",
    definition: str = "vllm-v1-counters",
) -> ModelReport:
    return ModelReport(model, State.ACTIVE, 1, Tally(), definition, speculative_tokens=depth, method=method)


def increases(drafts: float, accepted: Sequence[float], model: str = "m") -> dict[Key, float]:
    depth = len(accepted)
    found = {
        Key(catalog.DRAFTS.name, model, "0", ""): drafts,
        Key(catalog.DRAFT_TOKENS.name, model, "0", ""): drafts * depth,
        Key(catalog.ACCEPTED_TOKENS.name, model, "0", ""): float(sum(accepted)),
    }
    for position, value in enumerate(accepted):
        found[Key(catalog.ACCEPTED_PER_POSITION.name, model, "0", str(position))] = value
    return found


def interval(
    now: float,
    drafts: float = 0.0,
    accepted: Sequence[float] = (),
    *reports: ModelReport,
    restarted: bool = False,
    version: str | None = None,
    first: bool = False,
) -> Interval:
    grown = {} if first else increases(drafts, accepted)
    return Interval(now, WALL + now, grown, reports or (report(),), restarted=restarted, version=version)


class KeptState:
    """A store in memory: what a sidecar kept, and what the next one finds."""

    def __init__(self, body: dict[str, Any] | None = None) -> None:
        self.body = body

    def load(self) -> dict[str, Any] | None:
        return self.body

    def save(self, state: Mapping[str, Any]) -> None:
        self.body = json.loads(json.dumps(state, allow_nan=False))
