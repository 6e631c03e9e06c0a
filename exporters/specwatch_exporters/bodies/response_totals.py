"""Draft tokens that an answer tells outside any engine's own record: totals, without verify steps.

- `usage.completion_tokens_details.{accepted,rejected}_prediction_tokens`: a gateway fills them from speculation
  (smg-project/smg#2481). OpenAI's own mean Predicted Outputs, which a request asks for with `prediction`.
- `timings.{draft_n,draft_n_accepted}`: llama.cpp's server (ggml-org/llama.cpp#12603), and servers of its form.

Servers that draft nothing write zeros in both, so zeros tell nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specwatch_exporters.bodies.fields import count, mapping
from specwatch_exporters.bodies.speculation import Claims, Speculation, check
from specwatch_exporters.notices import Notice

TIMINGS: Final = "response-timings"
PREDICTION: Final = "usage-prediction"
_TEXT: Final = (
    "accepted_prediction_tokens and rejected_prediction_tokens are speculation's where a gateway fills them in; "
    "for a request that asks for Predicted Outputs they are the client's own guess."
)


def read(body: Mapping[str, Any]) -> Speculation | None:
    """The totals of an answer, or None."""
    usage = mapping(mapping(body.get("usage")).get("completion_tokens_details"))
    kept, refused = (count(usage.get(f"{which}_prediction_tokens")) for which in ("accepted", "rejected"))
    if kept is not None and refused is not None and kept + refused:
        return _totals(kept + refused, kept, PREDICTION, Notice("prediction_tokens", _TEXT))
    timings = body if "predicted_n" in body else mapping(body.get("timings"))  # `jq .timings`
    drafted, accepted = count(timings.get("draft_n")), count(timings.get("draft_n_accepted"))
    return _totals(drafted, accepted, TIMINGS) if drafted and accepted is not None else None


def _totals(drafted: int, accepted: int, definition: str, *said: Notice) -> Speculation:
    tally, notices = check(Claims(draft_tokens=drafted, accepted=accepted))
    return Speculation(tally, definition, notices=(*said, *notices))
