"""The catalogue's rows of the payoff meter: whether speculation makes the engine faster, and what it costs."""

from __future__ import annotations

from typing import Final

from specwatch_exporters.metric import Kind, Metric, Source

SPEEDUP: Final = Metric(
    "specwatch_payoff_speedup_ratio",
    Kind.GAUGE,
    ("model", "batch", "bound"),
    "Tokens per second with speculation over those without: tokens per request and step over the ratio of step "
    "times, in the last minutes that drafted. bound: lower, estimate, upper (95 %). Above 1 it pays. No sample "
    "where nobody can tell, and none while nothing is drafted, unless what drafting nothing costs is known.",
    Source.DETECT,
)
BREAK_EVEN: Final = Metric(
    "specwatch_payoff_break_even_length_tokens",
    Kind.GAUGE,
    ("model", "batch"),
    "Tokens per request and step from which speculation pays, at the mean batch size seen in the bucket: step time "
    "with speculation / step time without, corrected for prefill where the profile has its price in both.",
    Source.DETECT,
)
REJECTED_SECONDS: Final = Metric(
    "specwatch_payoff_rejected_seconds_total",
    Kind.COUNTER,
    ("model",),
    "GPU seconds spent on draft tokens that were rejected: what speculation adds to the engine's steps, times the "
    "rejected share of draft tokens, times the GPUs of an engine.",
    Source.DETECT,
)
IDLE_TAX: Final = Metric(
    "specwatch_payoff_idle_tax_ratio",
    Kind.GAUGE,
    ("model",),
    "Step time of an engine that could speculate and drafts nothing (K = 0) over that of an engine without "
    "speculation, at the present batch; 1.07 is 7 % slower. From idle_seconds of the step-time profile; where it "
    "has none, from this engine seen both ways (K = 0, and started without speculation) within 7 days. Else no "
    "sample: the profiles that ship have no idle_seconds.",
    Source.DETECT,
)
INFO: Final = Metric(
    "specwatch_payoff_info",
    Kind.GAUGE,
    ("model", "profile", "basis"),
    "Always 1. profile: step-time profile in use, none for an estimate; basis: measured, estimated from step times "
    "seen with and without speculation, or none where the profile has nothing for the method or one side was not "
    "seen yet.",
    Source.DETECT,
)

PAYOFF_CATALOG: Final[tuple[Metric, ...]] = (SPEEDUP, BREAK_EVEN, REJECTED_SECONDS, IDLE_TAX, INFO)
