"""Read a metrics page and sum its series, so that a test can compare two sources number by number."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from prometheus_client.parser import text_string_to_metric_families

from engine.completions_client import TrueFigures

Read = TypeVar("Read")


@dataclass(frozen=True)
class Sample:
    """One series of a page."""

    name: str
    labels: dict[str, str]
    value: float


class MetricPage:
    """The samples of one page in the Prometheus text format."""

    def __init__(self, text: str) -> None:
        families = text_string_to_metric_families(text)
        self._samples = [
            Sample(sample.name, dict(sample.labels), sample.value)
            for family in families
            for sample in family.samples
        ]

    def select(self, name: str, **labels: str) -> list[Sample]:
        """Return the series of that name whose labels have these values; an empty list when there are none."""
        wanted = labels.items()
        return [sample for sample in self._samples if sample.name == name and wanted <= sample.labels.items()]

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of the series that `select` finds; raises LookupError when there are none."""
        found = self.select(name, **labels)
        if not found:
            raise LookupError(f"no series {name} with {labels or 'any labels'} on the page")
        return sum(sample.value for sample in found)

    def buckets(self, family: str) -> dict[float, float]:
        """Return the cumulative counts of a histogram by upper edge, summed over its series."""
        counts: dict[float, float] = {}
        for sample in self.select(f"{family}_bucket"):
            edge = float(sample.labels["le"])
            counts[edge] = counts.get(edge, 0.0) + sample.value
        return counts

    def names(self) -> set[str]:
        """Return the names of all series."""
        return {sample.name for sample in self._samples}


def fetch_page(url: str) -> MetricPage:
    """Fetch and read a page; raises OSError when nothing answers."""
    with urllib.request.urlopen(url, timeout=10) as response:
        return MetricPage(response.read().decode())


def engine_figures(page: MetricPage, positions: int, **labels: str) -> TrueFigures:
    """Return what vLLM's own counters say, summed over its engines or for one engine label."""
    speculation = "vllm:spec_decode_num_"
    return _figures(
        lambda name, more: page.total(name, **labels, **more),
        positions,
        requests="vllm:request_success_total",
        prompt="vllm:prompt_tokens_total",
        generation="vllm:generation_tokens_total",
        drafts=f"{speculation}drafts_total",
        draft_tokens=f"{speculation}draft_tokens_total",
        accepted=f"{speculation}accepted_tokens_total",
        per_position=f"{speculation}accepted_tokens_per_pos_total",
    )


def sidecar_figures(page: MetricPage, positions: int, **labels: str) -> TrueFigures:
    """Return what the sidecar's canonical counters say, summed over engines or for one engine label."""
    return _figures(
        lambda name, more: page.total(name, **labels, **more),
        positions,
        requests="specwatch_requests_total",
        prompt="specwatch_prompt_tokens_total",
        generation="specwatch_generation_tokens_total",
        drafts="specwatch_drafts_total",
        draft_tokens="specwatch_draft_tokens_total",
        accepted="specwatch_accepted_tokens_total",
        per_position="specwatch_accepted_tokens_per_position_total",
    )


def _figures(
    total: Callable[[str, dict[str, str]], float],
    positions: int,
    *,
    requests: str,
    prompt: str,
    generation: str,
    drafts: str,
    draft_tokens: str,
    accepted: str,
    per_position: str,
) -> TrueFigures:
    plain = {
        name: _whole(total(name, {})) for name in (requests, prompt, generation, drafts, draft_tokens, accepted)
    }
    reached = (_whole(total(per_position, {"position": str(at)})) for at in range(positions))
    return TrueFigures(
        requests=plain[requests],
        prompt_tokens=plain[prompt],
        generation_tokens=plain[generation],
        drafts=plain[drafts],
        draft_tokens=plain[draft_tokens],
        accepted_tokens=plain[accepted],
        per_position=tuple(reached),
    )


def _whole(value: float) -> int:
    assert value == int(value), f"a count is not whole: {value}"
    return int(value)


def settled(read: Callable[[], Read], wanted: Read, deadline_s: float = 30.0) -> Read:
    """Read until the value is ``wanted`` or the deadline is over; return the last value for the assertion.

    Engines count at the end of a step and sidecars at their next scrape, so the right value comes a little late.
    """
    return until(read, lambda value: value == wanted, deadline_s)


def until(read: Callable[[], Read], good: Callable[[Read], bool], deadline_s: float = 30.0) -> Read:
    """Read until ``good`` accepts the value or the deadline is over; return the last value."""
    end = time.monotonic() + deadline_s
    value = read()
    while not good(value) and time.monotonic() < end:
        time.sleep(0.2)
        value = read()
    return value


def engine_labels(samples: Iterable[Sample]) -> set[str]:
    """Return the values of the label ``engine``."""
    return {sample.labels["engine"] for sample in samples}
