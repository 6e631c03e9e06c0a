"""Say so when an engine drafts and next to nothing is accepted: output stays right, so nothing else would tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from specwatch_exporters.method_name import spelling
from specwatch_exporters.notices import Notice
from specwatch_exporters.report import ModelReport, Report, State, Window

LEAST_DRAFTS: Final = 100
"""Draft steps below which a few unlucky requests can look like it, where steps are counted."""
LEAST_REQUESTS: Final = 10
"""Likewise, where requests are: what one of them asks for can be hard to draft."""
LEAST_RATE: Final = 0.15
"""Share of draft tokens below which vLLM's developers, too, wanted a warning (vllm-project/vllm#44164)."""
LEAST_LENGTH: Final = 1.3
"""Tokens per draft step below which a drafter with K = 3 does not break even at batch 1 (8B target, H100); a small
rate alone says little, because it falls with K."""
LEAST_LENGTH_ALONE: Final = 1.1
"""Likewise where the rate is unknown."""
_MEANING: Final = (
    "Output stays right and only gets slower. The draft does not fit its target (weights, revision, fine-tune, "
    "chat template, prompts beyond the drafter's limit), or the engine fails at it. With n-gram drafts it is usual "
    "for text that does not repeat itself."
)


def with_rejections(report: Report) -> Report:
    """The report, with a notice for each model and for the lines of a log whose drafts are nearly all rejected."""
    found = [*_models(report.models)]
    if not found and not any(map(_drafts_for_nothing, report.models)):
        found += _windows(report.windows)
    return replace(report, notices=tuple(sorted({*report.notices, *found}))) if found else report


def _few(model: ModelReport) -> bool:
    requests = model.facts.get("requests")
    return isinstance(requests, int) and requests < LEAST_REQUESTS


def _drafts_for_nothing(model: ModelReport) -> bool:
    """Copied drafts cost next to nothing, and most are wrong where a text does not repeat itself."""
    return spelling(model.method or "").startswith(("ngram", "suffix"))


def _models(models: Sequence[ModelReport]) -> Iterator[Notice]:
    for model in models:
        if model.state is not State.ACTIVE or _few(model) or _drafts_for_nothing(model):
            continue
        rate, length = model.acceptance_rate, model.mean_acceptance_length
        if _rejected(rate, length, model.tally.drafts):
            yield Notice("drafts_rejected", f"{model.model}: {_seen(rate, length)}. {_MEANING}")


def _windows(windows: Sequence[Window]) -> Iterator[Notice]:
    lines = [window.line for window in windows if _window_rejected(window)]
    if lines:
        which = f"line {lines[0]}" if len(lines) == 1 else f"{len(lines)} lines, the first is {lines[0]}"
        text = f"{which}: under {LEAST_RATE:.0%} of the draft tokens are accepted in this interval. {_MEANING}"
        yield Notice("drafts_rejected", text)


def _window_rejected(window: Window) -> bool:
    own = window.tally
    rate = window.rate if own.acceptance_rate is None else own.acceptance_rate
    length = window.length if own.mean_acceptance_length is None else own.mean_acceptance_length
    return _rejected(rate, length, own.drafts)


def _rejected(rate: float | None, length: float | None, drafts: float | None) -> bool:
    if drafts is not None and drafts < LEAST_DRAFTS:
        return False
    if rate is None:
        return length is not None and length < LEAST_LENGTH_ALONE
    return rate < LEAST_RATE and (length is None or length < LEAST_LENGTH)


def _seen(rate: float | None, length: float | None) -> str:
    share = None if rate is None else f"{rate:.1%} of the draft tokens are accepted"
    tokens = None if length is None else f"a draft step gives {length:.2f} tokens"
    return ", ".join(part for part in (share, tokens) if part is not None)
