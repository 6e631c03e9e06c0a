"""What an explanation is made of: everything but the total may be unknown, which is not the same as absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from specwatch_detectors.design_effect import PRIOR
from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.explain.event import Event


class Dimension(StrEnum):
    """Ways in which traffic or engines are told apart; values are field names of files."""

    CLASS = "class"
    POD = "pod"
    VERSION = "version"
    ROLE = "role"
    PROMPT_LENGTH = "prompt_length"
    OUTPUT_LENGTH = "output_length"
    TEMPERATURE = "temperature"
    ADAPTER = "adapter"
    ROUTE = "route"
    LANGUAGE = "language"
    FORMAT = "format"


WORDS: Final = {
    Dimension.CLASS: "traffic classes",
    Dimension.POD: "pods",
    Dimension.VERSION: "engine versions",
    Dimension.ROLE: "pod roles (prefill, decode, both)",
    Dimension.PROMPT_LENGTH: "prompt-length buckets",
    Dimension.OUTPUT_LENGTH: "output-length buckets",
    Dimension.TEMPERATURE: "sampling temperatures",
    Dimension.ADAPTER: "LoRA adapters",
    Dimension.ROUTE: "routes (chat templates)",
    Dimension.LANGUAGE: "languages",
    Dimension.FORMAT: "output formats (free text, structured)",
}

EXCHANGEABLE: Final = frozenset({Dimension.POD, Dimension.VERSION, Dimension.ROLE})
"""Groups that serve the same traffic: a new one may be compared with the others before it."""


class Course(StrEnum):
    """How acceptance went down."""

    STEP = "step"
    RAMP = "ramp"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Facts around one change of acceptance.

    Attributes:
        total: all traffic of one model, before and after.
        groups: the same traffic told apart, by dimension and group; a dimension that is missing is unknown.
        events: what happened in the hours around, any order; None if nobody watched, empty if nothing happened.
        watched_since: events before this time may be missing, seconds; None if none are.
        onset: estimated time of the change, seconds; None if unknown.
        interval_s: seconds between observations: how sharp the onset can be.
        design: design effect of the total, safety factor included.
        designs: design effect by traffic class; the total's where missing.
        alarmed: a detector has already decided that acceptance fell, by its own test.
        course: a step or a ramp; None if unknown.
        uptimes: seconds since start, by pod; None if unknown.
        canary: a fixed set of prompts sent all the time; None if there is none.
        step_cost: (before, after) step time with speculation over without (rho), or any per-step time at the same
            batch size; None if unknown.
        batch_correlation: of acceptance length with running requests, -1 to 1; None if unknown.
        depth: (before, after) mean draft tokens per draft; None if unknown.
        adaptive: the engine changes the number of draft tokens by itself; None if unknown.
        speculating: the engine drafts at present (SGLang: `spec_num_steps` above 0); None if unknown.
        engine: `vllm`, `sglang`, `trtllm`, or empty.
        method: of speculation as the engine names it, such as `eagle3` or `ngram`; or empty.
    """

    total: Comparison
    groups: Mapping[Dimension, Mapping[str, Comparison]] = field(default_factory=dict)
    events: Sequence[Event] | None = None
    watched_since: float | None = None
    onset: float | None = None
    interval_s: float = 10.0
    design: float = PRIOR
    designs: Mapping[str, float] = field(default_factory=dict)
    alarmed: bool = False
    course: Course | None = None
    uptimes: Mapping[str, float] | None = None
    canary: Comparison | None = None
    step_cost: tuple[float, float] | None = None
    batch_correlation: float | None = None
    depth: tuple[float, float] | None = None
    adaptive: bool | None = None
    speculating: bool | None = None
    engine: str = ""
    method: str = ""

    def known(self) -> dict[str, bool]:
        """By words: which facts are known and which are not."""
        total = self.total
        single = {
            "acceptance by position": bool(total.before.accepted and total.after.accepted),
            "events": self.events is not None,
            "time of the onset": self.onset is not None,
            "step or ramp": self.course is not None,
            "uptime of pods": self.uptimes is not None,
            "canary prompts": self.canary is not None,
            "step time": self.step_cost is not None,
            "relation to the batch size": self.batch_correlation is not None,
            "draft tokens per draft": self.depth is not None,
            "whether the engine adapts by itself": self.adaptive is not None,
            "engine": bool(self.engine),
            "method": bool(self.method),
        }
        return {**{words: bool(self.groups.get(key)) for key, words in WORDS.items()}, **single}
