"""The forms in which vLLM has handed over its statistics, and the reader that picks the one that fits.

vLLM calls these classes unstable. Of the sdists 0.25.0 to 0.33.0 every field read here has the same name and
meaning in all (`vllm/v1/metrics/stats.py`, `vllm/v1/spec_decode/metrics.py`); 0.23 and older lack the drafted
counts per position. A form is a tuple of field names; a release that changes one gets a new form in front.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from specwatch_exporters.vllm_plugin.failures import Failures

Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which a statistics object names its fields.

    Attributes:
        since: oldest vLLM release that is known to have it.
        fields: attribute names, two or more, in the order of the values that are read.
        padding: values put after them, for what this form lacks.
    """

    since: str
    fields: tuple[str, ...]
    padding: Values = ()

    def getter(self) -> Callable[[Any], Values | None]:
        """Function that reads the fields; raises AttributeError when one is missing."""
        get = attrgetter(*self.fields)
        if not self.padding:
            return get
        return lambda stats: (*get(stats), *self.padding)


# Requests in the running batch after the step; speculation of the step or None.
SCHEDULER: Final = (Form("0.25.0", ("num_running_reqs", "spec_decoding_stats")),)

# Counts of the step over all its requests; lists have one entry per draft position.
_COUNTS: Final = ("num_drafts", "num_draft_tokens", "num_accepted_tokens", "num_accepted_tokens_per_pos")
SPECULATION: Final = (
    Form("0.24.0", (*_COUNTS, "num_draft_tokens_per_pos")),
    Form("0.8.5", _COUNTS, padding=((),)),  # drafted per position unknown
)

# Tokens of the step; seconds from arrival per first token; seconds since the last output per later output.
LATENCY: Final = (
    Form("0.25.0", ("num_generation_tokens", "time_to_first_tokens_iter", "inter_token_latencies_iter")),
)

# One finished request: enum whose str() is the outcome, token counts, seconds.
REQUEST: Final = (
    Form("0.25.0", ("finish_reason", "num_prompt_tokens", "num_generation_tokens", "queued_time", "e2e_latency")),
)


class PartReader:
    """Reads one kind of statistics object by the first form that fits it.

    Args:
        part: name of the part of the plugin that needs it, for messages.
        forms: newest first.
        failures: told each time when no form fits.
    """

    def __init__(self, part: str, forms: tuple[Form, ...], failures: Failures) -> None:
        self._part = part
        self._forms = forms
        self._failures = failures
        self._get = forms[0].getter()

    def read(self, stats: Any) -> Values | None:
        """Values of the form's fields, or None if no form fits."""
        try:
            return self._get(stats)
        except AttributeError:
            return self._adapt(stats)

    def _adapt(self, stats: Any) -> Values | None:
        for form in self._forms:
            get = form.getter()
            try:
                values = get(stats)
            except AttributeError:
                continue
            self._get = get
            return values
        self._failures.unfit(self._part, lambda: missing_fields(stats, self._forms[0].fields))
        return None


def missing_fields(stats: Any, fields: tuple[str, ...]) -> str:
    """Clause that says which of the fields vLLM's object lacks."""
    missing = [name for name in fields if not hasattr(stats, name)]
    return f"{type(stats).__name__} of this vLLM has no {', '.join(missing)}"
