"""Everything that the status page shows, as plain values."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from specwatch_exporters.notices import Notice
from specwatch_exporters.report import ModelReport, State
from specwatch_exporters.sidecar.watcher import Judgement


@dataclass(frozen=True, slots=True)
class ScrapeStatus:
    """How the scrape of the engine is going.

    Attributes:
        success: whether the last scrape gave a page that was understood.
        seen: whether any scrape did since the sidecar started.
        cause: outcome of the last scrape when it failed, or empty.
        message: one line on that failure, or empty.
        age_s: seconds since the last good scrape; since the start if there was none.
        duration_s: wall time of the last scrape, or None before the first.
        page_bytes: size of the last good page.
        interval_s: time between scrapes.
        stale_after_s: age from which the engine's series are withdrawn.
    """

    success: bool
    seen: bool
    age_s: float
    interval_s: float
    stale_after_s: float
    cause: str = ""
    message: str = ""
    duration_s: float | None = None
    page_bytes: int | None = None

    @property
    def stale(self) -> bool:
        """True when there is no page that is fresh enough to believe."""
        return not self.seen or self.age_s > self.stale_after_s


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """The engine that is scraped.

    Attributes:
        address: URL of its page, without credentials.
        kind: engine kind, or empty before the first page.
        dialect: form of its page, or empty.
        version: as an endpoint of the engine told, or None.
        draft_model: likewise.
        restarts: times its counters started again.
    """

    address: str
    kind: str = ""
    dialect: str = ""
    version: str | None = None
    draft_model: str | None = None
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One model over the last minute.

    Attributes:
        report: counts, ratios, queue and latencies of the last minute; its state is the one shown.
        tokens_per_step: output tokens per request and step, steps without a draft included.
        token_latency_s: mean seconds per output token, corrected for steps of several tokens.
        speculating_share: share of request steps that verified a draft.
        baseline: unconditional acceptance per position to compare with, or empty.
        baseline_name: where the baseline comes from, in a few words.
    """

    report: ModelReport
    tokens_per_step: float | None = None
    token_latency_s: float | None = None
    speculating_share: float | None = None
    baseline: tuple[float | None, ...] = ()
    baseline_name: str = "baseline"

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            **self.report.to_json(),
            "tokens_per_step": self.tokens_per_step,
            "token_latency_s": self.token_latency_s,
            "speculating_share": self.speculating_share,
            "baseline": list(self.baseline),
            "baseline_name": self.baseline_name if self.baseline else None,
        }


class HistoryPoint(NamedTuple):
    """One scrape of the last ten minutes.

    Attributes:
        age_s: how long ago.
        length: mean acceptance length, or None.
        waiting: requests waiting, or None.
    """

    age_s: float
    length: float | None
    waiting: float | None


@dataclass(frozen=True, slots=True)
class Status:
    """What `/` and `/status.json` show.

    Attributes:
        version: of specwatch.
        history: oldest first, over all models.
        judgements: verdicts of the detectors by model; empty without them.
    """

    version: str
    scrape: ScrapeStatus
    engine: EngineStatus
    models: tuple[ModelStatus, ...] = ()
    notices: tuple[Notice, ...] = ()
    history: tuple[HistoryPoint, ...] = field(default=(), repr=False)
    judgements: tuple[Judgement, ...] = ()

    @property
    def state(self) -> State:
        """One word for all: stale before anything else, else the liveliest state of any model."""
        if self.scrape.stale:
            return State.STALE
        states = {model.report.state for model in self.models}
        return next((state for state in _LIVELIEST if state in states), State.UNKNOWN)

    def to_json(self) -> dict[str, Any]:
        """The JSON form: every key is there, unknown numbers are null."""
        scrape, engine = self.scrape, self.engine
        return {
            "specwatch_version": self.version,
            "state": self.state.value,
            "scrape": {
                "success": scrape.success,
                "stale": scrape.stale,
                "cause": scrape.cause or None,
                "message": scrape.message or None,
                "age_s": scrape.age_s,
                "duration_s": scrape.duration_s,
                "page_bytes": scrape.page_bytes,
                "interval_s": scrape.interval_s,
                "stale_after_s": scrape.stale_after_s,
            },
            "engine": {
                "address": engine.address,
                "kind": engine.kind or None,
                "dialect": engine.dialect or None,
                "version": engine.version,
                "draft_model": engine.draft_model,
                "restarts": engine.restarts,
            },
            "models": [_withdrawn(model) if scrape.stale else model.to_json() for model in self.models],
            "warnings": [{"code": notice.code, "message": notice.message} for notice in self.notices],
            "history": [point._asdict() for point in self.history],
            "drift": [] if scrape.stale else [asdict(judgement) for judgement in self.judgements],
        }


def _withdrawn(model: ModelStatus) -> dict[str, Any]:
    """What is left of a model without a fresh page: its name and that it is stale."""
    return {"model": model.report.model, "state": State.STALE.value}


_LIVELIEST = (State.ACTIVE, State.OFF, State.IDLE, State.UNKNOWN, State.STALE)


def render_json(status: Status) -> bytes:
    """The status as one JSON object in ASCII; numbers that JSON cannot hold become null."""
    return json.dumps(_finite(status.to_json()), allow_nan=False, indent=1).encode("ascii") + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
