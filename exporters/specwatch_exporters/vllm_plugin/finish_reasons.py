"""Why vLLM says that a request ended, and what that is called here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from specwatch_exporters.request_metrics import Outcome

# `FinishReason` in `vllm/v1/engine/__init__.py`, 0.25.0 to 0.33.0.
OUTCOMES: Final[Mapping[str, Outcome]] = {
    "stop": Outcome.SUCCESS,
    "length": Outcome.SUCCESS,
    "repetition": Outcome.SUCCESS,
    "abort": Outcome.ABORTED,
    "error": Outcome.ERROR,
}
ANSWERED: Final = frozenset(reason for reason, outcome in OUTCOMES.items() if outcome is Outcome.SUCCESS)
