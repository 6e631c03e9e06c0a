"""Settings of the replay engine, checked once and never half applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from specwatch_exporters.replay.chain import Rates, at_depth, checked_rates
from specwatch_exporters.replay.profiles import SHAPES, Measured, Shape
from specwatch_exporters.replay.traffic_classes import DEFAULT_CLASSES, TrafficClass, default_acceptance


class PerRequest(StrEnum):
    """`--per-request-spec-decode-metrics` (vLLM 0.29 and newer)."""

    NONE = "none"
    SUMMARY = "summary"
    DETAILED = "detailed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """What the engine is and how it behaves.

    Attributes:
        profile: shape whose measured step times are used, a key of `SHAPES`.
        method: drafter, `off` or one that the shape was measured with.
        model: name on the page and in responses; the shape's when None.
        slots: most requests that run at once (`--max-num-seqs`).
        num_speculative_tokens: configured K, which fixes the `position` labels; the profile's when None.
        live_k: K now, at most the configured one; below it, it acts as vLLM's dynamic K does. None: configured.
        acceptance: unconditional acceptance per position and class; defaults fill what is missing.
        classes: traffic classes.
        default_class: class of a request that names none, or one that does not exist.
        per_request: speculative record in responses.
        timings: timings in responses (`--enable-per-request-metrics`, vLLM 0.25 and newer).
        speed: how many times faster than measured; every latency shrinks with it.
        draft_probability: share of decode steps that have a draft; below 1 as CPU n-gram lookup without a
            match. Steps without a draft are not counted as drafts.
        count_aborts: whether a client's disconnect counts as `finished_reason="abort"`. vLLM 0.32 does not
            count it anywhere (checked on a running 0.32.0), so the default is False.
        max_model_len: most tokens of prompt and output together.
        max_batched_tokens: token budget of one step; longer prompts are prefilled in chunks.
        kv_tokens: size of the KV cache in tokens; the profile's when None.
        block_size: tokens per KV block.
        seed: seed of every draw; each request draws from its own stream, so results do not depend on timing.
        version: engine version that `/version` reports.
    """

    profile: str = "llama-70b-fp8"
    method: str = "eagle3"
    model: str | None = None
    slots: int = 32
    num_speculative_tokens: int | None = None
    live_k: int | None = None
    acceptance: Mapping[str, Rates] = field(default_factory=dict)
    classes: tuple[TrafficClass, ...] = DEFAULT_CLASSES
    default_class: str = "chat"
    per_request: PerRequest = PerRequest.NONE
    timings: bool = False
    speed: float = 1.0
    draft_probability: float = 1.0
    count_aborts: bool = False
    max_model_len: int = 4096
    max_batched_tokens: int = 8192
    kv_tokens: int | None = None
    block_size: int = 16
    seed: int = 1
    version: str = "0.32.0"

    def __post_init__(self) -> None:
        _check_choice("profile", self.profile, SHAPES)
        _check_choice("method", self.method, self.shape.methods)
        _check_choice("default_class", self.default_class, self.class_names)
        for name in ("slots", "max_model_len", "max_batched_tokens", "block_size"):
            _check_at_least_one(name, getattr(self, name))
        _check_range("speed", self.speed, 0.001, 100_000.0)
        _check_range("draft_probability", self.draft_probability, 0.0, 1.0)
        self._check_depth()
        self._check_acceptance()
        whole = self.kv_size // self.block_size * self.block_size
        if whole < self.max_model_len:
            raise ValueError(
                f"kv_tokens must hold one request of max_model_len ({self.max_model_len}) in whole blocks of "
                f"{self.block_size}, got {self.kv_size}"
            )

    def _check_depth(self) -> None:
        configured = self.depth
        if self.method != "off" and not 1 <= configured <= 16:
            raise ValueError(f"num_speculative_tokens must be 1 to 16, got {configured}")
        if not 0 <= self.depth_now <= configured:
            raise ValueError(f"k must be 0 to num_speculative_tokens ({configured}), got {self.depth_now}")

    def _check_acceptance(self) -> None:
        for name, rates in self.acceptance.items():
            _check_choice("acceptance class", name, self.class_names)
            try:
                checked_rates(rates)
            except ValueError as error:
                raise ValueError(f"class {name!r}: {error}") from None

    @property
    def shape(self) -> Shape:
        """The shape behind `profile`."""
        return SHAPES[self.profile]

    @property
    def measured(self) -> Measured:
        """What was measured for `profile` and `method`."""
        return self.shape.methods[self.method]

    @property
    def model_name(self) -> str:
        """Name on the page and in responses."""
        return self.shape.model if self.model is None else self.model

    @property
    def depth(self) -> int:
        """Configured K; 0 when speculation is off."""
        if self.method == "off":
            return 0
        return self.measured.depth if self.num_speculative_tokens is None else self.num_speculative_tokens

    @property
    def depth_now(self) -> int:
        """K in force now."""
        return self.depth if self.live_k is None else self.live_k

    @property
    def kv_size(self) -> int:
        """Tokens that the KV cache holds."""
        return self.measured.kv_tokens if self.kv_tokens is None else self.kv_tokens

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the traffic classes, in order."""
        return tuple(item.name for item in self.classes)

    def class_named(self, name: str | None) -> TrafficClass:
        """The class of that name, else the default one."""
        by_name = {item.name: item for item in self.classes}
        return by_name.get(name or "", by_name[self.default_class])

    def rates(self, name: str) -> Rates:
        """Acceptance of a class at the configured depth; empty when off."""
        if self.depth == 0:
            return ()
        rates = self.acceptance.get(name) or default_acceptance(self.method, name)
        return at_depth(tuple(rates), self.depth)

    def step_seconds(self, batch: int, prefill_tokens: int, depth: int) -> float:
        """Time of one engine step, `speed` applied.

        Args:
            batch: requests in the step.
            prefill_tokens: prompt tokens computed in the step.
            depth: draft tokens per request in the step.
        """
        base = self.shape.step_seconds(self.method, batch, depth)
        return (base + prefill_tokens * self.shape.prefill_seconds_per_token) / self.speed


RESTARTING = frozenset({"profile", "method", "model", "num_speculative_tokens"})
"""Fields that a running engine cannot change."""


def merged(settings: ReplaySettings, changes: Mapping[str, Any]) -> ReplaySettings:
    """A copy with some fields replaced, checked as a whole.

    Acceptance is merged by class. Another method or profile drops the old drafter's acceptance, K and live K.

    Raises:
        ValueError: when the result is not valid.
    """
    drafter = (changes.get("profile", settings.profile), changes.get("method", settings.method))
    fields = dict(changes)
    kept: Mapping[str, Rates] = settings.acceptance
    if drafter != (settings.profile, settings.method):
        kept = {}
        fields = {"num_speculative_tokens": None, "live_k": None, **fields}
    fields["acceptance"] = {**kept, **changes.get("acceptance", {})}
    return replace(settings, **fields)


def _check_choice(name: str, value: str, known: Mapping[str, object] | tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} {value!r} is unknown; known: {', '.join(known)}")


def _check_at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} must be between {low:g} and {high:g}, got {value}")
