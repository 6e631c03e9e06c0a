"""What the lint says about a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One finding.

    Attributes:
        group: name of the rule group.
        rule: name of the alert or of the recorded series.
        code: key of `CODES`.
        message: what is wrong with this rule, in one sentence.
    """

    group: str
    rule: str
    code: str
    message: str

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"unknown code {self.code!r}; add it to finding.CODES")


CODES: Final[dict[str, str]] = {
    "absent-as-zero": "`or vector(0)` turns a missing target into a value: the outage looks like a number.",
    "counter-without-rate": "A counter's value only grows; ask for its rate or increase.",
    "fragile": "The result's labels or members come and go between evaluations, so the alert starts anew.",
    "impossible-label": "The metric never has this label, or never this value: nothing is selected.",
    "nan-is-true": "NaN makes this comparison true: idle would fire.",
    "rate-on-gauge": "rate and increase read a drop of a gauge as a restart of a counter.",
    "short-for": "`for` is shorter than two scrapes: one bad scrape fires.",
    "short-window": "The window holds fewer than four scrapes: one lost scrape leaves nothing to compute.",
    "syntax": "The expression is not PromQL.",
    "unguarded-ratio": "The divisor can be 0: idle gives NaN or Inf.",
    "unknown-metric": "specwatch exports no such metric, and no rule of the file records it.",
    "value-in-label": "A value in a label makes a new alert at every change.",
    "value-in-summary": "A value in the summary keeps notifications from grouping; put it into the description.",
    "version": "Not the same, or not there, on all of Prometheus 2.42 to 3.x.",
}
