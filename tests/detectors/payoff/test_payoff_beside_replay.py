"""The meter's speed-up beside what a simulated engine gains, at acceptances that no profile was made with."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from specwatch_detectors.payoff.payoff_meter import PayoffMeter
from specwatch_detectors.payoff.payoff_sample import PayoffSample
from specwatch_detectors.payoff.profile_file import load_profile
from specwatch_detectors.window import window
from specwatch_exporters.replay.scheduler import Scheduler
from specwatch_exporters.replay.sequence import Submission
from specwatch_exporters.replay.settings import ReplaySettings

# Long answers: the first token comes without a draft, and what is accepted past the end is seen by nobody.
PROMPT_TOKENS, OUTPUT_TOKENS = 512, 768
PROFILE = "llama-70b-fp8"


@dataclass(frozen=True, slots=True)
class Run:
    """A closed loop of requests, from the first to the last token."""

    seconds: float
    tokens: float
    sample: PayoffSample


def closed_loop(method: str, acceptance: tuple[float, ...], concurrency: int) -> Run:
    plain = ReplaySettings(profile=PROFILE, method=method)
    chosen = dict.fromkeys(plain.class_names, acceptance) if acceptance else {}
    settings = ReplaySettings(profile=PROFILE, method=method, slots=64, acceptance=chosen)
    scheduler = Scheduler(settings)
    now, tokens, sent, drafts, requests = 0.0, 0, 0, 0, 8 * concurrency
    accepted = [0] * len(acceptance)
    while True:
        while sent < requests and len(scheduler.running) + len(scheduler.waiting) < concurrency:
            scheduler.submit(Submission(str(sent), settings.class_named(None), PROMPT_TOKENS, OUTPUT_TOKENS), now)
            sent += 1
        result = scheduler.step(now)
        if result is None:
            break
        now, tokens, drafts = result.ended, tokens + result.generation_tokens, drafts + len(result.drafts)
        for _, kept in result.drafts:
            for position in range(kept):
                accepted[position] += 1
    ratio = PROMPT_TOKENS / OUTPUT_TOKENS
    return Run(now, tokens, PayoffSample(window(drafts, accepted), concurrency, prompt_per_output=ratio))


@pytest.mark.parametrize("concurrency", [1, 8, 32])
@pytest.mark.parametrize(
    ("method", "acceptance"),
    [("eagle3", (0.5, 0.3, 0.2)), ("eagle3", (0.2, 0.05, 0.01)), ("peagle", (0.9, 0.85, 0.8, 0.75, 0.7))],
)
def test_the_meter_says_what_the_engine_gains(method: str, acceptance: tuple[float, ...], concurrency: int) -> None:
    fast, plain = closed_loop(method, acceptance, concurrency), closed_loop("off", (), concurrency)
    gained = (fast.tokens / fast.seconds) / (plain.tokens / plain.seconds)
    meter = PayoffMeter("m", load_profile(f"{PROFILE}-h200").cost_of(method), depth=len(acceptance))
    reading = meter.update([fast.sample], 10.0, design=1.0).main
    assert reading is not None
    assert reading.speedup is not None
    assert reading.speedup.estimate == pytest.approx(gained, rel=0.03)
    assert reading.verdict.value == ("pays" if gained > 1 else "does_not_pay")
